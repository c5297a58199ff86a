import { stripControls } from "../../platform/strip-controls.js";

/** A part that is folded. */
export function details(summary: string, body: string): string {
  return `<details><summary>${escapeMarkdown(summary)}</summary>\n\n${body}\n\n</details>`;
}

export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  const rule = `| ${heading.map((_, i) => (i === 0 ? "---" : "---:")).join(" | ")} |`;
  return [line(heading), rule, ...rows.map(line)].join("\n");
}

/** Run ids stay code; everything else is escaped. */
function cell(text: string): string {
  return /^`[\w-]+`$/.test(text) ? text : escapeMarkdown(text);
}

/** Untrusted text (model names, errors, addresses) on one line, without markup, links and mentions. */
export function escapeMarkdown(text: string): string {
  return stripControls(text)
    .replace(/\s+/g, " ")
    .replace(/[\\`*~[\]|<>&#]|(?<![a-z0-9])_|_(?![a-z0-9])/gi, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/@/g, "&#64;")
    .replace(/:\/\//g, "&#58;//");
}
