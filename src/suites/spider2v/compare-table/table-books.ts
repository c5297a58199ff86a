import type { JsonObject, JsonValue } from "../../../domain/json.js";
import type { Sheet, Workbook } from "../../formats/xlsx/workbook.js";

/** The two workbooks of a comparison. */
export interface TableBooks {
  readonly result: Workbook;
  /** Null where the task names none. */
  readonly expected: Workbook | null;
}

export type TableRule = (rule: JsonObject, books: TableBooks) => boolean;

/** Ends the comparison with 0: the result lacks a sheet that is compared. */
export class MissingSheet extends Error {
  override readonly name = "MissingSheet";
}

export interface ChosenSheet {
  readonly book: Workbook;
  readonly name: string;
  readonly sheet: Sheet | null;
}

/**
 * A sheet as rules name it: a number or "RI0" counts the result's, "RNname" names one of them, "EI0" and "ENname" one
 * of the gold's. An index out of range is a sheet that is not there; one below zero counts from the end.
 */
export function chooseSheet(index: JsonValue | undefined, books: TableBooks): ChosenSheet {
  const text = typeof index === "number" ? `RI${index}` : index;
  const match = typeof text === "string" ? /^([RE])([IN])(.*)$/s.exec(text) : null;
  if (match === null) throw new Error(`${JSON.stringify(index)} names no sheet`);
  const [, side, kind, rest = ""] = match;
  const book = side === "R" ? books.result : books.expected;
  if (book === null) throw new Error("there is no workbook to compare with");
  const position = /^\s*[+-]?\d+\s*$/.test(rest) ? Number(rest) : Number.NaN;
  const name = kind === "N" ? rest : (book.sheetNames.at(position) ?? "");
  return { book, name: Number.isNaN(position) && kind === "I" ? "" : name, sheet: book.findSheet(name) };
}
