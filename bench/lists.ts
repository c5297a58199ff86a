// Measures the processor time of the lists of the served pages over many runs and traces.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pageOfRuns } from "../src/results/run-summaries.js";
import { type ListFields, parseListQuery } from "../src/store/list-query.js";
import { type Db, openStore } from "../src/store/open-store.js";
import { RUN_FIELDS, TRACE_FIELDS } from "../src/traces/list-fields.js";
import { pageOfTraces } from "../src/traces/traces-store.js";
import { saveSynthetic } from "../test/reports/synthetic-run.js";

export interface ListLine {
  readonly list: string;
  readonly query: string;
  readonly ms: number;
  readonly blockedMs: number;
}

/** The first line includes computing the figures of all runs, which is done once. */
export async function benchLists({
  runs,
  tasks,
}: {
  readonly runs: number;
  readonly tasks: number;
}): Promise<ListLine[]> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-lists-"));
  const db = openStore(join(folder, "lists.db"), { mustExist: false });
  try {
    db.transaction(() => {
      for (let i = 0; i < runs; i++) saveSynthetic(db, { id: `run_${i}`, tasks, model: `m/${i % 7}` });
    })();
    const lines: ListLine[] = [];
    const runQueries = ["", "", "run_777", "score<0.9 model:m/3", "sort=-score", "sort=cost", "failed:>0"];
    for (const query of runQueries) lines.push(await measure("runs", query, () => runPage(db, query)));
    const traceQueries = [
      "",
      "march contract",
      "score<0.5",
      "sort=-score",
      "sort=question",
      "run:run_777",
      "label:none",
    ];
    for (const query of traceQueries) lines.push(await measure("traces", query, async () => tracePage(db, query)));
    return lines;
  } finally {
    db.close();
    rmSync(folder, { recursive: true });
  }
}

function pageFor(query: string, fields: ListFields) {
  const sort = query.startsWith("sort=") ? query.slice("sort=".length) : "";
  return { terms: sort === "" ? parseListQuery(query, fields) : [], sort, limit: 50 };
}

function runPage(db: Db, query: string) {
  return pageOfRuns(db, { ...pageFor(query, RUN_FIELDS), offset: 0 });
}

function tracePage(db: Db, query: string) {
  return pageOfTraces(db, { ...pageFor(query, TRACE_FIELDS), after: null });
}

async function measure(list: string, query: string, load: () => Promise<unknown>): Promise<ListLine> {
  const before = process.cpuUsage();
  let blocked = 0;
  let last = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization(last);
    blocked = Math.max(blocked, now.active);
    last = performance.eventLoopUtilization();
  }, 1);
  await load();
  const { user, system } = process.cpuUsage(before);
  clearInterval(timer);
  return { list, query, ms: (user + system) / 1_000, blockedMs: blocked };
}
