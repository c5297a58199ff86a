import { setImmediate } from "node:timers/promises";
import type { TaskResult, Slice as TotalsSlice } from "../../domain/runs/benchmark-result.js";
import { SLICES, type SliceName } from "../../domain/runs/slice.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { ComparableRun } from "../../domain/scores/comparison.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";
import { otherModels } from "../../models/middleware/watch-reply-model.js";
import type { Report } from "../../reports/html/html-report.js";
import { RunTally } from "../../reports/html/summarize-run.js";
import { TaskRows } from "../../reports/html/task-rows.js";
import { traceView } from "../../reports/html/trace-view.js";
import type { Figure, ReportHead, RunFigures, ScoreMeaning, Slice, TraceView } from "../../reports/page/report-data.js";
import { traceKey } from "../../reports/page/report-data.js";
import { runLabels } from "../../reports/text/run-label.js";
import { QuestionTally } from "../../run-analysis/comparable-run.js";
import { analyseSuite } from "../../run-analysis/suite/analyse-suite.js";
import { type AnalysedTask, analysedTask } from "../../run-analysis/suite/analysed-task.js";
import { programVersion } from "../settings/program-version.js";
import { compareReportRuns } from "./compare-report-runs.js";
import { EvalTally } from "./eval-figures.js";
import { countTasks } from "./open-results.js";
import type { ReportRun } from "./report-runs.js";
import { scoreMeanings } from "./score-meanings.js";

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

/**
 * Reads the figures of finished or stopped runs, task by task, with one trace in memory at a time, and compares each
 * run with the first. Where the conversations are is for the caller to say.
 */
export async function collectReport(
  runs: readonly ReportRun[],
  listener: ReportListener,
  signal: AbortSignal,
): Promise<Report> {
  const meanings = scoreMeanings(runs);
  const tasks = countTasks(runs);
  const leading = LEADING.find((name) => meanings.some((meaning) => meaning.name === name)) ?? "semanticScore";
  const rows = new TaskRows(meanings);
  const labels = runLabels(runs.map(({ head }) => head));
  const evals = new EvalTally(runs, meanings);
  const comparable: ComparableRun[] = [];
  const figures: RunFigures[] = [];
  let done = 0;
  for (const [index, run] of runs.entries()) {
    const tally = new RunTally(meanings, leading);
    const questions = new QuestionTally();
    const analysed: AnalysedTask[] = [];
    for (const [result, trace] of tasksOf(run)) {
      const toolCalls = trace?.toolCalls.length ?? null;
      tally.add(result, trace);
      rows.add(index, result, toolCalls);
      evals.add(index, result);
      if (runs.length > 1) questions.add(result);
      analysed.push(...[analysedTask(result, toolCalls)].filter((task) => task !== null));
      if (trace !== null && run.stored !== null) {
        const { mails } = run.stored;
        listener.onTrace(traceKey(index, result.taskId, result.epoch), () => traceView(trace, mails));
      }
      listener.onTask(++done, tasks);
      if (done % AT_ONCE === 0) await setImmediate();
      signal.throwIfAborted();
    }
    figures.push({
      ...describe(run, meanings, analysed),
      ...tally.figures(),
      label: labels[index] ?? run.head.runId,
    });
    comparable.push({ head: run.head, questions: questions.questions() });
  }
  const head: ReportHead = {
    version: programVersion(),
    createdAt: new Date().toISOString(),
    scores: meanings,
    leading,
    runs: figures,
    evals: evals.figures(),
    comparisons: compareReportRuns(comparable),
    traces: { kind: "none" },
  };
  return { head, tasks: rows.all() };
}

function* tasksOf({ stored, results }: ReportRun): Generator<readonly [TaskResult, Trace | null]> {
  if (stored !== null) yield* stored.traces();
  else for (const result of results()) yield [result, null];
}

/** The results of these runs one by one, each with its run. */
export function* resultsOf(runs: readonly ReportRun[]): Generator<readonly [ReportRun, TaskResult]> {
  for (const run of runs) for (const result of run.results()) yield [run, result];
}

function describe({ head, stored }: ReportRun, meanings: readonly ScoreMeaning[], analysed: readonly AnalysedTask[]) {
  const { usage, costUsd, retries, scores, slices, suite, answeredBy = {}, dataset } = head;
  const { runId, agentId, model, split, startedAt, corpusFingerprint, totalTasks } = head;
  const { status = "completed", plannedTasks = totalTasks } = head;
  return {
    hasConversations: stored !== null,
    name: head.name ?? null,
    ...{ runId, agentId, model, split, status, startedAt, corpusFingerprint, plannedTasks, costUsd, retries },
    answeredBy: otherModels(model, answeredBy).length === 0 ? [] : Object.keys(answeredBy),
    // Only the name of a file: its path may be private.
    dataset: dataset.revision === null ? (dataset.source.split(/[\\/]/).at(-1) ?? "") : dataset.source,
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
