// Scores traces: with scorers, judge and evals, once answered or again from the database.
import pLimit from "p-limit";
import { type EvalDefinition, isEvalScore, scoreNameOf, toScore } from "../evals/definition.js";
import type { EvalOutcome } from "../evals/eval-outcome.js";
import { evalsAmong, pinEvals, type ScoringEvals, withJudgeOfEval } from "../evals/scoring-evals.js";
import type { TaskCalls } from "../models/call-budget.js";
import { hasKey } from "../models/connections.js";
import { type ModelName, parseModelName } from "../models/model-names.js";
import { type AppContext, Interrupted } from "../platform/app-context.js";
import type { Environment } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { computeRunTotals, saveResults } from "../results/results-file.js";
import { storeRunFigures } from "../results/run-summaries.js";
import { type FunctionScorer, isFunctionScore } from "../scoring/function-scorers.js";
import { isJudgedBy } from "../scoring/judge.js";
import {
  anyCheapModel,
  asksJudge,
  cheapModel,
  createJudge,
  isJudgeOff,
  JUDGE_CONCURRENCY,
  JUDGE_TIMEOUT_MS,
  type JudgeOptions,
  judgeExtras,
  judgeSettings,
} from "../scoring/judge-settings.js";
import type { SameMail } from "../scoring/scorer-entry.js";
import { isScorerName, REWARD, type ScorerName, scoreTrace } from "../scoring/scorers.js";
import { matchSelection } from "../scoring/selection-match.js";
import { type Db, withStore } from "../store/open-store.js";
import { canBeRetried } from "../tasks/ending.js";
import type { TaskEpoch } from "../tasks/epoch-key.js";
import { askedFor, questionOf } from "../tasks/question.js";
import { taskKindOf } from "../tasks/task-kind.js";
import { count, counted } from "../text/format.js";
import { type Mailbox, openMailbox } from "../tools/mailbox.js";
import type { Judge, JudgeSettings } from "../traces/judgment.js";
import { openScoreWriter, releaseRun, saveScoringSettings, tracesAfter } from "../traces/results-store.js";
import { acquireRunLock, type RunOwner, thisProcess } from "../traces/run-lock.js";
import type { RunSettings } from "../traces/run-settings.js";
import { getRun, type RunRow } from "../traces/runs-store.js";
import type { Trace } from "../traces/trace.js";
import type { ScorerChoice } from "./run-flags.js";
import { chosenScorers, recordedScorers, refuseUnusedJudge, wantsJudge } from "./run-options.js";

interface ScoreOptions extends JudgeOptions {
  readonly run: string;
  readonly scorers?: readonly ScorerChoice[] | undefined;
  readonly output?: string | undefined;
}

interface ScoredRun {
  readonly scored: number;
  readonly stopped: boolean;
}

interface ScoreRunRequest {
  readonly scoring: Scoring;
  readonly scorers: readonly string[];
  readonly worker: RunOwner;
  readonly onProgress: (scored: number) => void;
}

export interface Scoring {
  readonly sameMail: SameMail;
  readonly scorers: readonly ScorerName[];
  readonly evals: ScoringEvals;
  /** Scorers of the calling program. */
  readonly functions: readonly FunctionScorer[];
  /** The judge to call, or null. Verdicts that traces already have still count without a judge. */
  readonly judge: Judge | null;
}

/** Scores the stored traces of a run again, without calling its agent. */
export function scoreStoredRun(requestedOptions: ScoreOptions, context: AppContext) {
  const { settings, note, signal } = context;
  return withStore(settings, async (db) => {
    const options = withJudgeOfEval(db, requestedOptions);
    const run = getRun(db, options.run);
    const judgeSetting = judgeOf(run, options, settings.env);
    const scorerNames = scorersOf(run, options, judgeSetting !== null || run.settings.judge !== null);
    const paid = run.settings.kind === "training" ? [REWARD] : [];
    // Only the program that ran it has its functions. Their scores stay.
    const functions = run.settings.scorers.filter(isFunctionScore);
    const scorers = await pinEvals(db, [...recordedScorers(run.split, scorerNames), ...paid, ...functions], settings);
    const connection = { timeoutMs: JUDGE_TIMEOUT_MS, throttle: null, note, commandExtras: judgeExtras(options) };
    const judge = judgeSetting === null ? null : await createJudge(judgeSetting, settings, connection);
    const mailbox = openMailbox(db);
    const bar = context.progress("Scoring");
    const request = {
      scorers,
      scoring: scoringOf(scorers, mailbox, {
        evals: evalsAmong(db, scorers, settings),
        judge: judge?.judge ?? null,
      }),
      worker: thisProcess,
      onProgress: (scored: number) => bar.update(scored, run.totalTasks, `${count(scored)} scored`),
    };
    const { scored, stopped } = await scoreRun(db, run, request, signal).finally(() => bar.stop());
    if (stopped) {
      throw new Interrupted(
        `scoring of ${run.id} stopped after ${counted(scored, "task")}. Continue with the same command.`,
      );
    }
    const totals = await computeRunTotals(db, getRun(db, run.id));
    if (options.output !== undefined) await saveResults(db, options.output, totals);
    return { totals, shortfall: judge?.shortfall() ?? null };
  });
}

