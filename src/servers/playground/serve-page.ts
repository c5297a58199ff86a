import { readFileSync } from "node:fs";
import type { Hono } from "hono";
import { readPageScript } from "../../reports/html/page-script.js";
import type { Env } from "../http/route.js";

const readText = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

interface PageFile {
  readonly type: string;
  read(): string;
}

const PAGE = "/";

const FILES: ReadonlyMap<string, PageFile> = new Map([
  [PAGE, { type: "text/html", read: () => readText("./page/index.html") }],
  ["/page/page.css", { type: "text/css", read: readStyle }],
  ["/page/main.js", { type: "text/javascript", read: () => readPageScript("servers/playground/page.js") }],
]);

/** The page loads, runs and asks nothing but this server, and cannot be framed. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Which sections of the page there are: of the playground, of a page that ends with a run, or of a review. */
export type PageScope = "all" | "run" | "review";

export function addPage(app: Hono<Env>, scope: PageScope): void {
  for (const [path, { type, read }] of FILES) {
    const content = path === PAGE ? read().replace('data-scope="all"', `data-scope="${scope}"`) : read();
    const headers = { "content-type": `${type}; charset=utf-8`, "content-security-policy": POLICY };
    app.get(path, (c) => c.body(content, 200, { ...headers, "cache-control": "no-cache" }));
  }
}

/** The page's files hold no data, so they need no token. */
export function isPage(path: string): boolean {
  return FILES.has(path);
}

function readStyle(): string {
  return (
    readText("../../reports/page/shared/theme.css") +
    readText("./page/page.css") +
    readText("./page/runs/run.css") +
    readText("./page/review/review.css")
  );
}
