import type { ReportHead, ReportTasks } from "../page/data.js";
import { type PageAssets, policyHash } from "./page-assets.js";

/** Everything a page shows. */
export interface Report {
  readonly head: ReportHead;
  readonly tasks: ReportTasks;
}

/** Conversations that stand in the page itself: key and packed text. */
export type PackedTraces = Iterable<readonly [key: string, packed: string]>;

/**
 * A report as one HTML file, piece by piece. What comes from mail, models and questions stands in it as JSON without any `<`, or
 * packed, in elements that are never run; the page's script turns it into text nodes. The policy lets these scripts run and
 * nothing be fetched; beside a folder of conversations, also the scripts that these load from there.
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
<noscript>This report is drawn by its own script, and JavaScript is turned off here.</noscript>
<div id="report"></div>
`;
  yield* dataBlock("head", [insideJson(JSON.stringify(head))]);
  yield* dataBlock("questions", list(tasks.questions));
  for (const [run, rows] of tasks.rows.entries()) yield* dataBlock(`rows-${run}`, list(rows));
  for (const [key, packed] of traces) yield `<script type="text/plain" id="trace-${key}">${packed}</script>\n`;
  for (const script of assets.scripts) yield `<script>${script}</script>\n`;
  yield "</body>\n</html>\n";
}

function policyOf({ scripts }: PageAssets, { traces }: ReportHead): string {
  const allowed = [...scripts.map(policyHash), ...(traces.kind === "folder" ? ["'strict-dynamic'"] : [])];
  return [
    "default-src 'none'",
    `script-src ${allowed.join(" ")}`,
    // The charts' library puts its rules beside each chart. Styles can fetch nothing here.
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${traces.kind === "folder" ? "art-e" : "'none'"}`,
  ].join("; ");
}

function* dataBlock(id: string, pieces: Iterable<string>): Generator<string> {
  yield `<script type="application/json" id="${id}">`;
  yield* pieces;
  yield "</script>\n";
}

function* list(items: readonly unknown[]): Generator<string> {
  yield "[";
  for (const [i, item] of items.entries()) yield `${i === 0 ? "" : ",\n"}${insideJson(JSON.stringify(item))}`;
  yield "]";
}

/** JSON that can stand in a page: the same values, without a character that HTML or a script would read as its own. */
function insideJson(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function escapeHtml(text: string): string {
  return text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
