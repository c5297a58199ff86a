// Executes a run from its options to its results file. The entry point of `art-e run`.
import { existsSync } from "node:fs";
import { externalAgentOf, usesMailHere } from "../agents/external-agent.js";
import type { Gate } from "../analysis/gate.js";
import { evalsAmong, refuseUncountedRubrics, type ScoringEvals, withJudgeOfEval } from "../evals/scoring-evals.js";
import type { AppContext } from "../platform/app-context.js";
import { yieldBetween } from "../platform/batches.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { compact } from "../platform/optional-values.js";
import { clustersText } from "../reports/figure-text.js";
import type { Until, UntilWatch } from "../results/claim-watch.js";
import { openGates } from "../results/gates.js";
import { fromDatabase, saveResults } from "../results/results-file.js";
import { checkNewRunName } from "../results/stored-runs.js";
import { checkJudgePriced } from "../scoring/judge-settings.js";
import { FileWatch, removeDatabase } from "../store/database-file.js";
import { type Db, deferCheckpoints, limitPageCache, openReadOnly, openStore } from "../store/open-store.js";
import { waitForWriter } from "../store/write-transaction.js";
import { counted } from "../text/format.js";
import { openMailbox } from "../tools/mailbox.js";
import { SearchPool } from "../tools/search-pool.js";
import type { LiveTraces } from "../trace-formats/otlp-live.js";
import type { Emit } from "../traces/progress.js";
import { type ResultWriter, threadedResultWriter } from "../traces/result-writer.js";
import { attemptPages } from "../traces/results-store.js";
import { newestRunIds } from "../traces/run-list.js";
import { forcedProcess, thisProcess } from "../traces/run-lock.js";
import type { RunLimits } from "../traces/run-settings.js";
import { getRun } from "../traces/runs-store.js";
import { type AnswererOfRun, localAnswerer, type OnActivity, type RunServices } from "./answer-task.js";
import { Budget, failuresText, mostOfTask } from "./budget.js";
import { detectLostDatabase } from "./execute-run/detect-lost-database.js";
import { estimateRun, type RunEstimate } from "./execute-run/estimate-run.js";
import { checkPriced } from "./model-of-run.js";
import { planNewRun, type RunPlan } from "./plan-run.js";
import { ControlServer } from "./run-control/control-server.js";
import { RunControls } from "./run-control/run-controls.js";
import type { RunOptions } from "./run-flags.js";
import { RunJournal, sendersOf } from "./run-journal.js";
import { type RunRequest, refuseFlags, sendsTraces } from "./run-options.js";
import { runTasks, type SessionEnd } from "./run-tasks.js";
import { RunTracker } from "./run-tracker.js";
import { scoringOf } from "./score-traces.js";
import { notesOnSent } from "./settings-from-options.js";

interface OpenDatabase {
  readonly db: Db;
  readonly searchThreads: SearchPool | undefined;
  readonly watch: FileWatch;
}

interface RunMonitor {
  readonly emit: Emit;
  stop(): void;
}

/** Opens what shows the run. The tracker has received each event before the monitor does. */
export type OpenMonitor = (tracker: RunTracker) => RunMonitor;

/** Has queue workers answer a run's tasks. This module must not depend on the queue. Throws a UserError. */
export type OpenQueue = (
  plan: RunPlan,
  url: string,
  options: RunOptions,
  context: AppContext,
) => Promise<AnswererOfRun>;

interface RunOutcome {
  readonly end: SessionEnd;
  readonly gates: readonly Gate[];
  readonly output: string | undefined;
  readonly shortfall: string | null;
}

interface RunParts {
  readonly opening: AnswererOfRun;
  readonly evals: ScoringEvals;
  readonly until: Until | null;
}

export type { RunEstimate };

export function runBenchmark(
  request: RunRequest,
  context: AppContext,
  monitor: OpenMonitor,
  openQueue: OpenQueue,
): Promise<RunOutcome> {
  if (request.queue !== undefined) refuseFlags("queue", request.explicitFlags);
  return withDatabase(request, context, (database) => execute(database, request, context, monitor, openQueue));
}

