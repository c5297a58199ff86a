import { UserError } from "../../domain/errors.js";

/** Accepted column names by field, normalized: lower-case letters and digits. */
const NAMES = {
  messageId: ["messageid"],
  subject: ["subject"],
  from: ["from", "sender", "fromaddress"],
  to: ["to", "recipients"],
  cc: ["cc"],
  bcc: ["bcc"],
  date: ["date", "sentat", "timestamp"],
  body: ["body", "text", "content"],
  path: ["filename", "file", "path"],
  inbox: ["inbox"],
} as const;

export type Column = keyof typeof NAMES;

/** The column name of each field in a table. */
export type Columns = ReadonlyMap<Column, string>;

const REQUIRED: readonly Column[] = ["messageId", "from", "body"];

/** Maps fields to columns, ignoring case, punctuation and order. */
export function findColumns(names: readonly string[]): Columns {
  const found = new Map<Column, string>();
  for (const [column, known] of Object.entries(NAMES) as [Column, readonly string[]][]) {
    const name = known.map((k) => names.find((n) => normalizeName(n) === k)).find((n) => n !== undefined);
    if (name !== undefined) found.set(column, name);
  }
  return found;
}

export function isMailTable(columns: Columns): boolean {
  return REQUIRED.every((column) => columns.has(column));
}

/** As `findColumns`. @throws UserError where required columns are missing */
export function mailColumns(names: readonly string[], file: string): Columns {
  const columns = findColumns(names);
  if (isMailTable(columns)) return columns;
  throw new UserError(
    "not_mail",
    `${file} does not hold mail: its columns are ${names.join(", ") || "none"}`,
    "A table of mails has at least the columns message_id, from (or sender) and body.",
  );
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}
