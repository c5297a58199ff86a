import { setImmediate } from "node:timers/promises";
import { isEvalScore } from "../../domain/evals/score-names.js";
import type { TaskResult, Slice as TotalsSlice } from "../../domain/runs/benchmark-result.js";
import { SLICES, type SliceName } from "../../domain/runs/slice.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";
import { analyseSuite } from "../../evaluation/suite/analyse-suite.js";
import { type AnalysedTask, analysedTask } from "../../evaluation/suite/analysed-task.js";
import { otherModels } from "../../models/middleware/watch-reply-model.js";
import { RunTally } from "../../reports/html/summarize-run.js";
import { TaskRows } from "../../reports/html/task-rows.js";
import { type MailSource, traceView } from "../../reports/html/trace-view.js";
import type {
  EvalFigures,
  Figure,
  MailView,
  ReportTasks,
  RunFigures,
  ScoreMeaning,
  Slice,
  TraceView,
} from "../../reports/page/report-data.js";
import { traceKey } from "../../reports/page/report-data.js";
import { SCORES } from "../../scoring/scorers.js";
import type { Db } from "../../store/connection/open-store.js";
import { iterateResults } from "../../store/runs/results.js";
import type { RunRow } from "../../store/runs/runs.js";
import { openMailLookup } from "../../store/search/mail-lookup.js";
import { evalOfRun } from "../evals/evals-as-scorers.js";
import { computeRunTotals } from "./compute-run-totals.js";
import { evalFigures } from "./eval-figures.js";
import { resultsWithTraces } from "./results-with-traces.js";

/** Ctrl-C is checked every so many tasks. */
const AT_ONCE = 50;

/** The score shown first: the judge's where every run has one, else one that every run has. */
const LEADING = ["judgeScore", "semanticScore", "taskScore"];

export interface ReportListener {
  /** Called for every task with the number done and the total. */
  onTask(done: number, total: number): void;
  /** A conversation; `view` builds it on demand. */
  onTrace(key: string, view: () => TraceView): void;
}

export interface StoredReport {
  readonly meanings: readonly ScoreMeaning[];
  readonly leading: string;
  readonly runs: readonly RunFigures[];
  readonly evals: readonly EvalFigures[];
  readonly tasks: ReportTasks;
}

/** Reads the figures of finished or stopped runs, task by task, with one trace in memory at a time. */
export async function collectReport(
  db: Db,
  runs: readonly RunRow[],
  listener: ReportListener,
  signal: AbortSignal,
): Promise<StoredReport> {
  const { meanings, tasks } = scoreMeanings(db, runs);
  const leading = LEADING.find((name) => meanings.some((meaning) => meaning.name === name)) ?? "semanticScore";
  const rows = new TaskRows(meanings);
  const mails = mailSource(db);
  const labels = labelsOf(runs);
  const figures: RunFigures[] = [];
  let done = 0;
  for (const [index, run] of runs.entries()) {
    const tally = new RunTally(meanings, leading);
    const analysed: AnalysedTask[] = [];
    for (const [result, trace] of resultsWithTraces(db, run.id)) {
      tally.add(result, trace);
      rows.add(index, result, trace.toolCalls.length);
      analysed.push(...[analysedTask(result, trace.toolCalls.length)].filter((task) => task !== null));
      listener.onTrace(traceKey(index, result.taskId, result.epoch), () => traceView(trace, mails));
      listener.onTask(++done, tasks);
      if (done % AT_ONCE === 0) await setImmediate();
      signal.throwIfAborted();
    }
    figures.push({
      ...(await describe(db, run, meanings, analysed)),
      ...tally.figures(),
      label: labels[index] ?? run.id,
    });
  }
  return { meanings, leading, runs: figures, evals: evalFigures(db, runs, meanings), tasks: rows.all() };
}

/** The results of these runs one by one, each with its run. */
export function* storedResults(db: Db, runs: readonly RunRow[]): Generator<readonly [RunRow, TaskResult]> {
  for (const run of runs) for (const result of iterateResults(db, run.id)) yield [run, result];
}

