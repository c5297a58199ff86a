import type { TaskResult } from "../traces/task-result.js";
import type { Trace } from "../traces/trace.js";

/** In the metadata of every Parquet file of this program, with the name of the table. */
export const PARQUET_TABLE_KEY = "art-e.table";

/** The value of a cell by the type of its column. */
interface CellTypes {
  readonly text: string;
  readonly integer: number;
  readonly number: number;
  readonly boolean: boolean;
  /** ISO 8601 in UTC, to the millisecond. */
  readonly timestamp: string;
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly texts: readonly string[];
}

export type ColumnType = keyof CellTypes;

export type CellValue = CellTypes[ColumnType] | null;

interface ColumnOf<Row, Type extends ColumnType> {
  readonly name: string;
  readonly type: Type;
  readonly read: (row: Row) => CellTypes[Type] | null;
}

/** A column has one type in all rows, and no value (null) where a row has none. */
export type Column<Row> = { [Type in ColumnType]: ColumnOf<Row, Type> }[ColumnType];

/** A table of one kind of rows, for programs that analyse runs. */
export interface Table<Row> {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  /** Of one run; empty where the source of the run has no traces to take them from. */
  rows(run: TableSource): Iterable<Row>;
}

/** What tables read of a run. Both may be iterated more than once. */
export interface TableSource {
  readonly head: { readonly runId: string; readonly agentId: string; readonly model: string; readonly name?: string };
  results(): Iterable<TaskResult>;
  /** Null: a results file, which has none. */
  readonly traces: (() => Iterable<Trace>) | null;
}