export function estimateBenchmark(request: RunRequest, context: AppContext): Promise<RunEstimate> {
  return withDatabase(request, context, ({ db }) =>
    withPlan(db, request, context, (plan, _gates, until) => estimateRun(db, plan, until, request)),
  );
}

async function withDatabase<T>(
  request: RunRequest,
  context: AppContext,
  use: (database: OpenDatabase) => Promise<T>,
): Promise<T> {
  const path = context.settings.db;
  const readsMail = needsMail(request, context);
  const isNew = !existsSync(path);
  const db = openStore(path, { mustExist: readsMail });
  const watch = new FileWatch(db, path);
  limitPageCache(db);
  deferCheckpoints(db);
  // The search threads start while the rest of the program loads and the run is created.
  const answersHere = !request.dryRun && request.queue === undefined;
  const searchThreads = readsMail && answersHere ? SearchPool.open(db) : undefined;
  try {
    return await use({ db, searchThreads, watch });
  } finally {
    await searchThreads?.close();
    const isUnused = isNew && newestRunIds(db, 1).length === 0;
    db.close();
    // A run that could not start leaves no empty database behind.
    if (isUnused) removeDatabase(path);
  }
}

/**
 * Whether the run needs this database's mail. An external agent with its own mail does not, so a missing database is
 * created for the results.
 */
function needsMail(options: RunRequest, { settings }: AppContext): boolean {
  if (options.resume !== undefined || options.repeat !== undefined) return true;
  if (options.suite !== undefined) return false;
  return usesMailHere(externalAgentOf(options, settings.env));
}

/**
 * Makes one attempt at a new or resumed run, until its tasks are answered or it is stopped. Everything that can be
 * refused is refused before the first task.
 */
async function execute(
  database: OpenDatabase,
  request: RunRequest,
  context: AppContext,
  openMonitor: OpenMonitor,
  openQueue: OpenQueue,
): Promise<RunOutcome> {
  const { db } = database;
  return withPlan(db, request, context, async (plan, gates, until) => {
    await checkJudgePriced(plan.settings.judge, plan.limits);
    const evals = evalsAmong(db, plan.settings.scorers, context.settings);
    refuseUncountedRubrics(evals, plan.limits);
    const opening =
      request.queue === undefined
        ? await localAnswerer(database, plan, request, context)
        : await openQueue(plan, request.queue, request, context);
    const end = await answerAll(database, plan, { opening, evals, until }, request, context, openMonitor);
    if (plan.output !== undefined) await saveResults(db, plan.output, end.totals);
    // A run that was stopped early is not gated, because it can be resumed first.
    const isWhole = end.stopped === null || end.stopped.by === "evidence";
    const gated = isWhole ? await gates.check(fromDatabase(db, end.totals)) : [];
    return { end, gates: gated, output: plan.output, shortfall: opening.shortfall() };
  });
}

async function withPlan<T>(
  db: Db,
  runRequest: RunRequest,
  context: AppContext,
  use: (plan: RunPlan, gates: Awaited<ReturnType<typeof openGates>>, until: Until | null) => Promise<T>,
): Promise<T> {
  const request = withJudgeOfEval(db, runRequest);
  const gates = await openGates(request, context);
  const plan = await planRun(db, request, context);
  try {
    await gates.requireValidatedInUse({ ...plan.settings });
    if (plan.settings.kind === "own") for (const note of notesOnSent(plan.settings)) context.note(note);
    gates.checkComparable({ ...plan.over, settings: { ...plan.settings } });
    checkPriced(plan.model, plan.settings, plan.limits);
    noteStoredLimits(plan, request, context);
    return await use(plan, gates, await untilOf(plan, request, context));
  } finally {
    plan.model.close();
    await plan.suite.close();
  }
}