/**
 * Returns the requested scorers. Suite tasks have the scores of their evaluation functions, and their answers are
 * scored only if they have gold answers.
 */
function scorersOf(run: RunRow, options: ScoreOptions, hasVerdicts: boolean): ScorerChoice[] {
  const { id, settings } = run;
  if (taskKindOf(run) === "question") return chosenScorers(options.scorers, hasVerdicts);
  const hasAnswers = settings.scorers.includes("exactMatch");
  const evals = options.scorers?.filter(isEvalScore) ?? [];
  const isOnlyEvals = evals.length === (options.scorers?.length ?? 0);
  if (!hasAnswers && (!isOnlyEvals || asksJudge(options))) {
    throw new UserError(
      "flags_contradict",
      `--${isOnlyEvals ? "judge" : "scorers"} applies only to tasks with a gold answer, and run ${id} has none.`,
      "Leave it out.",
    );
  }
  return hasAnswers ? chosenScorers(options.scorers, hasVerdicts) : evals;
}

/** Returns the requested judge, otherwise the run's judge, otherwise a run's default judge if there is a key for it. */
function judgeOf(run: RunRow, options: ScoreOptions, env: Environment): JudgeSettings | null {
  refuseUnusedJudge(options);
  if (isJudgeOff(options) || (!asksJudge(options) && !wantsJudge(options.scorers)))
    return judgeSettings(options, null, null, env);
  const cheap = defaultJudgeModel(run.settings, env);
  const judge = judgeSettings(options, run.settings.judge, cheap, env);
  if (judge === null || asksJudge(options) || judge.baseUrl !== null) return judge;
  return hasKey(parseModelName(judge.model, null).provider, env) ? judge : null;
}

function defaultJudgeModel(settings: RunSettings, env: Environment): ModelName | null {
  // A trained model does not belong to a provider.
  if (settings.kind === "training") return anyCheapModel(env);
  const baseUrl = settings.kind === "own" ? settings.baseUrl : null;
  return cheapModel(parseModelName(settings.model, null).provider, baseUrl, env);
}

/** Traces per batch if a judge is called. If the process is killed, at most one batch is scored again. */
const BATCH = 50;

/**
 * Grades the stored traces of a run again in batches, without calling its agent. If it is stopped or killed, the
 * written scores stay, and running it again leads to the same result. Refuses a run that is being worked on.
 */
export async function scoreRun(db: Db, run: RunRow, request: ScoreRunRequest, signal: AbortSignal): Promise<ScoredRun> {
  const { worker, scoring, scorers, onProgress } = request;
  const limit = pLimit(JUDGE_CONCURRENCY);
  acquireRunLock(db, run.id, worker);
  try {
    const score = async (traces: readonly Trace[]) =>
      withScores(await limit.map(traces, (trace) => withVerdict(trace, scoring, signal)), scoring, signal);
    const rescored = await rewriteScores(db, run.id, { batch: BATCH, onProgress }, score, signal);
    // A run stopped halfway has scores from two settings. The new settings are recorded.
    const judge: JudgeSettings | null = scoring.judge?.settings ?? run.settings.judge;
    saveScoringSettings(db, run.id, { ...run.settings, scorers: [...scorers], judge });
    return rescored;
  } finally {
    releaseRun(db, run.id, worker.name);
  }
}

