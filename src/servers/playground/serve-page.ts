import { readFileSync } from "node:fs";
import type { Hono } from "hono";
import type { Env } from "../http/route.js";

const FOLDER = new URL("./page/", import.meta.url);

/** The playground page: files of this package, loaded by nothing but the page itself. */
const FILES = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/page/page.css": ["page.css", "text/css; charset=utf-8"],
  "/page/main.js": ["main.js", "text/javascript; charset=utf-8"],
  "/page/dom.js": ["dom.js", "text/javascript; charset=utf-8"],
  "/page/api.js": ["api.js", "text/javascript; charset=utf-8"],
  "/page/chat.js": ["chat.js", "text/javascript; charset=utf-8"],
  "/page/kept-chat.js": ["kept-chat.js", "text/javascript; charset=utf-8"],
  "/page/replay.js": ["replay.js", "text/javascript; charset=utf-8"],
  "/page/steps.js": ["steps.js", "text/javascript; charset=utf-8"],
  "/page/browse.js": ["browse.js", "text/javascript; charset=utf-8"],
  "/page/trace.js": ["trace.js", "text/javascript; charset=utf-8"],
} as const;

/** Nothing but what stands in these files may run, be shown or be asked; nobody may frame the page. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function addPage(app: Hono<Env>): void {
  for (const [path, [name, type]] of Object.entries(FILES)) {
    const content = readFileSync(new URL(name, FOLDER), "utf8");
    app.get(path, (c) =>
      c.body(content, 200, { "content-type": type, "content-security-policy": POLICY, "cache-control": "no-cache" }),
    );
  }
}

/** What needs no token: the page holds nothing but itself. */
export function isPage(path: string): boolean {
  return Object.hasOwn(FILES, path);
}
