import { UserError } from "../../domain/errors.js";
import { benchmarkResultSchema, type TaskResult } from "../../domain/runs/benchmark-result.js";
import type { Trace } from "../../domain/runs/trace.js";
import { runFileSchema, runHeadSchema } from "../../domain/scores/comparison.js";
import type { MailSource } from "../../reports/html/trace-view.js";
import type { Db } from "../../store/connection/open-store.js";
import { iterateResults } from "../../store/runs/results.js";
import type { RunRow } from "../../store/runs/runs.js";
import { openMailLookup } from "../../store/search/mail-lookup.js";
import type { AppSettings } from "../use-case-context.js";
import { computeRunTotals } from "./compute-run-totals.js";
import { RunSources, readRunFile } from "./open-results.js";
import { resultsWithTraces } from "./results-with-traces.js";

const reported = benchmarkResultSchema
  .pick({ startedAt: true, usage: true, retries: true, answeredBy: true, slices: true })
  .strip().shape;

const reportedHeadSchema = runHeadSchema.extend(reported);
const reportedFileSchema = runFileSchema.extend(reported);

/** A run of a report: of the database, with traces and mail, or of a results file, without. */
export interface ReportRun {
  readonly head: ReturnType<typeof reportedHeadSchema.parse>;
  /** In the order of task ids and epochs. Can be iterated again. */
  results(): Iterable<TaskResult>;
  /** Null: of a results file. One trace is in memory at a time. */
  readonly stored: { traces(): Iterable<readonly [TaskResult, Trace]>; readonly mails: MailSource } | null;
}

/** Opens runs by their names, which may be results files, for the length of `use`. */
export async function withReportRuns<T>(
  names: readonly string[],
  { db }: AppSettings,
  use: (runs: readonly ReportRun[]) => Promise<T>,
): Promise<T> {
  const sources = new RunSources(db);
  try {
    const runs: ReportRun[] = [];
    for (const name of names) {
      const found = sources.find(name);
      runs.push(found.kind === "file" ? fileRun(found.path) : await storedRun(found.db, found.run));
    }
    refuseTwice(runs);
    return await use(runs);
  } finally {
    sources.close();
  }
}

/** A run of the database. */
export async function storedRun(db: Db, run: RunRow): Promise<ReportRun> {
  const { settings, dataset, corpusFingerprint } = run;
  const totals = await computeRunTotals(db, run);
  return {
    head: reportedHeadSchema.parse({ ...totals, settings, dataset, corpusFingerprint }),
    results: () => iterateResults(db, run.id),
    stored: { traces: () => resultsWithTraces(db, run.id), mails: mailSource(db) },
  };
}

function fileRun(path: string): ReportRun {
  const { taskResults, ...head } = readRunFile(path, reportedFileSchema);
  return { head, results: () => taskResults, stored: null };
}

function mailSource(db: Db): MailSource {
  const mails = openMailLookup(db);
  return {
    sameMail: mails.canonicalId,
    mailOf(id) {
      const mail = mails.get(id);
      if (mail === null) return null;
      const { messageId, subject, sender, date, body, to, cc, bcc } = mail;
      return { messageId, subject, sender, date, body, recipients: [...to, ...cc, ...bcc] };
    },
  };
}

function refuseTwice(runs: readonly ReportRun[]): void {
  const ids = runs.map(({ head }) => head.runId);
  const twice = ids.find((id, i) => ids.indexOf(id) < i);
  if (twice === undefined) return;
  throw new UserError("flags_contradict", `The run ${twice} is named twice.`, "Name each run once.");
}
