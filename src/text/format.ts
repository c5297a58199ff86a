// Numbers, tables and boxes as text for a terminal.
import stringWidth from "string-width";
import type { Estimate } from "../statistics/estimate.js";

export interface FittedColumn {
  readonly title: string;
  /** Minimum width in terminal columns to which cells can be truncated. */
  readonly least?: number;
  /** Order of omitting columns if truncating is not enough, the highest number first. */
  readonly leaveOut?: number;
}

/** Returns aligned columns under a heading and a rule. The last column is not padded. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heading.map((title, i) => widestOf(title, rows, i));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => (i === cells.length - 1 ? cell : padToWidth(cell, widths[i] ?? 0)))
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "─".repeat(width));
  return [line(heading), rule.join("  "), ...rows.map(line)].join("\n");
}

/** Terminal columns that the widest cell of a table column takes. A character can take two columns, or none. */
function widestOf(title: string, rows: readonly (readonly string[])[], column: number): number {
  let widest = stringWidth(title);
  for (const row of rows) widest = Math.max(widest, stringWidth(row[column] ?? ""));
  return widest;
}

/** Adds spaces up to a width in terminal columns. */
export function padToWidth(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - stringWidth(text)));
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Truncates to a width in terminal columns, the ellipsis included. */
function truncateToWidth(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let prefix = "";
  let room = width - 1;
  for (const { segment } of graphemes.segment(text)) {
    room -= stringWidth(segment);
    if (room < 0) break;
    prefix += segment;
  }
  return `${prefix}…`;
}

/**
 * Returns a `table` that is at most `width` characters wide if possible, or unlimited if `width` is null. `left` lists
 * the omitted columns.
 */
export function fittedTable(
  columns: readonly FittedColumn[],
  rows: readonly (readonly string[])[],
  width: number | null,
): { readonly text: string; readonly left: readonly string[] } {
  const natural = columns.map(({ title }, i) => widestOf(title, rows, i));
  const visible = columns.map((_, i) => i);
  const omitted: string[] = [];
  const excess = (widths: readonly number[]) =>
    width === null ? 0 : visible.reduce((sum, i) => sum + (widths[i] ?? 0), 2 * (visible.length - 1)) - width;
  const leastOf = (i: number) =>
    Math.min(natural[i] ?? 0, Math.max(columns[i]?.least ?? Number.POSITIVE_INFINITY, columns[i]?.title.length ?? 0));
  while (excess(columns.map((_, i) => leastOf(i))) > 0) {
    const [least] = visible
      .filter((i) => columns[i]?.leaveOut !== undefined)
      .sort((a, b) => (columns[b]?.leaveOut ?? 0) - (columns[a]?.leaveOut ?? 0));
    if (least === undefined) break;
    omitted.push(columns[least]?.title ?? "");
    visible.splice(visible.indexOf(least), 1);
  }
  const widths = [...natural];
  while (excess(widths) > 0) {
    const [widest] = visible
      .filter((i) => (widths[i] ?? 0) > leastOf(i))
      .sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return {
    text: table(
      visible.map((i) => columns[i]?.title ?? ""),
      rows.map((row) => visible.map((i) => truncateToWidth(row[i] ?? "", widths[i] ?? 0))),
    ),
    left: omitted,
  };
}

const RULE = "═".repeat(60);

/** Returns a titled block of aligned labels and values, like the published runner's results. */
export function summaryBox(title: string, rows: readonly (readonly [label: string, value: string])[]): string {
  const width = Math.max(...rows.map(([label]) => stringWidth(label))) + 2;
  const lines = rows.map(([label, value]) => `${padToWidth(`${label}:`, width)}${value}`);
  return [RULE, title, RULE, ...lines, RULE].join("\n");
}

/** Formats an estimate as `0.795 [0.689, 0.872] n=73`: the value, its 95% interval if known, and its denominator. */
export function estimate({ value, low, high, n }: Estimate): string {
  if (value === null) return "-";
  const interval = low === null || high === null ? "" : ` [${share(low)}, ${share(high)}]`;
  return `${share(value)}${interval} n=${count(n)}`;
}

/** Formats for numbers. A missing number is a dash, never NaN or 0. */

export function count(value: number | null): string {
  if (value === null) return "-";
  // Group digits by hand: the first use of a locale takes 5 ms.
  return Number.isInteger(value) && Math.abs(value) < 1e21
    ? String(value).replace(/\B(?=(?:\d{3})+$)/g, ",")
    : value.toLocaleString("en-US");
}

/** Formats `1 email` or `1,234 emails`. */
export function counted(n: number, noun: string, plural = `${noun}s`): string {
  return `${count(n)} ${n === 1 ? noun : plural}`;
}

/** Returns the text, or its start with an ellipsis if it has more than `limit` characters. */
export function truncated(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1).toWellFormed()}…`;
}

export function share(value: number | null): string {
  return value === null ? "-" : value.toFixed(3);
}

/** Formats a mean per task, such as turns. */
export function oneDecimal(value: number | null): string {
  return value === null ? "-" : value.toFixed(1);
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Formats US dollars, with three significant digits below one dollar. */
export function usd(value: number | null): string {
  if (value === null) return "unknown";
  return value === 0 || value >= 1 ? `$${value.toFixed(2)}` : `$${value.toPrecision(3)}`;
}

export function duration(ms: number): string {
  if (Math.round(ms) < 1_000) return `${Math.round(ms)} ms`;
  if (Math.round(ms / 100) < 600) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (part: number) => String(part).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)} h` : `${minutes}:${two(rest)} min`;
}

/** Progress bar text for an import: `12,000 emails  3,400/s`. */
export function mailProgress(mails: number, elapsedMs: number): string {
  return `${count(mails)} emails  ${rate(mails, elapsedMs)}`;
}

/** Formats a rate per second: `1,234/s`. */
export function rate(done: number, elapsedMs: number): string {
  const perSecond = elapsedMs <= 0 ? 0 : (done / elapsedMs) * 1_000;
  return `${perSecond >= 10 ? count(Math.round(perSecond)) : perSecond.toFixed(1)}/s`;
}
