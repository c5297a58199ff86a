// CSV lines whose cells no spreadsheet executes as formulas.

export type Cell = string | number | null;

/** Without this mark, Excel reads UTF-8 as Latin-1. */
export const BYTE_ORDER_MARK = "\ufeff";

/** Returns one CSV line (https://www.rfc-editor.org/rfc/rfc4180). */
export function csvLineOf(cells: readonly Cell[]): string {
  return `${cells.map(formatCell).join(",")}\r\n`;
}

function formatCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  // Readers written in C, such as pandas, end a cell at a NUL.
  const safe = escapeFormula(cell.replaceAll("\0", "\ufffd"));
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Text that spreadsheets execute as a formula, also after an apostrophe, which already prevents that. */
const FORMULA = /^'*\s*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/;

function escapeFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** Returns the text of a cell that `escapeFormula` wrote. */
export function unescapeFormula(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;
}