/** Opens the claim that stops the run, if there is one. */
async function untilOf(
  { settings, over }: RunPlan,
  { baseline }: RunRequest,
  context: AppContext,
): Promise<Until | null> {
  if (settings.until === undefined) return null;
  if (baseline === undefined) {
    const { openUntil } = await import("../results/claim-watch.js");
    return openUntil(settings.until, { ...over, settings: { ...settings } }, context);
  }
  throw new UserError(
    "flags_contradict",
    "--until and --baseline cannot be combined: the gate's interval needs all planned tasks.",
    "Remove --baseline, and use the claim's verdict: --until 'no worse than RUN by 0.02'.",
  );
}

async function planRun(db: Db, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { repeat, resume, suite, name } = request;
  if (name !== undefined) {
    if (resume !== undefined) {
      throw new UserError(
        "flags_contradict",
        "--name names a new run, but --resume continues an existing one.",
        `Rename it: ${commandLine`art-e runs rename ${resume} ${name}`}`,
      );
    }
    checkNewRunName(db, name);
  }
  if (repeat !== undefined || resume !== undefined) {
    const { planRepeat, planResume } = await import("./resume-run.js");
    if (repeat !== undefined) return planRepeat(db, repeat, request, context);
    if (resume !== undefined) return planResume(db, resume, request, context);
  }
  if (suite === undefined) return planNewRun(db, request, context);
  const { planSuiteRun } = await import("./plan-run/plan-suite-run.js");
  return planSuiteRun(db, suite, request, context);
}

async function answerAll(
  { db, watch: fileWatch }: OpenDatabase,
  plan: RunPlan,
  { opening, evals, until }: RunParts,
  options: RunRequest,
  context: AppContext,
  openMonitor: OpenMonitor,
): Promise<SessionEnd> {
  const { settings } = context;
  const { functionScorers: functions = [] } = options;
  const tracker = new RunTracker(opening.activity);
  const stopNow = context.untilSecond(() => {
    const tasks = tracker.runningCount;
    return `Stopping: ${counted(tasks, "task")} in flight will be finished. Press Ctrl-C again to stop immediately.`;
  });
  const live = sendsTraces(options)
    ? (await import("../trace-formats/otlp-live.js")).openLiveTraces(db, options, context)
    : null;
  const mailDb = openReadOnly(settings.db);
  const monitor = openMonitor(tracker);
  let controls: RunControls | null = null;
  let controlServer: ControlServer | null = null;
  const emit: Emit = (event) => {
    tracker.add(event);
    controls?.add(event);
    monitor.emit(event);
  };
  const onStop = () => emit({ type: "run_steered", state: "stopping" });
  context.signal.addEventListener("abort", onStop, { once: true });
  const waiting = waitForWriter(context, stopNow);
  const writer = forwardTraces(threadedResultWriter(settings.db, { waiting }), live);
  const guard = detectLostDatabase({ db, path: settings.db, runId: plan.runId, watch: fileWatch }, waiting, context);
  try {
    const owner = options.force ? forcedProcess : thisProcess;
    const session = await plan.begin(owner, { ...waiting, signal: context.signal });
    const journal = new RunJournal(db, plan.runId, writer, sendersOf(plan.settings));
    for (const note of journal.notes) context.note(note);
    const budget = await openBudget(db, plan, journal);
    const services: RunServices = { db, runId: plan.runId, budget, journal, writer, waiting };
    const mailbox = openMailbox(mailDb);
    const watch = until === null ? null : watchClaim(until, db, plan.runId, context);
    controls = new RunControls(
      services,
      {
        tracker,
        answerer: opening,
        checkPriced: (maxCostUsd) => checkPriced(plan.model, plan.settings, { ...plan.limits, maxCostUsd }),
      },
      emit,
    );
    const steering = controls;
    controlServer = await openControlServer(plan.runId, steering, context);
    const windDown = AbortSignal.any([context.signal, steering.windDown]);
    const mayStart = () => !windDown.aborted && budget.reached() === null && watch?.isSettled !== true;
    const onActivity: OnActivity = (task, activity) => emit({ type: "task_activity", ...task, activity });
    const isPaused = () => steering.isPaused;
    const answerer = await opening.start({
      ...services,
      mailbox,
      mayStart,
      isPaused,
      onActivity,
      onControl: (request) => steering.answer(request),
    });
    const end = await runTasks(
      services,
      {
        answerer,
        scoring: scoringOf(plan.settings.scorers, mailbox, { evals, judge: null, functions }),
        session,
        until: watch,
        onConcurrency: opening.onConcurrency,
        windDown,
        steering,
      },
      emit,
      AbortSignal.any([stopNow, steering.stopNow]),
    );
    return await guard.ended(end, writer.recent());
  } catch (error) {
    throw await guard.explain(error, writer.recent());
  } finally {
    context.signal.removeEventListener("abort", onStop);
    monitor.stop();
    await controlServer?.close();
    // A queue's unsaved replies are saved when it is closed.
    await Promise.all([opening.close(), live?.close(stopNow)]);
    await writer.close();
    mailDb.close();
  }
}

