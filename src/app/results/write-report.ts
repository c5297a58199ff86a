import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { csvHead, csvLine } from "../../reports/files/csv-report.js";
import { csvSummaries, SUMMARY_FILES } from "../../reports/files/csv-summaries.js";
import type { Report } from "../../reports/html/html-report.js";
import { packedTrace } from "../../reports/html/packed-trace.js";
import type { ReportHead } from "../../reports/page/report-data.js";
import { count } from "../../reports/text/format-number.js";
import type { AppContext } from "../use-case-context.js";
import { collectReport, resultsOf } from "./collect-report.js";
import { countTasks } from "./open-results.js";
import { type TracePlacement, TraceStore } from "./report-conversations.js";
import { type ReportRun, withReportRuns } from "./report-runs.js";
import { scoreMeanings } from "./score-meanings.js";
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
  return withReportRuns(names, context.settings, async (runs) => {
    const pieces = csvPieces(runs, scoreMeanings(runs));
    if (output === undefined) await write(pieces);
    else await writeFileAtomically(output, pieces);
    return { runs: runs.map(({ head }) => head.runId), tasks: countTasks(runs) };
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
  return withReportRuns(names, context.settings, async (runs) => {
    const { head } = await collect(runs, new TraceStore("none", undefined), context);
    const files = [[TASKS_FILE, csvPieces(runs, head.scores)] as const, ...csvSummaries(head)];
    await mkdir(folder, { recursive: true });
    for (const [name, pieces] of files) await writeFileAtomically(join(folder, name), pieces);
    return { runs: runs.map(({ head: { runId } }) => runId), files: files.map(([name]) => name) };
  });
}

/** The figures of these runs, without their tasks. */
export function readReport(names: readonly string[], context: AppContext): Promise<ReportHead> {
  return withReportRuns(names, context.settings, async (runs) => {
    const { head } = await collect(runs, new TraceStore("none", undefined), context);
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
  return withReportRuns(names, context.settings, async (runs) => {
    const traceStore = new TraceStore(placement, output);
    try {
      return await writePage(await collect(runs, traceStore, context), traceStore, output, write);
    } catch (error) {
      traceStore.discard();
      throw error;
    }
  });
}

function collect(
  runs: readonly ReportRun[],
  traceStore: TraceStore,
  { progress, signal }: AppContext,
): Promise<Report> {
  const bar = progress("Reporting");
  return collectReport(
    runs,
    {
      onTask: (done, total) => bar.update(done, total, `${count(done)} tasks`),
      onTrace: (key, view) => traceStore.wantsNone || traceStore.add(key, packedTrace(view())),
    },
    signal,
  ).finally(() => bar.stop());
}

function* csvPieces(runs: readonly ReportRun[], meanings: ReportHead["scores"]): Generator<string> {
  const ofSuites = runs.some(({ head }) => head.split === "suite");
  yield csvHead(meanings, ofSuites);
  for (const [{ head }, result] of resultsOf(runs)) {
    const { runId, agentId, model, name = null } = head;
    yield csvLine({ runId, agentId, model, runName: name }, result, meanings, ofSuites);
  }
}
