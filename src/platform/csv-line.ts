export type Cell = string | number | null;

/** Without it, Excel reads UTF-8 as Latin-1. */
export const BYTE_ORDER_MARK = "\ufeff";

/** A line of RFC 4180. */
export function csvLineOf(cells: readonly Cell[]): string {
  return `${cells.map(formatCell).join(",")}\r\n`;
}

function formatCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const safe = escapeFormula(cell);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Text that spreadsheets execute as a formula, or that has a leading apostrophe, which prevents it, already. */
const FORMULA = /^'*\s*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/;

function escapeFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** The text that was written as this cell. */
export function unescapeFormula(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;
}
