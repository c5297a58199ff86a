import { toWellFormedJson } from "../well-formed-json.js";
import type { Column } from "./table.js";

/** An object per row, with every column; no value is null. */
export function* jsonLines<Row>(columns: readonly Column<Row>[], rows: Iterable<Row>): Generator<string> {
  for (const row of rows) {
    yield `${toWellFormedJson(Object.fromEntries(columns.map(({ name, read }) => [name, read(row)])))}\n`;
  }
}
