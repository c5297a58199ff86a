import { UserError } from "../../domain/errors.js";
import type { Emit } from "../../domain/runs/run-event.js";
import type { Gate } from "../../domain/scores/gate.js";
import { yieldBetween } from "../../platform/yield-to-event-loop.js";
import type { FileWatch } from "../../store/connection/file-watch.js";
import { type Db, openReadOnly } from "../../store/connection/open-store.js";
import { threadedResultWriter } from "../../store/runs/result-writer.js";
import { attemptPages } from "../../store/runs/results.js";
import { getRun } from "../../store/runs/runs.js";
import { openMailbox } from "../../tools/open-mailbox.js";
import type { SearchPool } from "../../tools/search-pool/search-pool.js";
import { evalsAmong, refuseUncountedRubrics, type ScoringEvals } from "../evals/evals-as-scorers.js";
import { openGates } from "../gates/run-gates.js";
import { fromDatabase } from "../results/open-results.js";
import { saveResults } from "../results/save-results.js";
import { checkNewRunName } from "../runs/run-name.js";
import { checkJudgePriced } from "../score/create-judge.js";
import { openLiveTraces } from "../traces/live-traces.js";
import type { AppContext } from "../use-case-context.js";
import { waitForWriter } from "../wait-for-writer.js";
import type { OnActivity } from "./answer/answer-context.js";
import { scoringOf } from "./answer/build-answer-context.js";
import { localAnswerer } from "./answer/local-answerer.js";
import type { AnswererOfRun, RunActivity } from "./answer/task-answerer.js";
import { Budget } from "./budget.js";
import { checkPriced } from "./create-model.js";
import { detectLostDatabase } from "./detect-lost-database.js";
import { forwardTraces } from "./forward-traces.js";
import { forcedProcess, thisProcess } from "./lock-owner.js";
import { limitsText } from "./plan/choose-limits.js";
import { estimateRun, type RunEstimate } from "./plan/estimate-run.js";
import { planNewRun } from "./plan/plan-new-run.js";
import { planRepeat } from "./plan/plan-repeat.js";
import { planResume } from "./plan/plan-resume.js";
import type { RunOptions, RunRequest } from "./plan/run-options.js";
import type { RunPlan } from "./plan/run-plan.js";
import { notesOnSent } from "./plan/sent-parameters.js";
import { runTasks, type SessionEnd } from "./run-tasks.js";

/** The database, open on this thread and on the search threads. */
export interface OpenDatabase {
  readonly db: Db;
  readonly searchThreads: SearchPool | undefined;
  readonly watch: FileWatch;
}

/** Shows how a run goes. */
export interface RunMonitor {
  readonly emit: Emit;
  /** Tasks that have begun and are not answered yet. */
  underWay(): number;
  stop(): void;
}

export type OpenMonitor = (activity: RunActivity) => RunMonitor;

export interface RunOutcome {
  readonly end: SessionEnd;
  readonly gates: readonly Gate[];
  /** Path of the results file that was written. */
  readonly output: string | undefined;
  /** One line about answers that the judge gave no verdict on. */
  readonly shortfall: string | null;
}

/** What a run would take. Nothing is sent and nothing is written. */
export async function estimate(opened: OpenDatabase, request: RunRequest, context: AppContext): Promise<RunEstimate> {
  return withPlan(opened.db, request, context, (plan) => estimateRun(opened.db, plan, request.options));
}

/**
 * One attempt at a run, new or resumed, until its tasks are answered or it is stopped. Everything that could be
 * refused is refused before the first task.
 */
export async function execute(
  opened: OpenDatabase,
  request: RunRequest,
  context: AppContext,
  openMonitor: OpenMonitor,
): Promise<RunOutcome> {
  const { db } = opened;
  return withPlan(db, request, context, async (plan, gates) => {
    checkJudgePriced(plan.settings.judge, plan.limits);
    const evals = evalsAmong(db, plan.settings.scorers, context.settings);
    refuseUncountedRubrics(evals, plan.limits);
    const opening = await openAnswerer(opened, plan, request.options, context);
    const end = await answerAll(opened, plan, { opening, evals }, request.options, context, openMonitor);
    if (plan.output !== undefined) await saveResults(db, plan.output, end.totals);
    // A run that was stopped is not gated: it can be resumed first.
    const gated = end.stopped === null ? await gates.check(fromDatabase(db, end.totals)) : [];
    return { end, gates: gated, output: plan.output, shortfall: opening.shortfall() };
  });
}

