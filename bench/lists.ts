// Measures the lists of the served pages over many runs and traces, in the thread that the server reads them with.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { ListThreads } from "../src/server/lists/lists.js";
import { type ListFields, parseListQuery } from "../src/store/list-query.js";
import { type Db, openStore } from "../src/store/open-store.js";
import { RUN_FIELDS, TRACE_FIELDS } from "../src/traces/list-fields.js";
import { saveSynthetic } from "../test/reports/synthetic-run.js";

export interface ListLine {
  readonly list: string;
  readonly query: string;
  /** Processor time of all threads. */
  readonly cpuMs: number;
  readonly clockMs: number;
  /** Longest time that other requests were held up. */
  readonly blockedMs: number;
}

const QUERIES = {
  runs: ["", "", "run_777", "score<0.9 model:m/3", "sort=-score", "sort=cost", "failed:>0"],
  traces: ["", "march contract", "score<0.5", "sort=-score", "sort=question", "run:run_777", "label:none"],
} as const;

const FIELDS = { runs: RUN_FIELDS, traces: TRACE_FIELDS } as const;

/** The first line includes starting the thread and computing the figures of all runs, which happens once. */
export async function benchLists({
  runs,
  tasks,
}: {
  readonly runs: number;
  readonly tasks: number;
}): Promise<ListLine[]> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-lists-"));
  const path = join(folder, "lists.db");
  const db = openStore(path, { mustExist: false });
  const lists = new ListThreads(path);
  try {
    saveRuns(db, runs, tasks);
    const lines: ListLine[] = [];
    for (const list of ["runs", "traces"] as const) {
      for (const query of QUERIES[list]) {
        const page = { ...pageFor(query, FIELDS[list]), offset: 0, after: null };
        lines.push({ list, query, ...(await measure(() => lists.read(list, page))) });
      }
    }
    return lines;
  } finally {
    await lists.close();
    db.close();
    rmSync(folder, { recursive: true });
  }
}

/** Number of runs made task by task. The others are copies, because saving 25,000 traces takes minutes. */
const TEMPLATES = 7;

export function saveRuns(db: Db, runs: number, tasks: number): void {
  db.transaction(() => {
    for (let i = 0; i < TEMPLATES; i++) saveSynthetic(db, { id: `run_${i}`, tasks, model: `m/${i}` });
    for (const table of ["runs", "traces", "results"]) copyRows(db, table, runs);
  })();
}

/** Copies the rows of the templates for the other runs. */
function copyRows(db: Db, table: string, runs: number): void {
  const columns = (db.pragma(`table_info(${table})`) as { readonly name: string }[]).map(({ name }) => name);
  const isText = (name: string) =>
    /(^|_)id$|^(trace|result)$/.test(name) && name !== "task_id" && name !== "dataset_id";
  const copied = columns.map((name) => (isText(name) ? `replace(${name}, @template || '_', @run || '_')` : name));
  const runId = table === "runs" ? "id" : "run_id";
  const values = copied.map((sql, i) => (columns[i] === runId ? "@run" : sql));
  const insert = db.prepare(
    `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM ${table} WHERE ${runId} = @template`,
  );
  for (let i = TEMPLATES; i < runs; i++) insert.run({ template: `run_${i % TEMPLATES}`, run: `run_${i}` });
}

function pageFor(query: string, fields: ListFields) {
  const sort = query.startsWith("sort=") ? query.slice("sort=".length) : "";
  return { terms: sort === "" ? parseListQuery(query, fields) : [], sort, limit: 50 };
}

async function measure(load: () => Promise<unknown>): Promise<Omit<ListLine, "list" | "query">> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const before = process.cpuUsage();
  const start = performance.now();
  delay.enable();
  await load();
  delay.disable();
  const { user, system } = process.cpuUsage(before);
  return {
    cpuMs: (user + system) / 1_000,
    clockMs: performance.now() - start,
    blockedMs: delay.max === 0 ? 0 : Math.max(0, delay.max / 1e6 - 5),
  };
}
