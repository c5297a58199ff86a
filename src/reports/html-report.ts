// Writes a report as one HTML file. Mail and replies are embedded as data, never as markup.
import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { compact } from "../platform/optional-values.js";
import { readBuiltFile } from "../platform/program-files.js";
import type { Report, ReportHead, TraceView } from "./report-data.js";

/** Conversations embedded in the page, as key and packed text. */
type PackedTraces = Iterable<readonly [key: string, packed: string]>;

/** The parts of a report's page other than its data. */
interface PageAssets {
  readonly style: string;
  /** In order of execution. */
  readonly scripts: readonly string[];
}

/**
 * Deflates a conversation and encodes it in base64. This takes a fifth of its size and is safe in a page, whatever the
 * mail contains.
 */
export function packedTrace(view: TraceView): string {
  return deflateRawSync(JSON.stringify(view), { level: 9 }).toString("base64");
}

/**
 * Creates the file of a conversation. It is a script, because a page opened from disk (file://) can load nothing else
 * from its folder.
 */
export function traceFile(key: string, packed: string): string {
  return `artETrace(${JSON.stringify(key)}, ${JSON.stringify(packed)});\n`;
}

/**
 * Yields a report as one HTML file, in chunks. Untrusted data (mail, replies, questions) is embedded as JSON without
 * any `<`, or packed, in elements that are not executed. The page's script turns it into text nodes. The content
 * security policy allows these scripts and no requests. With a folder of conversations, it also allows the scripts that
 * they load from it.
 */
export function* htmlReport({ head, tasks }: Report, assets: PageAssets, traces: PackedTraces): Generator<string> {
  const title = `ART-E report: ${head.runs.map(({ label }) => label).join(", ")}`;
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policyOf(assets, head)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title>
<style>
${assets.style}</style>
</head>
<body>
<noscript>This report requires JavaScript, which is turned off.</noscript>
<div id="report"></div>
`;
  yield* dataBlock("head", [escapeJson(JSON.stringify(head))]);
  yield* dataBlock("questions", jsonArray(tasks.questions));
  for (const [run, rows] of tasks.rows.entries()) yield* dataBlock(`rows-${run}`, jsonArray(rows));
  for (const [key, packed] of traces) yield `<script type="text/plain" id="trace-${key}">${packed}</script>\n`;
  for (const script of assets.scripts) yield `<script>${script}</script>\n`;
  yield "</body>\n</html>\n";
}

function policyOf({ scripts }: PageAssets, { traces, runs }: ReportHead): string {
  const allowed = compact([...scripts.map(policyHash), traces.kind === "folder" && "'strict-dynamic'"]);
  return compact([
    "default-src 'none'",
    `script-src ${allowed.join(" ")}`,
    // Images that agents created. data: URIs make no requests.
    runs.some(({ suite }) => suite !== null) && "img-src data:",
    // Plot adds a style element to each chart. Styles cannot make requests under this policy.
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${traces.kind === "folder" ? "art-e" : "'none'"}`,
  ]).join("; ");
}

function* dataBlock(id: string, pieces: Iterable<string>): Generator<string> {
  yield `<script type="application/json" id="${id}">`;
  yield* pieces;
  yield "</script>\n";
}

function* jsonArray(items: readonly unknown[]): Generator<string> {
  yield "[";
  for (const [i, item] of items.entries()) yield `${i === 0 ? "" : ",\n"}${escapeJson(JSON.stringify(item))}`;
  yield "]";
}

/** Escapes the characters of JSON that HTML or a script would interpret. */
function escapeJson(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function escapeHtml(text: string): string {
  return text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** In the order of the cascade. */
const STYLES = [
  "report/style/page",
  "report/style/figures",
  "report/style/tasks",
  "report/style/task",
  "report/style/suite",
  "report/style/comparison",
  "report/style/timeline",
  "report/style/media",
];

/** Reads the style of a report's sections, which needs the theme's colors. */
export function readReportStyle(): string {
  return STYLES.map((name) => readBuiltFile(`web/${name}.css`)).join("\n");
}

/** Reads the page's style and script, and the library builds with the license notices at their start. */
export function readPageAssets(): PageAssets {
  const scripts = ["libraries/d3", "libraries/plot", "libraries/diff", "report"].map((name) =>
    readBuiltFile(`web/${name}.js`),
  );
  return {
    style: `${readBuiltFile("web/theme.css")}\n${readReportStyle()}`,
    scripts: scripts.map(insideScript),
  };
}

/** Escapes sequences that would end the script element or open a comment in it. */
function insideScript(text: string): string {
  return text.replace(/<(?=\/script|script|!--)/gi, "\\x3c").replace(/\n\/\/# sourceMappingURL=.*/g, "");
}

/** Returns the hash that allows a script in a content security policy. */
function policyHash(script: string): string {
  return `'sha256-${createHash("sha256").update(script).digest("base64")}'`;
}
