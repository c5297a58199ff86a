// Collects the data of a report from runs, one trace at a time.
import { setImmediate } from "node:timers/promises";
import type { z } from "zod";
import { type AnalysedTask, analysedTask, analyseSuite } from "../analysis/analyse-suite.js";
import {
  type ComparableRun,
  compareRuns,
  pairOutcomes,
  QuestionTally,
  type RunHead,
  runFileSchema,
  runHeadSchema,
  sharedScores,
} from "../analysis/paired-comparison.js";
import { withSequentialFigures } from "../analysis/sequential-comparison.js";
import { isEvalScore, isValidatedScore, type ValidatedScore } from "../evals/definition.js";
import { type MeasuredErrors, measuredErrors, PassTally } from "../evals/pass-rates.js";
import { type DescribedEval, describedEvalOfRun } from "../evals/use-evals.js";
import { agentOfRun, otherAgents } from "../evals/validated-agents.js";
import { openMailLookup } from "../mail/mail-lookup.js";
import { otherModels } from "../models/answering-model.js";
import type { AppSettings } from "../platform/app-context.js";
import { yieldBetween } from "../platform/batches.js";
import { programVersion } from "../platform/program-files.js";
import { otherAgentsText } from "../reports/eval-text.js";
import { runLabels } from "../reports/figure-text.js";
import {
  type EvalFigures,
  type Figure,
  type Report,
  type ReportComparison,
  type ReportHead,
  type Slice as ReportSlice,
  type RunFigures,
  type ScoreMeaning,
  type TraceView,
  traceKey,
} from "../reports/report-data.js";
import { RunTally, TaskRows, ToolUseTally } from "../reports/report-figures.js";
import { type MailSource, traceView } from "../reports/trace-view.js";
import { SCORES } from "../scoring/scorers.js";
import type { Estimate } from "../statistics/estimate.js";
import { type Db, withStore } from "../store/open-store.js";
import { truncated } from "../text/format.js";
import { headlineFirst, headlineScorer } from "../traces/headline-score.js";
import { knownToolCalls } from "../traces/observed-work.js";
import { perturbationOf } from "../traces/run-settings.js";
import { benchmarkResultSchema, mostTries, type ScoreFigures, type Slice } from "../traces/run-totals.js";
import { getRun, type RunRow } from "../traces/runs-store.js";
import type { TaskResult } from "../traces/task-result.js";
import { SLICES, type SliceName } from "../traces/task-slices.js";
import type { Trace } from "../traces/trace.js";
import { claimOf } from "./claim-text.js";
import { ReportReliability } from "./reliability-of-run.js";
import {
  computeRunTotals,
  countTasks,
  fromFile,
  type RunSource,
  RunSources,
  refuseTwice,
  resultsWithTraces,
  storedSource,
} from "./results-file.js";

/** Number of tasks between checks for Ctrl-C. */
const AT_ONCE = 50;

interface ReportListener {
  onTask(done: number, total: number): void;
  onTrace(key: string, view: () => TraceView): void;
}

/**
 * Reads the figures of finished or stopped runs task by task, with one trace in memory at a time, and compares each run
 * with the first. The caller decides where to put the conversations.
 */
