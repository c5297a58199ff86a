import type { JsonObject } from "../../../domain/json.js";
import { formatCoordinate, parseCoordinate } from "../../formats/xlsx/cells.js";
import { readRawValue } from "../../formats/xlsx/raw-value.js";
import { EMPTY_CELL, readStyleProperty } from "./cell-styles.js";
import { readStyledCells } from "./compare-styles.js";
import { matchesRule } from "./match-value.js";
import { chooseSheet, MissingSheet, type TableRule } from "./table-books.js";

/** `check_cell`: properties of one cell of the result against rules. `value` is read from the XML. */
export const checkCell: TableRule = (rule, books) => {
  const { book, name, sheet } = chooseSheet(rule.sheet_idx, books);
  if (sheet === null) throw new MissingSheet();
  const { row, column } = parseCoordinate(String(rule.coordinate));
  const cell = readStyledCells(book, sheet).get(formatCoordinate(row, column)) ?? EMPTY_CELL;
  const rules = Object.entries((rule.props ?? {}) as Readonly<Record<string, JsonObject>>);
  // The origin reads all values, so that one that raises counts, but asks no rule after one that does not hold.
  let holds = true;
  for (const [property, matches] of rules) {
    const value =
      property === "value" ? readRawValue(book, name, String(rule.coordinate)) : readStyleProperty(property, cell);
    holds = holds && matchesRule(value, matches);
  }
  return holds;
};
