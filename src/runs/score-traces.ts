import pLimit from "p-limit";
import { type EvalDefinition, isEvalScore, scoreNameOf, toScore } from "../evals/definition.js";
import type { EvalOutcome } from "../evals/eval-outcome.js";
import { evalsAmong, pinEvals, type ScoringEvals } from "../evals/use-evals.js";
import type { CallBudget } from "../models/call-budget.js";
import { parseModelName } from "../models/model-names.js";
import { hasKey } from "../models/open-model.js";
import { type AppContext, Interrupted } from "../platform/app-context.js";
import type { Environment } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
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
import { isScorerName, REWARD, type ScorerName, scoreTrace } from "../scoring/scorers.js";
import { type Db, withStore } from "../store/open-store.js";
import { canBeRetried } from "../tasks/ending.js";
import { questionOf } from "../tasks/question.js";
import { count } from "../text/format.js";
import { type Mailbox, openMailbox } from "../tools/mailbox.js";
import {
  openScoreWriter,
  releaseRun,
  saveScoringSettings,
  type TaskCursor,
  tracesAfter,
} from "../traces/results-store.js";
import { acquireRunLock, getRun, type RunOwner, type RunRow, thisProcess } from "../traces/runs-store.js";
import type { SameMail } from "../traces/score.js";
import { toTaskResult } from "../traces/task-result.js";
import {
  isSuiteTrace,
  type Judge,
  type Judgement,
  type JudgeSettings,
  judgeSettingsSchema,
  type Trace,
} from "../traces/trace.js";
import { computeRunTotals, saveResults } from "./results-file.js";
import { chosenScorers, recordedScorers, type ScorerChoice, wantsJudge } from "./run-options.js";

interface ScoreOptions extends JudgeOptions {
  readonly run: string;
  readonly scorers?: readonly ScorerChoice[] | undefined;
  readonly output?: string | undefined;
}

/** Scores the stored traces of a run again. Its agent is not called. `onProgress` hears how many are done. */
export function scoreStoredRun(options: ScoreOptions, context: AppContext) {
  const { settings, note, signal } = context;
  return withStore(settings, async (db) => {
    const run = getRun(db, options.run);
    const asked = judgeOf(run, options, settings.env);
    const chosen = scorersOf(run, options, asked !== null || run.settings.judge !== null);
    const paid = run.settings.environment === undefined ? [] : [REWARD];
    const scorers = await pinEvals(db, [...recordedScorers(run.split, chosen), ...paid], settings);
    const connection = { timeoutMs: JUDGE_TIMEOUT_MS, throttle: null, note, given: judgeExtras(options) };
    const judge = asked === null ? null : await createJudge(asked, settings, connection);
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
        `scoring of ${run.id} stopped: ${count(scored)} tasks are saved. Go on with the same command.`,
      );
    }
    const totals = await computeRunTotals(db, getRun(db, run.id));
    if (options.output !== undefined) await saveResults(db, options.output, totals);
    return { totals, shortfall: judge?.shortfall() ?? null };
  });
}

/** Tasks of suites are scored by what their evaluation functions gave, and by their answers where these have gold. */
function scorersOf({ id, split, settings }: RunRow, options: ScoreOptions, hasVerdicts: boolean): ScorerChoice[] {
  if (split !== "suite") return chosenScorers(options.scorers, hasVerdicts);
  const hasAnswers = settings.scorers.includes("exactMatch");
  const evals = options.scorers?.filter(isEvalScore) ?? [];
  const isOnlyEvals = evals.length === (options.scorers?.length ?? 0);
  if (!hasAnswers && (!isOnlyEvals || asksJudge(options))) {
    throw new UserError(
      "flags_contradict",
      `--${isOnlyEvals ? "judge" : "scorers"} is for tasks with a gold answer, and run ${id} has none.`,
      "Leave it out.",
    );
  }
  return hasAnswers ? chosenScorers(options.scorers, hasVerdicts) : evals;
}

/**
 * The judge asked for; else the judge of the run, else the one a run would have by default, where there is a key for
 * it.
 */
function judgeOf(run: RunRow, options: ScoreOptions, env: Environment): JudgeSettings | null {
  if (isJudgeOff(options) || (!asksJudge(options) && !wantsJudge(options.scorers)))
    return judgeSettings(options, null, null, env);
  const { model, baseUrl, environment } = run.settings;
  // A trained model is no provider's.
  const cheap =
    environment === undefined ? cheapModel(parseModelName(model, null).provider, baseUrl, env) : anyCheapModel(env);
  const judge = judgeSettings(options, run.settings.judge, cheap, env);
  if (judge === null || asksJudge(options) || judge.baseUrl !== null) return judge;
  return hasKey(parseModelName(judge.model, null).provider, env) ? judge : null;
}

/** Traces per batch where a judge is asked. Where the process is killed, at most one batch is scored again. */
const BATCH = 50;

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

