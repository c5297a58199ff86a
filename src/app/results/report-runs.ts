import type { z } from "zod";
import type { EvalScore } from "../../domain/evals/score-names.js";
import { benchmarkResultSchema, type TaskResult } from "../../domain/runs/benchmark-result.js";
import type { Trace } from "../../domain/runs/trace.js";
import { runFileSchema, runHeadSchema } from "../../domain/scores/comparison.js";
import type { MailSource } from "../../reports/html/trace-view.js";
import type { Db } from "../../store/connection/open-store.js";
import type { RunRow } from "../../store/runs/runs.js";
import { openMailLookup } from "../../store/search/mail-lookup.js";
import { describedEvalOfRun } from "../evals/evals-as-scorers.js";
import type { DescribedEval } from "../evals/manage-evals.js";
import type { AppSettings } from "../use-case-context.js";
import { computeRunTotals } from "./compute-run-totals.js";
import { fromFile, type RunSource, RunSources, refuseTwice, storedSource } from "./open-results.js";
import { resultsWithTraces } from "./results-with-traces.js";

const reported = benchmarkResultSchema
  .pick({ startedAt: true, usage: true, retries: true, answeredBy: true, slices: true })
  .strip().shape;

const reportedHeadSchema = runHeadSchema.extend(reported);
const reportedFileSchema = runFileSchema.extend(reported);

/** A run of a report: of the database, with traces and mail, or of a results file, without. */
export interface ReportRun extends Omit<RunSource<z.output<typeof reportedHeadSchema>>, "traces"> {
  /** Null: of a results file. One trace is in memory at a time. */
  readonly stored: {
    traces(): Iterable<readonly [TaskResult, Trace]>;
    readonly mails: MailSource;
    /** The version of an eval that gave its scores; null: it is not in the database. */
    evalOf(score: EvalScore): DescribedEval | null;
  } | null;
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
  const { head, results } = storedSource(db, run, await computeRunTotals(db, run), reportedHeadSchema);
  return {
    head,
    results,
    stored: {
      traces: () => resultsWithTraces(db, run.id),
      mails: mailSource(db),
      evalOf: (score) => describedEvalOfRun(db, score, run),
    },
  };
}

function fileRun(path: string): ReportRun {
  const { head, results } = fromFile(path, reportedFileSchema);
  return { head, results, stored: null };
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
