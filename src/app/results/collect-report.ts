import { setImmediate } from "node:timers/promises";
import type { TaskResult, Slice as TotalsSlice } from "../../domain/runs/benchmark-result.js";
import type { Estimate } from "../../domain/scores/estimate.js";
import type { ScorerEntry } from "../../domain/scores/score.js";
import { otherModels } from "../../models/answering-model.js";
import { RunTally } from "../../reports/html/run-figures.js";
import { TaskRows } from "../../reports/html/task-rows.js";
import { type MailSource, traceView } from "../../reports/html/trace-view.js";
import type {
  Figure,
  MailView,
  ReportTasks,
  RunFigures,
  ScoreMeaning,
  Slice,
  TraceView,
} from "../../reports/page/data.js";
import { traceKey } from "../../reports/page/data.js";
import { SCORERS } from "../../scoring/scorers.js";
import type { Db } from "../../store/connection/open-store.js";
import { iterateResults } from "../../store/runs/results.js";
import type { RunRow } from "../../store/runs/runs.js";
import { iterateTraces } from "../../store/runs/traces.js";
import { openMailLookup } from "../../store/search/mail-lookup.js";
import { aggregateRun } from "./aggregate-run.js";

/** Tasks between two looks at Ctrl-C. */
const AT_ONCE = 50;

/** A run's own verdicts lead where there are any; else the score that every run has. */
const LEADING = ["judgeScore", "semanticScore"];

export interface ReportListener {
  /** One task further, and how many there are in all. */
  onTask(done: number, total: number): void;
  /** A conversation, made when it is asked for. */
  onTrace(key: string, view: () => TraceView): void;
}

export interface StoredReport {
  readonly meanings: readonly ScoreMeaning[];
  readonly leading: string;
  readonly runs: readonly RunFigures[];
  readonly tasks: ReportTasks;
}

/** Takes the figures of finished or stopped runs from the file, task by task; no more than one trace is held at a time. */
export async function collectReport(
  db: Db,
  runs: readonly RunRow[],
  listener: ReportListener,
  signal: AbortSignal,
): Promise<StoredReport> {
  const { meanings, tasks } = scoreMeanings(db, runs);
  const leading = LEADING.find((name) => meanings.some((meaning) => meaning.name === name)) ?? LEADING.at(-1) ?? "";
  const rows = new TaskRows(meanings);
  const mails = mailSource(db);
  const labels = labelsOf(runs);
  const figures: RunFigures[] = [];
  let done = 0;
  for (const [index, run] of runs.entries()) {
    const tally = new RunTally(meanings, leading);
    const traces = iterateTraces(db, { runId: run.id, band: null, minScore: null, maxScore: null, failedOnly: false });
    try {
      for (const result of iterateResults(db, run.id)) {
        // Both stand in the order of the tasks and their repeats, one trace a result.
        const { value: trace } = traces.next();
        if (trace === undefined) break;
        tally.add(result, trace);
        rows.add(index, result);
        listener.onTrace(traceKey(index, result.taskId, result.epoch), () => traceView(trace, mails));
        listener.onTask(++done, tasks);
        if (done % AT_ONCE === 0) await setImmediate();
        signal.throwIfAborted();
      }
    } finally {
      // A file that is still being read cannot be closed.
      traces.return(undefined);
    }
    figures.push({ ...(await describe(db, run, meanings)), ...tally.figures(), label: labels[index] ?? run.id });
  }
  return { meanings, leading, runs: figures, tasks: rows.all() };
}

/** The results of some runs, one at a time, each with its run. */
export function* storedResults(db: Db, runs: readonly RunRow[]): Generator<readonly [RunRow, TaskResult]> {
  for (const run of runs) for (const result of iterateResults(db, run.id)) yield [run, result];
}

/** The scores that any of the runs has, in the order of their table; those of other versions of art-e after them. */
export function scoreMeanings(db: Db, runs: readonly RunRow[]): { meanings: ScoreMeaning[]; tasks: number } {
  const known: Readonly<Record<string, ScorerEntry>> = SCORERS;
  const scored = new Set<string>();
  let tasks = 0;
  for (const [, { scores }] of storedResults(db, runs)) {
    tasks++;
    for (const [name, value] of Object.entries(scores)) if (value !== null) scored.add(name);
  }
  const names = [
    ...Object.keys(known).filter((name) => scored.has(name)),
    ...[...scored].filter((name) => !(name in known)),
  ];
  const meanings = names.map((name): ScoreMeaning => {
    const { label, kind, better, meaning } = known[name] ?? UNKNOWN;
    return { name, label: label === "" ? name : label, kind, better, meaning };
  });
  return { meanings, tasks };
}

const UNKNOWN = {
  label: "",
  kind: "mean",
  better: "higher",
  meaning: "Not a score of this version of art-e.",
} as const;

function mailSource(db: Db): MailSource {
  const mails = openMailLookup(db);
  return {
    sameMail: mails.canonicalId,
    mailOf(id): MailView | null {
      const mail = mails.get(id);
      if (mail === null) return null;
      const { messageId, subject, sender, date, body, to, cc, bcc } = mail;
      return { messageId, subject, sender, date, body, recipients: [...to, ...cc, ...bcc] };
    },
  };
}

async function describe(db: Db, run: RunRow, meanings: readonly ScoreMeaning[]) {
  const { usage, costUsd, retries, scores, slices, answeredBy = {} } = await aggregateRun(db, run);
  const { id: runId, agentId, model, split, status, startedAt, corpusFingerprint, totalTasks: plannedTasks } = run;
  return {
    ...{ runId, agentId, model, split, status, startedAt, corpusFingerprint, plannedTasks, costUsd, retries },
    answeredBy: otherModels(model, answeredBy).length === 0 ? [] : Object.keys(answeredBy),
    // Of a file the name: where it lay is nobody else's business.
    dataset: run.dataset.revision === null ? (run.dataset.source.split(/[\\/]/).at(-1) ?? "") : run.dataset.source,
    scores: Object.fromEntries(meanings.map(({ name }) => [name, figureOf(scores[name])])),
    slices: {
      inbox: slicesOf(slices.inbox, meanings).sort((a, b) => b.tasks - a.tasks),
      realism: slicesOf(slices.realism, meanings),
      sources: slicesOf(slices.sources, meanings),
      year: slicesOf(slices.year, meanings),
    },
    tokens: { input: usage.inputTokens, cached: usage.cachedInputTokens, output: usage.outputTokens },
  };
}

function slicesOf(parts: readonly TotalsSlice[], meanings: readonly ScoreMeaning[]): Slice[] {
  return parts.map(({ value, tasks, scores }) => ({
    label: value,
    tasks,
    scores: Object.fromEntries(meanings.map(({ name }) => [name, figureOf(scores[name])])),
  }));
}

/** The page is told the figure, not how its interval was made. */
function figureOf(estimate: Estimate | undefined): Figure {
  const { value = null, n = 0, low = null, high = null } = estimate ?? {};
  return { value, n, low, high };
}

/** What runs are of tells them apart, and where it does not, the end of their ids. */
function labelsOf(runs: readonly RunRow[]): string[] {
  const labels = runs.map(({ agentId, model }) => `${agentId} · ${model}`);
  return labels.map((label, i) =>
    labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} · ${runs[i]?.id.slice(-6)}`,
  );
}