export async function collectReport(
  runs: readonly ReportRun[],
  listener: ReportListener,
  signal: AbortSignal,
): Promise<Report> {
  const meanings = scoreMeanings(runs);
  const tasks = countTasks(runs);
  const leading = headlineScorer(...runs.map(({ head }) => head.scores)) ?? "semanticScore";
  const rows = new TaskRows(meanings);
  const labels = runLabels(runs.map(({ head }) => head));
  const evals = new EvalTally(runs, meanings);
  const comparable: ComparableRun[] = [];
  const reliability = new ReportReliability(runs.map(({ head }) => head));
  const figures: RunFigures[] = [];
  let done = 0;
  for (const [index, run] of runs.entries()) {
    const tally = new RunTally(meanings, leading);
    const questions = new QuestionTally();
    const analysed: AnalysedTask[] = [];
    for (const [result, trace] of tasksOf(run)) {
      const toolCalls = trace === null ? null : knownToolCalls(trace);
      tally.add(result, trace);
      rows.add(index, result, toolCalls);
      evals.add(index, result);
      reliability.add(index, result, trace);
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
    comparable.push({ head: run.head, questions: questions.questions(run.head.scores) });
  }
  const head: ReportHead = {
    version: programVersion(),
    createdAt: new Date().toISOString(),
    scores: meanings,
    leading,
    runs: figures,
    evals: evals.figures(),
    comparisons: compareReportRuns(comparable),
    reliability: reliability.cards(),
    traces: { kind: "none" },
  };
  return { head, tasks: rows.all() };
}

function* tasksOf({ stored, results }: ReportRun): Generator<readonly [TaskResult, Trace | null]> {
  if (stored !== null) yield* stored.traces();
  else for (const result of results()) yield [result, null];
}

function describe({ head, stored }: ReportRun, meanings: readonly ScoreMeaning[], analysed: readonly AnalysedTask[]) {
  const { usage, costUsd, judgeCostUsd, totalCostUsd, retries, scores, slices, suite, answeredBy = {}, dataset } = head;
  const { runId, agentId, model, split, startedAt, corpusFingerprint, totalTasks } = head;
  const { status = "completed", plannedTasks = totalTasks } = head;
  return {
    hasConversations: stored !== null,
    name: head.name ?? null,
    runId,
    agentId,
    perturbation: perturbationOf(head.settings),
    model,
    split,
    status,
    startedAt,
    corpusFingerprint,
    changes: changesOf({ ...head.settings }),
    until: claimOf({ ...head.settings }),
    plannedTasks,
    costUsd,
    judgeCostUsd,
    totalCostUsd,
    retries,
    answeredBy: otherModels(model, answeredBy).length === 0 ? [] : Object.keys(answeredBy),
    // Only the file name, because the path might be private.
    dataset: dataset.revision === null ? (dataset.source.split(/[\\/]/).at(-1) ?? "") : dataset.source,
    scores: Object.fromEntries(meanings.map(({ name }) => [name, scoreFigureOf(scores[name])])),
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

/** Returns the recorded changes of settings that can come from a results file. */
function changesOf({ changes }: Readonly<Record<string, unknown>>): string[] {
  return Array.isArray(changes) ? changes.filter((change) => typeof change === "string") : [];
}

/** Slices with many parts, sorted by number of tasks in descending order. */
const BY_TASKS: ReadonlySet<SliceName> = new Set(["inbox", "tool", "app", "tag"]);

function slicesOf(parts: readonly Slice[], meanings: readonly ScoreMeaning[]): ReportSlice[] {
  return parts.map(({ value, tasks, scores }) => ({
    label: value,
    tasks,
    scores: Object.fromEntries(meanings.map(({ name }) => [name, figureOf(scores[name])])),
  }));
}

function scoreFigureOf(score: ScoreFigures | undefined): RunFigures["scores"][string] {
  const repeat = mostTries(score?.repeats ?? []);
  return {
    ...figureOf(score),
    overAll: figureOf(score?.overAll),
    ...(repeat === null ? {} : { passHatK: { k: repeat.k, ...figureOf(repeat.passHatK) } }),
  };
}

/** Omits the interval's method, which the page does not show. */
function figureOf(estimate: Estimate | undefined): Figure {
  const { value = null, n = 0, low = null, high = null } = estimate ?? {};
  return { value, n, low, high };
}

export function analyseRun(name: string, settings: AppSettings) {
  return withStore(settings, async (db) => {
    const run = getRun(db, name);
    const totals = await computeRunTotals(db, run);
    if (totals.suite === undefined) return { totals, analysis: null };
    const tools = new ToolUseTally();
    const tasks: AnalysedTask[] = [];
    for await (const [result, trace] of yieldBetween(resultsWithTraces(db, run.id))) {
      tools.add(trace);
      tasks.push(...[analysedTask(result, knownToolCalls(trace))].filter((task) => task !== null));
    }
    return { totals, analysis: { ...analyseSuite(tasks), tools: tools.all() } };
  });
}

/** Returns the scores of any task in these runs: known scores in table order, followed by others. */
export function scoredNames(heads: readonly Pick<RunHead, "scores">[]): string[] {
  const scored = heads.flatMap(({ scores }) =>
    Object.entries(scores).flatMap(([name, { n }]) => (n > 0 ? [name] : [])),
  );
  const known = Object.keys(SCORES).filter((name) => scored.includes(name));
  return [...new Set([...known, ...scored])];
}

export function scoreMeanings(runs: readonly ReportRun[]): ScoreMeaning[] {
  return scoredNames(runs.map(({ head }) => head)).map((name) => {
    const { label, kind, better, meaning } = SCORES[name] ?? evalMeaning(runs, name) ?? UNKNOWN;
    return { name, label: label === "" ? name : label, kind, better, meaning };
  });
}

/**
 * Returns the criterion of the eval version that scored the first run with this eval, or null if the score is not an
 * eval.
 */
function evalMeaning(runs: readonly ReportRun[], name: string): typeof UNKNOWN | null {
  if (!isEvalScore(name)) return null;
  const [first] = runs.flatMap(({ stored }) => stored?.evalOf(name) ?? []);
  return {
    ...UNKNOWN,
    kind: "rate",
    meaning: first?.stored.definition.criterion ?? "An eval that is not in this database.",
  };
}

const UNKNOWN: Omit<ScoreMeaning, "name"> = {
  label: "",
  kind: "mean",
  better: "higher",
  meaning: "Not a score of this version of art-e.",
};

class EvalTally {
  private readonly scores: readonly ValidatedScore[];
  private readonly byRun: readonly ReadonlyMap<ValidatedScore, PassTally>[];

  constructor(
    private readonly runs: readonly ReportRun[],
    meanings: readonly ScoreMeaning[],
  ) {
    const scores = meanings
      .map(({ name }) => name)
      .filter(isValidatedScore)
      .filter((score) => isEvalScore(score) || runs.some(({ stored }) => stored?.evalOf(score) != null))
      .sort();
    this.scores = scores;
    this.byRun = runs.map(() => new Map(scores.map((score) => [score, new PassTally()])));
  }

  add(run: number, { taskId, traceId, scores }: TaskResult): void {
    for (const [score, passes] of this.byRun[run] ?? []) {
      const value = scores[score] ?? null;
      if (value !== null) passes.add(taskId, value, traceId);
    }
  }

  figures(): EvalFigures[] {
    const figures = this.scores.flatMap((score) => this.runs.map((_, run) => this.figuresOf(score, run)));
    return figures.filter(({ passRate }) => passRate.n > 0);
  }

  private figuresOf(score: ValidatedScore, run: number): EvalFigures {
    const storedEval = this.runs[run]?.stored?.evalOf(score) ?? null;
    const errors = this.runs[run]?.stored?.errorsOf(storedEval) ?? null;
    const test = errors === null ? null : (storedEval?.test?.report ?? null);
    const passes = this.byRun[run]?.get(score) ?? new PassTally();
    const { passRate, corrected, falseFailureRate, labelsOfRun } = passes.figures(
      errors?.agreement ?? null,
      errors?.labels ?? new Map(),
    );
    const head = this.runs[run]?.head;
    const isMeasuredHere = test === null || head === undefined || labelsOfRun > 0;
    const others = isMeasuredHere ? null : otherAgents(test, [agentOfRun(head)], head.runId);
    return {
      score,
      run,
      name: storedEval?.stored.definition.name ?? score.replace(/^eval:/, ""),
      version: storedEval?.stored.definition.version ?? null,
      reference: storedEval?.stored.definition.reference ?? false,
      passRate: figureOf(passRate),
      corrected: corrected && figureOf(corrected),
      falseFailureRate: falseFailureRate && figureOf(falseFailureRate),
      test: test && {
        good: test.agreement.good,
        bad: test.agreement.bad,
        thresholds: test.thresholds,
        passed: test.rejections.length === 0,
      },
      otherAgents: others && {
        text: otherAgentsText(others),
        advice: `Label ${others.label.count} of its traces`,
        command: others.label.command,
      },
    };
  }
}

const reported = benchmarkResultSchema
  .pick({ startedAt: true, usage: true, retries: true, answeredBy: true, slices: true })
  .strip().shape;

const reportedHeadSchema = runHeadSchema.extend(reported);
const reportedFileSchema = runFileSchema.extend(reported);

/** A run in a report: from the database, with traces and mail, or from a results file, without them. */
export interface ReportRun extends Omit<RunSource<z.output<typeof reportedHeadSchema>>, "traces"> {
  /** Traces, mail and evals of a stored run, or null for a results file. One trace is in memory at a time. */
  readonly stored: {
    traces(): Iterable<readonly [TaskResult, Trace]>;
    readonly mails: MailSource;
    /** Returns the eval version that produced the run's scores, or null if it is not in the database. */
    evalOf(score: ValidatedScore): DescribedEval | null;
    errorsOf(described: DescribedEval | null): MeasuredErrors | null;
  } | null;
}

export async function withReportRuns<T>(
  names: readonly string[],
  { db }: AppSettings,
  use: (runs: readonly ReportRun[]) => Promise<T>,
): Promise<T> {
  const sources = new RunSources(db);
  try {
    const runs: ReportRun[] = [];
    for (const name of names) {
      const source = sources.find(name);
      runs.push(source.kind === "file" ? fileRun(source.path) : await storedRun(source.db, source.run));
    }
    refuseTwice(runs);
    return await use(runs);
  } finally {
    sources.close();
  }
}

export async function storedRun(db: Db, run: RunRow): Promise<ReportRun> {
  const { head, results } = storedSource(db, run, await computeRunTotals(db, run), reportedHeadSchema);
  return {
    head,
    results,
    stored: {
      traces: () => resultsWithTraces(db, run.id),
      mails: mailSource(db),
      evalOf: (score) => describedEvalOfRun(db, score, run),
      errorsOf: (described) => measuredErrors(db, described),
    },
  };
}

/** Returns a stored trace in the form that reports show. */
export function storedTraceView(db: Db, trace: Trace): TraceView {
  return traceView(trace, mailSource(db));
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

/** Compares each run in a report with the first. Incomparable runs have reasons instead of figures. */
function compareReportRuns(runs: readonly ComparableRun[]): ReportComparison[] {
  const [baseline, ...candidates] = runs;
  if (baseline === undefined) return [];
  return candidates.map((candidate, i) => toComparison(baseline, candidate, i + 1));
}

function toComparison(baseline: ComparableRun, candidate: ComparableRun, index: number): ReportComparison {
  const shared = sharedScores(baseline.head, candidate.head);
  const scorers = headlineFirst(shared);
  const compared = compareRuns(baseline, candidate, scorers, 0);
  const isSequential = [baseline, candidate].some(({ head }) => head.settings.until !== undefined);
  const [comparison = compared] = isSequential ? withSequentialFigures([compared], baseline, [candidate]) : [];
  const { questions, clusters, ungraded, incomparable, settings, metrics, onlyIn } = comparison;
  const isComparable = incomparable.length === 0 && questions.common > 0;
  const scores = isComparable ? metrics.filter(({ metric }) => scorers.includes(metric)) : [];
  return {
    candidate: index,
    questions,
    clusters,
    ungraded,
    incomparable,
    settings: settings.map((name) => ({
      name,
      baseline: settingText(baseline.head.settings[name]),
      candidate: settingText(candidate.head.settings[name]),
    })),
    headline: isComparable ? (headlineScorer(shared) ?? scores[0]?.metric ?? null) : null,
    metrics: isComparable ? metrics : [],
    onlyIn,
    outcomes: Object.fromEntries(scores.map((each) => [each.metric, pairOutcomes(each, baseline, candidate)])),
  };
}

/** Maximum characters of a setting's value. Prompts and tool definitions are longer. */
const MAX_SETTING = 120;

function settingText(value: unknown): string {
  return truncated(typeof value === "string" ? value : (JSON.stringify(value) ?? "not set"), MAX_SETTING);
}
