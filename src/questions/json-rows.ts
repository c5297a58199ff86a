import type { RawRow } from "./raw-row.js";

/** Rows of a JSON array, or of a reply of the rows API, `{rows:[{row_idx, row}]}`; null for anything else. */
export function jsonRows(document: unknown): RawRow[] | null {
  const list = Array.isArray(document) ? document : hasRows(document) ? document.rows : null;
  return list?.map((item: unknown, i) => ({ where: `row ${i + 1}`, value: isWrapped(item) ? item.row : item })) ?? null;
}

/**
 * Rows of JSON Lines; empty lines are skipped.
 * @throws SyntaxError that names the line
 */
export function jsonLinesRows(text: string): RawRow[] {
  return text.split("\n").flatMap((line, i) => {
    if (line.trim() === "") return [];
    const where = `line ${i + 1}`;
    try {
      return [{ where, value: JSON.parse(line) as unknown }];
    } catch (cause) {
      throw new SyntaxError(`${where} is not JSON: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
  });
}

function hasRows(document: unknown): document is { rows: unknown[] } {
  return typeof document === "object" && document !== null && "rows" in document && Array.isArray(document.rows);
}

function isWrapped(item: unknown): item is { row: unknown } {
  return typeof item === "object" && item !== null && "row" in item && "row_idx" in item;
}