/**
 * Grades the stored traces of a run again, a batch at a time, without asking its agent anything. Stopped or killed,
 * what has been written stays, and doing it again ends in the same. Refuses a run that is being worked on.
 */
export async function scoreRun(db: Db, run: RunRow, request: ScoreRunRequest, signal: AbortSignal): Promise<ScoredRun> {
  const { worker, scoring, scorers, onProgress } = request;
  const limit = pLimit(JUDGE_CONCURRENCY);
  acquireRunLock(db, run.id, worker);
  try {
    const score = async (traces: readonly Trace[]) =>
      withScores(await limit.map(traces, (trace) => withVerdict(trace, scoring, signal)), scoring, signal);
    const rescored = await rewriteScores(db, run.id, { batch: BATCH, onProgress }, score, signal);
    // A run that was stopped half-way has scores of two settings: the new ones are recorded.
    const judge: JudgeSettings | null = scoring.judge?.settings ?? run.settings.judge;
    saveScoringSettings(db, run.id, { ...run.settings, scorers: [...scorers], judge });
    return rescored;
  } finally {
    releaseRun(db, run.id, worker.name);
  }
}

/** Scores the traces of a run and saves them a batch at a time. The caller holds the run's lock. */
export async function rewriteScores(
  db: Db,
  runId: string,
  { batch: size, onProgress }: { readonly batch: number } & Pick<ScoreRunRequest, "onProgress">,
  score: (traces: readonly Trace[]) => Promise<readonly Trace[]>,
  signal: AbortSignal,
): Promise<ScoredRun> {
  const save = openScoreWriter(db);
  let scored = 0;
  let place: TaskCursor | null = null;
  while (!signal.aborted) {
    const batch = tracesAfter(db, runId, place, size);
    if (batch === null) return { scored, stopped: false };
    place = batch.last;
    const traces = await score(batch.traces).catch((error: unknown) => {
      if (signal.aborted) return [];
      throw error;
    });
    // Traces that were in progress have no verdict now, and may have had one before: they are not saved.
    if (signal.aborted) break;
    save(traces.map((trace) => ({ trace, result: toTaskResult(trace) })));
    scored += traces.length;
    onProgress(scored);
  }
  return { scored, stopped: true };
}

export interface Scoring {
  readonly sameMail: SameMail;
  readonly scorers: readonly ScorerName[];
  readonly evals: ScoringEvals;
  /** Null: no judge is called; a verdict that a trace has already still counts. */
  readonly judge: Judge | null;
}

export function scoringOf(
  scorers: readonly string[],
  { mails }: Mailbox,
  { evals, judge }: Pick<Scoring, "evals" | "judge">,
): Scoring {
  return { sameMail: mails.canonicalId, scorers: scorers.filter(isScorerName), evals, judge };
}

/** Calls the judge, where there is one, unless the trace has a verdict of the same judge already. */
export async function withVerdict(
  trace: Trace,
  { judge }: Pick<Scoring, "judge">,
  signal: AbortSignal,
  budget?: CallBudget,
): Promise<Trace> {
  const task = questionOf(trace.task);
  if (judge === null || task === null || canBeRetried(trace.ending) || isBy(trace.judge, judge)) return trace;
  const { question, answer: gold } = task;
  return { ...trace, judge: await judge.judge({ question, gold, answer: trace.answer }, signal, budget) };
}

/**
 * Scorers that need a verdict use that of the trace. A task of a suite has the scores of its grade: what it left behind
 * is graded also where its time ran out. Answers of failed tasks are not scored. Scores of evals that are not run now
 * stay. Evals run over all traces together, those of failed tasks too: what an eval says of an ending is its own
 * matter. Throws only the signal's reason.
 */
export async function withScores(traces: readonly Trace[], scoring: Scoring, signal: AbortSignal): Promise<Trace[]> {
  const scored = traces.map((trace) =>
    canBeRetried(trace.ending) && !isSuiteTrace(trace) ? trace : withOwnScores(trace, scoring),
  );
  const { definitions } = scoring.evals;
  if (definitions.length === 0) return scored;
  const outcomes = await scoring.evals.run(scored, signal);
  return scored.map((trace, i) => withEvals(trace, definitions, outcomes[i] ?? []));
}

function withOwnScores(trace: Trace, { scorers, sameMail }: Scoring): Trace {
  const earlier = Object.entries(trace.scores).filter(([name]) => isEvalScore(name) || name === REWARD);
  const now = scoreTrace(trace, sameMail, canBeRetried(trace.ending) ? [] : scorers);
  return { ...trace, scores: { ...now, ...Object.fromEntries(earlier) } };
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

const JUDGE_SETTINGS = judgeSettingsSchema.keyof().options;

function isBy(judgement: Judgement | null, { settings }: Judge): boolean {
  if (judgement === null || judgement.verdict === null) return false;
  return JUDGE_SETTINGS.every((name) => judgement[name] === settings[name]);
}
