// Serves the files of the pages, which contain no data.
import type { Hono } from "hono";
import { readBuiltFile } from "../../platform/program-files.js";
import { readReportStyle } from "../../reports/html-report.js";
import type { Env } from "./route.js";

interface PageFile {
  readonly type: string;
  read(): string;
}

const PAGE = "/";

const FILES: ReadonlyMap<string, PageFile> = new Map([
  [PAGE, { type: "text/html", read: () => readBuiltFile("web/app/index.html") }],
  ["/page/page.css", { type: "text/css", read: readStyle }],
  ["/page/main.js", { type: "text/javascript", read: () => readBuiltFile("web/app.js") }],
  // Loaded when a page shows charts or compares texts.
  ...["d3", "plot", "diff"].map((name): [string, PageFile] => [
    `/page/${name}.js`,
    { type: "text/javascript", read: () => readBuiltFile(`web/libraries/${name}.js`) },
  ]),
]);

/** The page can load, execute and request only files of this server, and cannot be framed. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sections of the page: the entire playground, the page of one run, or the page of a review. */
export type PageScope = "all" | "run" | "review";

export function addPage(app: Hono<Env>, scope: PageScope): void {
  for (const [path, { type, read }] of FILES) {
    const content = path === PAGE ? read().replace('data-scope="all"', `data-scope="${scope}"`) : read();
    const headers = { "content-type": `${type}; charset=utf-8`, "content-security-policy": POLICY };
    app.get(path, (c) => c.body(content, 200, { ...headers, "cache-control": "no-cache" }));
  }
}

/** The page's files contain no data and therefore require no token. */
export function isPage(path: string): boolean {
  return FILES.has(path);
}

/**
 * The sections of the page and the reports in them have separate styles. Neither can change the other, because both are
 * scoped.
 */
function readStyle(): string {
  const own = ["page", "run", "review"].map((name) => readBuiltFile(`web/app/${name}.css`));
  return [
    readBuiltFile("web/theme.css"),
    `@scope (html) to (.served) {\n${own.join("")}}\n`,
    `@scope (.served) {\n${readReportStyle()}}\n`,
  ].join("");
}