async function withPlan<T>(
  db: Db,
  request: RunRequest,
  context: AppContext,
  use: (plan: RunPlan, gates: Awaited<ReturnType<typeof openGates>>) => Promise<T>,
): Promise<T> {
  const gates = await openGates(request.options, context);
  const plan = await planRun(db, request, context);
  try {
    for (const note of notesOnSent(plan.settings)) context.note(note);
    gates.checkComparable({ ...plan.over, settings: { ...plan.settings } });
    checkPriced(plan.model, plan.settings, plan.limits);
    noteStoredLimits(plan, request.options, context);
    return await use(plan, gates);
  } finally {
    plan.model.close();
    await plan.suite.close();
  }
}

async function planRun(db: Db, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { repeat, resume, suite, name } = request.options;
  if (name !== undefined) {
    if (resume !== undefined) {
      throw new UserError(
        "flags_contradict",
        "--name names a new run, and --resume goes on with one.",
        `Name that one: art-e runs rename ${resume} "${name}"`,
      );
    }
    checkNewRunName(db, name);
  }
  if (repeat !== undefined) return planRepeat(db, repeat, request, context);
  if (resume !== undefined) return planResume(db, resume, request, context);
  if (suite === undefined) return planNewRun(db, request, context);
  const { planSuiteRun } = await import("./plan/plan-suite-run.js");
  return planSuiteRun(db, suite, request, context);
}

/** Throws a UserError for what could only be found out when the first task is answered. */
async function openAnswerer(
  opened: OpenDatabase,
  plan: RunPlan,
  options: RunOptions,
  context: AppContext,
): Promise<AnswererOfRun> {
  if (options.queue === undefined) return localAnswerer(opened, plan, options, context);
  // BullMQ takes a fifth of a second to load.
  const { queueAnswerer } = await import("../queue/queue-answerer.js");
  return queueAnswerer(plan, options.queue, options, context);
}

async function answerAll(
  { db, watch }: OpenDatabase,
  plan: RunPlan,
  { opening, evals }: { readonly opening: AnswererOfRun; readonly evals: ScoringEvals },
  options: RunOptions,
  context: AppContext,
  openMonitor: OpenMonitor,
): Promise<SessionEnd> {
  const { settings } = context;
  const stopNow = context.untilSecond(() => {
    const tasks = monitor.underWay();
    return `Stopping: ${tasks} ${tasks === 1 ? "task" : "tasks"} under way will be finished; once more to stop now.`;
  });
  const live = openLiveTraces(db, options, context);
  const mailDb = openReadOnly(settings.db);
  const monitor = openMonitor(opening.activity);
  const waiting = waitForWriter(context, stopNow);
  const writer = forwardTraces(threadedResultWriter(settings.db, waiting), live);
  const guard = detectLostDatabase({ db, path: settings.db, runId: plan.runId, watch }, waiting, context);
  try {
    const owner = options.force ? forcedProcess : thisProcess;
    const session = await plan.begin(owner, { ...waiting, signal: context.signal });
    const budget = new Budget(plan.limits, getRun(db, plan.runId).activeMs);
    for await (const page of yieldBetween(attemptPages(db, plan.runId))) {
      for (const { result } of page) budget.charge(result);
    }
    const mailbox = openMailbox(mailDb);
    const mayStart = () => !context.signal.aborted && budget.reached() === null;
    const onActivity: OnActivity = ({ id: taskId, epoch }, activity) =>
      monitor.emit({ type: "task_activity", taskId, epoch, activity });
    const answerer = await opening.start({ db, mailbox, budget, mayStart, onActivity });
    const end = await runTasks(
      db,
      {
        runId: plan.runId,
        answerer,
        scoring: scoringOf(plan.settings, { mailbox }, { evals, judge: null }),
        session,
        budget,
        writer,
        onConcurrency: opening.onConcurrency,
        windDown: context.signal,
        waiting,
      },
      monitor.emit,
      stopNow,
    );
    return await guard.ended(end, writer.recent());
  } catch (error) {
    throw await guard.explain(error, writer.recent());
  } finally {
    monitor.stop();
    await Promise.all([writer.close(), opening.close(), live?.close(stopNow)]);
    mailDb.close();
  }
}

/** A resumed run keeps limits that were given with an earlier command. */
function noteStoredLimits({ runId, limits }: RunPlan, options: RunOptions, { note }: AppContext): void {
  const text = limitsText(limits);
  if (text === "" || (options.resume === undefined && options.repeat === undefined)) return;
  note(`art-e: limits of run ${runId}: ${text}. Give one again to change it.`);
}