/** The scores that any of the runs has, in table order; unknown ones, from other versions, at the end. */
export function scoreMeanings(db: Db, runs: readonly RunRow[]): { meanings: ScoreMeaning[]; tasks: number } {
  const scored = new Set<string>();
  let tasks = 0;
  for (const [, { scores }] of storedResults(db, runs)) {
    tasks++;
    for (const [name, value] of Object.entries(scores)) if (value !== null) scored.add(name);
  }
  const names = [
    ...Object.keys(SCORES).filter((name) => scored.has(name)),
    ...[...scored].filter((name) => !(name in SCORES)),
  ];
  const meanings = names.map((name): ScoreMeaning => {
    const { label, kind, better, meaning } = SCORES[name] ?? evalMeaning(db, runs, name) ?? UNKNOWN;
    return { name, label: label === "" ? name : label, kind, better, meaning };
  });
  return { meanings, tasks };
}

/** The criterion of the version that scored the first of the runs that has one; null: it is no eval. */
function evalMeaning(db: Db, runs: readonly RunRow[], name: string): typeof UNKNOWN | null {
  if (!isEvalScore(name)) return null;
  const [first = null] = runs.map((run) => evalOfRun(db, name, run)).filter((stored) => stored !== null);
  return { ...UNKNOWN, kind: "rate", meaning: first?.definition.criterion ?? "An eval that is not in this database." };
}

const UNKNOWN: Omit<ScoreMeaning, "name"> = {
  label: "",
  kind: "mean",
  better: "higher",
  meaning: "Not a score of this version of art-e.",
};

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

async function describe(db: Db, run: RunRow, meanings: readonly ScoreMeaning[], analysed: readonly AnalysedTask[]) {
  const { usage, costUsd, retries, scores, slices, suite, answeredBy = {} } = await computeRunTotals(db, run);
  const { id: runId, agentId, model, split, status, startedAt, corpusFingerprint, totalTasks: plannedTasks } = run;
  return {
    ...{ runId, agentId, model, split, status, startedAt, corpusFingerprint, plannedTasks, costUsd, retries },
    answeredBy: otherModels(model, answeredBy).length === 0 ? [] : Object.keys(answeredBy),
    // Only the name of a file: its path may be private.
    dataset: run.dataset.revision === null ? (run.dataset.source.split(/[\\/]/).at(-1) ?? "") : run.dataset.source,
    scores: Object.fromEntries(meanings.map(({ name }) => [name, figureOf(scores[name])])),
    slices: Object.fromEntries(
      SLICES.flatMap((slice) => {
        const parts = slicesOf(slices[slice] ?? [], meanings);
        if (parts.length === 0) return [];
        return [[slice, BY_TASKS.has(slice) ? parts.sort((a, b) => b.tasks - a.tasks) : parts]];
      }),
    ),
    suite: suite === undefined ? null : { ...suite, ...analyseSuite(analysed) },
    tokens: { input: usage.inputTokens, cached: usage.cachedInputTokens, output: usage.outputTokens },
  };
}

/** Slices with many parts: those with the most tasks come first. */
const BY_TASKS: ReadonlySet<SliceName> = new Set(["inbox", "tool", "app", "tag"]);

function slicesOf(parts: readonly TotalsSlice[], meanings: readonly ScoreMeaning[]): Slice[] {
  return parts.map(({ value, tasks, scores }) => ({
    label: value,
    tasks,
    scores: Object.fromEntries(meanings.map(({ name }) => [name, figureOf(scores[name])])),
  }));
}

/** Without the method of the interval, which the page does not show. */
function figureOf(estimate: Estimate | undefined): Figure {
  const { value = null, n = 0, low = null, high = null } = estimate ?? {};
  return { value, n, low, high };
}

/** Labels of runs: agent and model, with the end of the id where these are equal. */
function labelsOf(runs: readonly RunRow[]): string[] {
  const labels = runs.map(({ agentId, model }) => `${agentId} · ${model}`);
  return labels.map((label, i) =>
    labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} · ${runs[i]?.id.slice(-6)}`,
  );
}
