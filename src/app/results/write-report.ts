import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../../domain/errors.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { csvHead, csvLine } from "../../reports/ci/csv-report.js";
import { csvSummaries, SUMMARY_FILES } from "../../reports/ci/csv-summaries.js";
import { packedTrace } from "../../reports/html/packed-trace.js";
import type { ReportHead } from "../../reports/page/report-data.js";
import { count } from "../../reports/text/format-number.js";
import type { Db } from "../../store/connection/open-store.js";
import { getRun, type RunRow } from "../../store/runs/runs.js";
import { programVersion } from "../settings/program-version.js";
import type { AppContext } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { collectReport, scoreMeanings, storedResults } from "./collect-report.js";
import { type TracePlacement, TraceStore } from "./report-conversations.js";
import { type WrittenPage, writePage } from "./write-page.js";

const TASKS_FILE = "tasks.csv";

type Write = (pieces: Iterable<string>) => Promise<void>;

/** Writes a line a task of these runs, to a file or to `write`. Returns what was written. */
export function writeCsvReport(
  names: readonly string[],
  output: string | undefined,
  context: AppContext,
  write: Write,
): Promise<{ readonly runs: readonly string[]; readonly tasks: number }> {
  return withStore(context.settings, async (db) => {
    const runs = runsOf(db, names);
    const { meanings, tasks } = scoreMeanings(db, runs);
    const pieces = csvPieces(db, runs, meanings);
    if (output === undefined) await write(pieces);
    else await writeFileAtomically(output, pieces);
    return { runs: runs.map(({ id }) => id), tasks };
  });
}

/** The files that summaries are written to, with the tasks. */
export function summaryPaths(folder: string): string[] {
  return [TASKS_FILE, ...SUMMARY_FILES].map((name) => join(folder, name));
}

/** Writes the tasks of these runs and summaries of them as tables into a folder, which is made where there is none. */
export function writeCsvSummaries(
  names: readonly string[],
  folder: string,
  context: AppContext,
): Promise<{ readonly runs: readonly string[]; readonly files: readonly string[] }> {
  return withStore(context.settings, async (db) => {
    const runs = runsOf(db, names);
    const { head } = await collect(db, names, new TraceStore("none", undefined), context);
    const files = [[TASKS_FILE, csvPieces(db, runs, head.scores)] as const, ...csvSummaries(head)];
    await mkdir(folder, { recursive: true });
    for (const [name, pieces] of files) await writeFileAtomically(join(folder, name), pieces);
    return { runs: runs.map(({ id }) => id), files: files.map(([name]) => name) };
  });
}

/** The figures of these runs, without their tasks. */
export function readReport(names: readonly string[], context: AppContext): Promise<ReportHead> {
  return withStore(context.settings, async (db) => {
    const { head } = await collect(db, names, new TraceStore("none", undefined), context);
    return head;
  });
}

/** Writes these runs as a page, with their conversations where `placement` says. */
export function writePageReport(
  names: readonly string[],
  { output, placement }: { readonly output: string | undefined; readonly placement: TracePlacement },
  context: AppContext,
  write: Write,
): Promise<WrittenPage> {
  return withStore(context.settings, async (db) => {
    const traceStore = new TraceStore(placement, output);
    try {
      return await writePage(await collect(db, names, traceStore, context), traceStore, output, write);
    } catch (error) {
      traceStore.discard();
      throw error;
    }
  });
}

async function collect(db: Db, names: readonly string[], traceStore: TraceStore, { progress, signal }: AppContext) {
  const bar = progress("Reporting");
  const { meanings, leading, runs, evals, tasks } = await collectReport(
    db,
    runsOf(db, names),
    {
      onTask: (done, total) => bar.update(done, total, `${count(done)} tasks`),
      onTrace: (key, view) => traceStore.wantsNone || traceStore.add(key, packedTrace(view())),
    },
    signal,
  ).finally(() => bar.stop());
  const head: ReportHead = {
    version: programVersion(),
    createdAt: new Date().toISOString(),
    scores: meanings,
    leading,
    runs,
    evals,
    traces: { kind: "none" },
  };
  return { head, tasks };
}

function runsOf(db: Db, names: readonly string[]): RunRow[] {
  const runs = names.map((name) => getRun(db, name));
  const twice = runs.find((run, i) => runs.findIndex(({ id }) => id === run.id) < i);
  if (twice === undefined) return runs;
  throw new UserError("flags_contradict", `The run ${twice.id} is named twice.`, "Name each run once.");
}

function* csvPieces(db: Db, runs: readonly RunRow[], meanings: ReportHead["scores"]): Generator<string> {
  const ofSuites = runs.some(({ split }) => split === "suite");
  yield csvHead(meanings, ofSuites);
  for (const [run, result] of storedResults(db, runs)) {
    yield csvLine({ runId: run.id, agentId: run.agentId, model: run.model }, result, meanings, ofSuites);
  }
}