/** Scores a run's traces and saves them in batches. The caller must hold the run's lock. */
export async function rewriteScores(
  db: Db,
  runId: string,
  { batch: size, onProgress }: { readonly batch: number } & Pick<ScoreRunRequest, "onProgress">,
  score: (traces: readonly Trace[]) => Promise<readonly Trace[]>,
  signal: AbortSignal,
): Promise<ScoredRun> {
  const save = openScoreWriter(db);
  let scored = 0;
  let stopped = true;
  let place: TaskEpoch | null = null;
  while (!signal.aborted) {
    const batch = tracesAfter(db, runId, place, size);
    stopped = batch !== null;
    if (batch === null) break;
    place = batch.last;
    const traces = await score(batch.traces).catch((error: unknown) => {
      if (signal.aborted) return [];
      throw error;
    });
    // Interrupted traces have no verdict now but might have had one before, so they are not saved.
    if (signal.aborted) break;
    save(traces);
    scored += traces.length;
    onProgress(scored);
  }
  await storeRunFigures(db, runId);
  return { scored, stopped };
}

export function scoringOf(
  scorers: readonly string[],
  { mails }: Mailbox,
  { evals, judge, functions = [] }: Pick<Scoring, "evals" | "judge"> & Partial<Pick<Scoring, "functions">>,
): Scoring {
  return { sameMail: mails.canonicalId, scorers: scorers.filter(isScorerName), evals, functions, judge };
}

/** Calls the judge, if there is one, unless the trace already has a verdict from the same judge. */
export async function withVerdict(
  trace: Trace,
  { judge }: Pick<Scoring, "judge">,
  signal: AbortSignal,
  calls?: TaskCalls,
): Promise<Trace> {
  const task = questionOf(trace);
  if (judge === null || task === null || canBeRetried(trace.ending) || isJudgedBy(trace.judge, judge.settings))
    return trace;
  // What counts is what the agent did, not what it says about it.
  if (askedFor(task) !== "answer") return trace;
  const { question, answer: gold } = task;
  return { ...trace, judge: await judge.judge({ question, gold, answer: trace.answer }, signal, calls) };
}

/**
 * Scorers that need a verdict use the one in the trace. A suite task has the scores from its grade, and its output is
 * graded even if the task timed out. Answers of failed tasks are not scored. Scores of evals and functions that do not
 * run now are kept. Evals run over all traces together, including failed tasks, because each eval decides how to treat
 * an ending. Throws only the signal's reason.
 */
export async function withScores(traces: readonly Trace[], scoring: Scoring, signal: AbortSignal): Promise<Trace[]> {
  const scored: Trace[] = [];
  for (const trace of traces) {
    const isUnscored = canBeRetried(trace.ending) && trace.kind !== "suite";
    scored.push(isUnscored ? trace : await withFunctionScores(withOwnScores(trace, scoring), scoring));
  }
  const { definitions } = scoring.evals;
  if (definitions.length === 0) return scored;
  const outcomes = await scoring.evals.run(scored, signal);
  return scored.map((trace, i) => withEvals(trace, definitions, outcomes[i] ?? []));
}

function withOwnScores(trace: Trace, { scorers, sameMail }: Scoring): Trace {
  const earlier = Object.entries(trace.scores).filter(
    ([name]) => isEvalScore(name) || isFunctionScore(name) || name === REWARD,
  );
  const now = scoreTrace(trace, sameMail, canBeRetried(trace.ending) ? [] : scorers);
  return { ...withSelection(trace, sameMail), scores: { ...now, ...Object.fromEntries(earlier) } };
}

/** Records which of the emails to select the agent selected. */
function withSelection(trace: Trace, sameMail: SameMail): Trace {
  if (trace.kind !== "question" || trace.task.select === undefined) return trace;
  return { ...trace, selection: matchSelection(trace.task.select, trace.sources, sameMail) };
}

async function withFunctionScores(trace: Trace, { functions }: Scoring): Promise<Trace> {
  if (functions.length === 0) return trace;
  const scores = await Promise.all(functions.map(async (scorer) => [scorer.name, await scorer.score(trace)] as const));
  return { ...trace, scores: { ...trace.scores, ...Object.fromEntries(scores) } };
}

export function withEvals<T extends Pick<Trace, "scores">>(
  trace: T,
  evals: readonly EvalDefinition[],
  outcomes: readonly EvalOutcome[],
): T {
  const added = evals.flatMap((definition, i) => {
    const outcome = outcomes[i];
    return outcome === undefined ? [] : [[scoreNameOf(definition), toScore(outcome)] as const];
  });
  return { ...trace, scores: { ...trace.scores, ...Object.fromEntries(added) } };
}
