// A table of rows with typed columns, whatever file it is written to.
import type { TaskResult } from "../traces/task-result.js";
import type { Trace } from "../traces/trace.js";

/** Metadata key in every Parquet file of art-e. Its value is the table's name. */
export const PARQUET_TABLE_KEY = "art-e.table";

/** Cell values by column type. */
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

/** A column has the same type in all rows. Rows without a value have null. */
export type Column<Row> = { [Type in ColumnType]: ColumnOf<Row, Type> }[ColumnType];

/** A table of one kind of row, for programs that analyze runs. */
export interface Table<Row> {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  /** Yields the rows of one run, or nothing if its source does not have the required traces. */
  rows(run: TableSource): Iterable<Row>;
}

/** The parts of a run that tables read. Both can be iterated more than once. */
export interface TableSource {
  readonly head: { readonly runId: string; readonly agentId: string; readonly model: string; readonly name?: string };
  results(): Iterable<TaskResult>;
  /** The run's traces, or null for a results file. */
  readonly traces: (() => Iterable<Trace>) | null;
}
