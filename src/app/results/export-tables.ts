import { mkdir } from "node:fs/promises";
import { UserError } from "../../domain/errors.js";
import { encodeTable, type TableFormat } from "../../exports/tables/encode-table.js";
import { tasksTable } from "../../exports/tables/tasks-table.js";
import { toolCallsTable } from "../../exports/tables/tool-calls-table.js";
import { turnsTable } from "../../exports/tables/turns-table.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import type { AppContext } from "../use-case-context.js";
import { type AnyTable, RowCounter } from "./count-table-rows.js";
import { TABLES, type TableName, tablePath } from "./exported-table-names.js";
import { type RunSource, RunSources, refuseTwice } from "./open-results.js";
import { scoredNames } from "./score-meanings.js";

export interface TableRequest {
  /** Of runs in the database, or paths of results files. */
  readonly names: readonly string[];
  /** Undefined: all that these runs have. */
  readonly tables: readonly TableName[] | undefined;
  readonly format: TableFormat;
  /** A folder; undefined: one table of a text format, to `write`. */
  readonly output: string | undefined;
}

export interface WrittenTable {
  readonly table: TableName;
  /** Null: standard output. */
  readonly path: string | null;
  readonly rows: number;
}

export interface ExportedTables {
  readonly runs: readonly string[];
  /** Those of them that were read from results files, and so are in no table of traces. */
  readonly withoutTraces: readonly string[];
  readonly tables: readonly WrittenTable[];
}

/** Writes runs as tables, one row in memory at a time (of Parquet: one row group). */
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
    const written: WrittenTable[] = [];
    for (const name of tables ?? tablesOf(withoutTraces.length < runs.length)) {
      if (name !== "tasks" && withoutTraces.length === runs.length) throw noTraces(name, withoutTraces);
      const table = tableOf(name, runs);
      const counter = new RowCounter(table, runs, bar, signal);
      const path = output === undefined ? null : tablePath(output, name, format);
      const pieces = await encodeTable(format, table, counter.rows());
      if (output !== undefined) await mkdir(output, { recursive: true });
      if (path === null) await write(pieces as Iterable<string>);
      else await writeFileAtomically(path, pieces);
      written.push({ table: name, path, rows: counter.count });
    }
    return { runs: runs.map(({ head }) => head.runId), withoutTraces, tables: written };
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
    `There is no table ${table} of ${runs.join(", ")}: a results file has no traces.`,
    "Name the run in its database instead, or export the tasks only (--tables tasks).",
  );
}
