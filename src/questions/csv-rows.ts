import { parse } from "csv-parse/sync";
import { unescapeFormula } from "../platform/csv-line.js";
import { splitMessageIds } from "./message-ids.js";
import type { RawRow } from "./raw-row.js";

/**
 * Rows of a CSV file with a header (RFC 4180). Numbers are read from their text; an empty cell of a
 * number or of the split counts as missing. The apostrophe before what a spreadsheet would execute is removed.
 * @throws Error (csv-parse) that names the line
 */
export function csvRows(text: string): RawRow[] {
  const records: Record<string, string>[] = parse(text, { columns: true, bom: true, skip_empty_lines: true });
  return records.map((record, i) => ({
    where: `row ${i + 1}`,
    value: {
      ...Object.fromEntries(Object.entries(record).map(([name, cell]) => [name, unescapeFormula(cell)])),
      id: parseNumber(record.id),
      how_realistic: parseNumber(record.how_realistic),
      message_ids: record.message_ids === undefined ? undefined : splitMessageIds(record.message_ids),
      split: record.split?.trim() || undefined,
    },
  }));
}

/** Text that is no number stays text, which validation then rejects. */
function parseNumber(cell: string | undefined): number | string | undefined {
  if (cell === undefined || cell.trim() === "") return undefined;
  const number = Number(cell);
  return Number.isNaN(number) ? cell : number;
}
