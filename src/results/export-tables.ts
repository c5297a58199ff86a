// Writes runs as tables, one row in memory at a time.
import type { AppContext, ProgressBar } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { createFolder, writeFileAtomically } from "../platform/files.js";
import { counted } from "../text/format.js";
import type { Table, TableSource } from "../trace-formats/table-types.js";
import {
  encodeTable,
  TABLES,
  type TableFormat,
  type TableName,
  tablePath,
  tasksTable,
  toolCallsTable,
  turnsTable,
} from "../trace-formats/tables.js";
import { scoredNames } from "./collect-report.js";
import { countTasks, type RunSource, RunSources, refuseTwice } from "./results-file.js";

interface TableRequest {
  /** Run names, or paths of results files. */
  readonly names: readonly string[];
  /** Undefined for all tables that these runs have. */
  readonly tables: readonly TableName[] | undefined;
  readonly format: TableFormat;
  /** Output folder, or undefined to pass a single table in a text format to `write`. */
  readonly output: string | undefined;
}

interface WrittenTable {
  readonly table: TableName;
  /** Output path, or null for standard output. */
  readonly path: string | null;
  readonly rows: number;
}

export interface ExportedTables {
  readonly runs: readonly string[];
  /** Runs from results files, which are missing from the tables of traces. */
  readonly withoutTraces: readonly string[];
  readonly tables: readonly WrittenTable[];
}

// biome-ignore lint/suspicious/noExplicitAny: the rows of a table are read by its own columns only.
type AnyTable = Table<any>;

/** Writes runs as tables with one row in memory at a time, or one row group for Parquet. */
export async function exportTables(
  { names, tables, format, output }: TableRequest,
  { settings, progress, signal }: AppContext,
  write: (pieces: Iterable<string>) => Promise<void>,
): Promise<ExportedTables> {
  const sources = new RunSources(settings.db);
  const bar = progress("Exporting");
  try {
    const runs: RunSource[] = [];
    for (const name of names) runs.push(await sources.open(name));
    refuseTwice(runs);
    const withoutTraces = runs.filter(({ traces }) => traces === null).map(({ head }) => head.runId);
    const writtenTables: WrittenTable[] = [];
    for (const name of tables ?? tablesOf(withoutTraces.length < runs.length)) {
      if (name !== "tasks" && withoutTraces.length === runs.length) throw noTraces(name, withoutTraces);
      const table = tableOf(name, runs);
      const counter = new RowCounter(table, runs, bar, signal);
      const path = output === undefined ? null : tablePath(output, name, format);
      const pieces = await encodeTable(format, table, counter.rows());
      if (output !== undefined) createFolder("--output", output);
      if (path === null) await write(pieces as Iterable<string>);
      else await writeFileAtomically(path, pieces);
      writtenTables.push({ table: name, path, rows: counter.count });
    }
    return { runs: runs.map(({ head }) => head.runId), withoutTraces, tables: writtenTables };
  } finally {
    bar.stop();
    sources.close();
  }
}

function tablesOf(hasTraces: boolean): readonly TableName[] {
  return hasTraces ? TABLES : ["tasks"];
}

function tableOf(name: TableName, runs: readonly RunSource[]): AnyTable {
  if (name === "turns") return turnsTable;
  return name === "tool_calls" ? toolCallsTable : tasksTable(scoredNames(runs.map(({ head }) => head)));
}

function noTraces(table: TableName, runs: readonly string[]): UserError {
  return new UserError(
    "traces_missing",
    `Cannot export the table ${table} of ${runs.join(", ")}: a results file contains no traces.`,
    "Pass the run id and its database, or export only the tasks (--tables tasks).",
  );
}

class RowCounter {
  count = 0;
  private tasks = 0;
  private readonly total: number;

  constructor(
    private readonly table: AnyTable,
    private readonly runs: readonly RunSource[],
    private readonly bar: ProgressBar,
    private readonly signal: AbortSignal,
  ) {
    this.total = countTasks(runs);
  }

  *rows(): Generator<unknown> {
    for (const run of this.runs) {
      for (const row of this.table.rows(this.watch(run))) {
        this.count++;
        yield row;
      }
    }
  }

  private watch({ head, results, traces }: RunSource): TableSource {
    return {
      head,
      results: () => this.observe(results()),
      traces: traces === null ? null : () => this.observe(traces()),
    };
  }

  private *observe<T>(tasks: Iterable<T>): Generator<T> {
    for (const task of tasks) {
      this.signal.throwIfAborted();
      this.bar.update(++this.tasks, this.total, `${this.table.name}: ${counted(this.tasks, "task")}`);
      yield task;
    }
  }
}