/** Watches the claim of `--until`, and notes which questions cannot count or depend on each other. */
function watchClaim(until: Until, db: Db, runId: string, { note }: AppContext): UntilWatch {
  const watch = until.watch(db, runId);
  const { countable, plannedQuestions, clusters } = watch;
  if (countable < plannedQuestions) {
    note(
      `art-e: --until: the baseline has ${countable} of the ${plannedQuestions} questions. The others cannot count and are not answered.`,
    );
  }
  const dependent = clustersText(clusters, countable);
  if (dependent !== null) note(`art-e: --until: ${dependent}.`);
  return watch;
}

/** Opens the run's budget, charged with all earlier attempts and with the replies to tasks that were in flight. */
async function openBudget(db: Db, { runId, limits, settings, model }: RunPlan, journal: RunJournal): Promise<Budget> {
  const budget = new Budget(limits, mostOfTask(settings, model.priceOf), getRun(db, runId).activeMs);
  for await (const page of yieldBetween(attemptPages(db, runId))) {
    for (const { result, isSuperseded } of page) budget.charge(result, isSuperseded);
  }
  for (const cost of journal.costs) budget.charge(cost, true);
  return budget;
}

/** Lets `art-e ctl` steer the run. If that is impossible, the run continues without it. */
async function openControlServer(
  runId: string,
  controls: RunControls,
  { settings, note }: AppContext,
): Promise<ControlServer | null> {
  if (process.platform === "win32") return null;
  try {
    return await ControlServer.open(settings.cacheDir, runId, (request) => controls.answer(request));
  } catch (error) {
    note(`art-e: ctl cannot steer this run: ${(error as Error).message}`);
    return null;
  }
}

/** Reports the limits that a run keeps from an earlier command. */
function noteStoredLimits({ runId, limits }: RunPlan, options: RunOptions, { note }: AppContext): void {
  const flags = limitFlags(limits);
  if (flags.length === 0 || (options.resume === undefined && options.repeat === undefined)) return;
  note(`art-e: limits of run ${runId}: ${flags.join(", ")}. Pass one again to change it.`);
}

function forwardTraces(writer: ResultWriter, live: LiveTraces | null): ResultWriter {
  if (live === null) return writer;
  return {
    ...writer,
    async save(trace, ...rest) {
      const isSaved = await writer.save(trace, ...rest);
      if (isSaved) live.add(trace);
      return isSaved;
    },
  };
}

/** Returns the limits as flags, like `--max-cost 0.5` and `--max-failures 5%`. */
function limitFlags({ maxCostUsd, maxTokens, maxTimeMs, maxFailures }: RunLimits): string[] {
  return compact([
    maxCostUsd !== null && `--max-cost ${maxCostUsd}`,
    maxTokens !== null && `--max-run-tokens ${maxTokens}`,
    maxTimeMs !== null && `--max-time ${maxTimeMs / 60_000}`,
    maxFailures !== null && `--max-failures ${failuresText(maxFailures)}`,
  ]);
}
