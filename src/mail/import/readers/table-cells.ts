// Parses cells of CSV and Parquet tables in the formats that programs write, including lists in JSON, Python, numpy or
// PostgreSQL syntax.
import { z } from "zod";
import { parseJsonOrNull } from "../../../platform/json.js";
import type { ReadTable } from "../../email.js";
import { decodeCharset } from "../../mime/charset.js";
import { dateOfEpoch, isoSeconds, parseTableDate } from "../../mime/mail-date.js";

/** Fields that every mail table should contain. */
const WANTED = ["messageId", "date", "from", "to", "subject", "body"];

/** Columns in which pandas and spreadsheets keep row numbers. */
const ROW_NUMBERS = /^(?:unnamed: *[\d.]+|__index_level_\d+__|index|)$/i;

/** Counts what was not read from a table, for the summary of the import. */
export class TableReport {
  private readonly unread: readonly string[];
  private readonly missing: readonly string[];
  private dates = 0;
  private unreadDates = 0;
  private foreignCells = 0;

  /** @param columns the columns that are read, by field */
  constructor(
    private readonly where: string,
    names: readonly string[],
    columns: ReadonlyMap<string, string>,
  ) {
    const read = new Set(columns.values());
    this.unread = names.filter((name) => !read.has(name) && !ROW_NUMBERS.test(name));
    this.missing = WANTED.filter((field) => !columns.has(field));
  }

  /** Decodes a cell. Like an email without a charset, one that is not UTF-8 is read as windows-1252. */
  decode(cell: Buffer): string {
    const text = cell.toString("utf8");
    if (!text.includes("\ufffd")) return text;
    const decoded = decodeCharset(cell, "");
    if (decoded !== text) this.foreignCells++;
    return decoded;
  }

  /** Parses a date and counts it. Empty cells are not dates. */
  dateOf(cell: unknown): string | null {
    const value = typeof cell === "string" ? textOrEmpty(cell) : cell;
    if (value === "" || value === null || value === undefined) return null;
    const date = dateOfValue(value);
    this.dates++;
    if (date === null) this.unreadDates++;
    return date;
  }

  result(): ReadTable {
    const { where, unread, missing, dates, unreadDates, foreignCells } = this;
    return { where, unread, missing, dates, unreadDates, foreignCells };
  }
}

function dateOfValue(value: unknown): string | null {
  if (value instanceof Date) return isoSeconds(value);
  if (typeof value === "number" || typeof value === "bigint") return dateOfEpoch(Number(value));
  return typeof value === "string" ? parseTableDate(value) : null;
}

/** Cell texts that mean that the value is missing. */
const MISSING = /^(?:nan|none|null|nil|nat|n\/a|<na>|undefined|\\n|)$/i;

/** Trims a cell. Returns an empty string for a missing value. */
export function textOrEmpty(cell: string): string {
  const text = cell.trim();
  return MISSING.test(text) ? "" : text;
}

/** Python's collection types, and numpy's and pandas' array types. */
const CALL = /^(?:frozenset|set|list|tuple|deque|dict_keys|dict_values|(?:np\.|numpy\.)?array|Index)\s*\((.*)\)$/s;
const BRACKETS: Readonly<Record<string, string>> = { "[": "]", "{": "}", "(": ")" };
const SPACED_ADDRESSES = /^[^\s|@<>",;:([{]+@[^\s|@<>",;]+(?:[\s|]+[^\s|@<>",;]+@[^\s|@<>",;]+)+$/;
/** `[SMTP:ann@example.com]` is one address. */
const EXCHANGE_TYPE = /^\[(?:smtp|mailto):/i;
const QUOTED = /[bu]?'((?:[^'\\]|\\.)*)'|[bu]?"((?:[^"\\]|\\.)*)"/gs;

/** A list that was written to JSON as a string. */
const QUOTED_LIST = /^"([[{(].*[\])}])"$/s;

/** Converts a cell to text. Null becomes an empty string, and a list becomes a comma-separated list. */
export function cellText(cell: unknown): string {
  if (typeof cell === "string") return cell;
  return Array.isArray(cell) ? cell.map(cellText).join(", ") : "";
}

/** Returns the addresses in a cell as a comma-separated list, the syntax of mail headers. */
export function addressesOf(cell: unknown): string {
  return typeof cell === "string" ? addressList(cell) : addressesOfValue(cell);
}

function addressList(cell: string): string {
  const text = textOrEmpty(cell).replace(QUOTED_LIST, "$1");
  const list = CALL.exec(text)?.[1]?.trim() ?? text;
  const close = BRACKETS[list[0] ?? ""];
  if (SPACED_ADDRESSES.test(list)) return list.split(/[\s|]+/).join(", ");
  if (close === undefined) return withoutMissing(list.replace(/^b(?=(['"]).*\1$)/s, "").split(","));
  const end = list.lastIndexOf(close);
  if (end === -1 || EXCHANGE_TYPE.test(list)) return text;
  const json = addressesOfJson(list);
  if (json !== null) return json;
  const inside = list.slice(1, end);
  // `array(['a'], dtype=object)` is a list. `(comment) a@example.com` is a header.
  const behind = list.slice(end + 1).trim();
  if (behind !== "" && !behind.startsWith(",")) return text;
  const quoted = [...inside.matchAll(QUOTED)].map(([, single, double]) =>
    (single ?? double ?? "").replace(/\\(.)/gs, "$1"),
  );
  if (quoted.length === 0) return withoutMissing(inside.replace(/^[[({\s]+|[\])}\s]+$/g, "").split(/[,\n]/));
  // Pairs of name and address, or objects with both.
  const addresses = quoted.filter((text) => text.includes("@"));
  return withoutMissing(addresses.length > 0 ? addresses : quoted);
}

function withoutMissing(items: readonly string[]): string {
  return items
    .map(textOrEmpty)
    .filter((item) => item !== "")
    .join(", ");
}

const jsonCell = z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]);

function addressesOfJson(text: string): string | null {
  const { success, data } = jsonCell.safeParse(parseJsonOrNull(text));
  return success ? addressesOfValue(data) : null;
}

/** Returns the addresses in a decoded cell: a string, a list, or an object such as `{ name, email }`. */
function addressesOfValue(value: unknown): string {
  if (typeof value === "string") return textOrEmpty(value.toWellFormed());
  if (Array.isArray(value)) return withoutMissing(value.map(addressesOfValue));
  if (typeof value !== "object" || value === null) return "";
  const texts = Object.values(value).map(addressesOfValue);
  const addresses = texts.filter((text) => text.includes("@"));
  return withoutMissing(addresses.length > 0 ? addresses : texts);
}
