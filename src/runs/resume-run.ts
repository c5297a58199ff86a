// Plans the continuation or repetition of a stored run.
import { getVersion } from "../agents/registry-store.js";
import type { Suite } from "../agents/task-source.js";
import { readFingerprint } from "../mail/corpus.js";
import type { AppContext } from "../platform/app-context.js";
import { yieldBetween } from "../platform/batches.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { checkWritable } from "../platform/files.js";
import { questionSuite } from "../questions/dataset.js";
import type { Db } from "../store/open-store.js";
import { type LockWait, WAIT_INDEFINITELY, withWriteTransaction } from "../store/write-transaction.js";
import { moveSuiteTask, type PlannedTask } from "../tasks/question.js";
import { taskKindOf } from "../tasks/task-kind.js";
import { toolsDigest } from "../tools/load-tools.js";
import type { AttachedTool } from "../tools/tools-store.js";
import { attemptPages, remainingPositions, tasksAt } from "../traces/results-store.js";
import { acquireRunLock, type RunOwner } from "../traces/run-lock.js";
import type { ExecutedRunSettings } from "../traces/run-settings.js";
import { getRun, type RunChange, type RunRow, reopenRun } from "../traces/runs-store.js";
import type { TaskResult } from "../traces/task-result.js";
import type { RunSession } from "./create-run.js";
import { createModel } from "./model-of-run.js";
import type { ExecutedRun, LocatedSuite } from "./plan-run/locate-suite.js";
import {
  createRunOnce,
  inTestOrder,
  limitsOf,
  newRunId,
  outputToKeep,
  type RunPlan,
  toolsNow,
  withUntil,
} from "./plan-run.js";
import type { RunOptions } from "./run-flags.js";
import { type RunRequest, refuseFlags } from "./run-options.js";
import { differences, movedServers, raisedLimits, requestedSettings, unusedAddress } from "./settings-from-options.js";

/**
 * Returns a stored run with the requested settings. Other options, mail or tools would make its answers incomparable,
 * so they are refused unless --force records the difference. `changes` are the differences. `moved` are the new servers
 * and raised limits, which change no answer.
 */
async function openStoredRun(
  db: Db,
  how: "resume" | "repeat",
  storedRun: RunRow,
  request: RunRequest,
  context: AppContext,
) {
  const { explicitFlags } = request;
  // The flags of new runs, and those that do not apply to the tasks of the stored run.
  refuseFlags(how, explicitFlags);
  refuseFlags(taskKindOf(storedRun) === "suite" ? "suite" : "questions", explicitFlags);
  const { run, changes: suiteChanges } = await locate(
    db,
    executedRun(storedRun, how === "resume" ? "be resumed" : "be repeated"),
    request,
    context,
  );
  const requested = requestedSettings(run.settings, request, context);
  const changedSince = [...mailChangedSince(db, run), ...(how === "resume" ? toolsChangedSince(db, run) : [])];
  const changes = [...differences(run.settings, requested), ...changedSince, ...suiteChanges];
  if (changes.length > 0 && !request.force) {
    const force = commandLine`art-e run --resume ${run.id} --force`;
    throw new UserError(
      "run_differs",
      `Cannot ${how} run ${run.id} unchanged: ${changes.join("; ")}.`,
      how === "resume"
        ? `Remove the flags that differ, or continue anyway and record the difference: ${force}, with the same flags.`
        : "Remove the flags that differ, or pass --force to repeat it anyway and record the difference.",
    );
  }
  const moved = [...movedServers(run.settings, requested), ...raisedLimits(run.settings, requested)];
  const concurrency = explicitFlags.has("concurrency") ? request.concurrency : run.settings.concurrency;
  return { run, requested, changes, moved, limits: limitsOf(request, run.limits), concurrency };
}

/** Plans the resume of a stored run with its original settings. */
export async function planResume(db: Db, name: string, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const storedRun = getRun(db, name, "newest");
  const opened = await openStoredRun(db, "resume", storedRun, request, context);
  const { run, requested, changes, moved, limits, concurrency } = opened;
  const settings = withQueue(
    changes.length + moved.length === 0 ? run.settings : { ...requested, ...withChanges(run, changes, moved) },
    run.settings.queue === true || request.queue !== undefined,
  );
  noteServers(moved, run, request, context);
  if (run.settings.queue === true && request.queue === undefined) context.note(QUEUE_UNUSED);
  const output = outputToKeep(request.output) ?? run.output;
  if (request.output === undefined && output !== null) checkWritable("--output", output);
  return {
    runId: run.id,
    settings,
    suite: await suiteOfRun({ ...run, settings }, request, context),
    model: await createModel(settings, { ...request, concurrency }, context),
    tasks: async () => (await findLeft(db, run.id, request.retryFailed)).length,
    tools: settings.repeats === undefined ? toolsNow(db, settings) : toolsOfRun(db, run),
    limits,
    output: request.output ?? output ?? undefined,
    over: run,
    begin: (owner, waiting) =>
      resumeRun(db, run, {
        settings,
        limits,
        output,
        source: run.dataset.source,
        retryFailed: request.retryFailed,
        worker: owner,
        waiting,
      }),
  };
}

const QUEUE_UNUSED =
  "art-e: this run used a queue. Results and replies that are still there are not used, so their calls are made again. To use them, pass --queue URL.";

function withQueue({ queue: _, ...settings }: ExecutedRunSettings, isUsed: boolean): ExecutedRunSettings {
  return isUsed ? { ...settings, queue: true } : settings;
}

/** Returns the `changes` field of a run's settings, with earlier changes first. */
function withChanges(
  { settings }: ExecutedRun,
  changes: readonly string[],
  moved: readonly string[],
): Pick<ExecutedRunSettings, "changes"> {
  const all = [...(settings.changes ?? []), ...changes, ...moved];
  return all.length === 0 ? {} : { changes: all };
}

function noteServers(moved: readonly string[], run: ExecutedRun, request: RunRequest, context: AppContext): void {
  for (const move of moved) context.note(`art-e: ${move}. The run records it.`);
  const unused = unusedAddress(run.settings, request, context.settings.env);
  if (unused !== null) context.note(`art-e: ${unused}`);
}

/** Returns the run with the current folder of its suite. Questions are in the database. */
async function locate(db: Db, run: ExecutedRun, { suite }: RunRequest, context: AppContext): Promise<LocatedSuite> {
  if (taskKindOf(run) === "question") return { run, changes: [] };
  // Imported only now, because runs over questions do not need suites.
  const { locateSuite } = await import("./plan-run/locate-suite.js");
  return locateSuite(db, run, suite, context);
}

/** A repeat uses the tools of the original run, even if they have changed since. */
function toolsChangedSince(db: Db, { settings }: ExecutedRun): string[] {
  if (settings.repeats !== undefined || settings.kind === "external") return [];
  return toolsDigest(db, settings.agentId) === settings.toolsDigest ? [] : ["the agent's tools have changed since"];
}

export function mailChangedSince(db: Db, { corpusFingerprint }: RunRow): string[] {
  return (readFingerprint(db) ?? "") === corpusFingerprint ? [] : ["the mail has grown since"];
}

/**
 * Plans a new run over the questions of an old one, with its prompt, model, settings and tools, even if the agent has
 * changed since.
 */
export async function planRepeat(db: Db, name: string, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const opened = await openStoredRun(db, "repeat", getRun(db, name), request, context);
  const { run, requested, changes, moved, limits, concurrency } = opened;
  const settings = await withUntil(
    {
      ...withQueue(requested, request.queue !== undefined),
      concurrency,
      repeats: run.id,
      ...withChanges(run, changes, moved),
    },
    request,
    context,
  );
  noteServers(moved, run, request, context);
  const inOrder: PlannedTask[] = [];
  const positions = Array.from({ length: run.totalTasks }, (_, i) => i + 1);
  for await (const plannedTask of yieldBetween(tasksAt(db, run.id, positions))) {
    const { kind, task } = plannedTask;
    inOrder.push(kind === "question" ? plannedTask : { ...plannedTask, task: moveSuiteTask(task, run.dataset.source) });
  }
  const tasks = settings.until === undefined ? inOrder : inTestOrder(inOrder, settings.until.seed);
  const runId = newRunId();
  const output = outputToKeep(request.output);
  const set = { ...run.dataset, split: run.split };
  return {
    runId,
    settings,
    suite: await suiteOfRun({ ...run, settings }, request, context),
    model: await createModel(settings, { ...request, concurrency }, context),
    tasks: async () => run.totalTasks,
    tools: toolsOfRun(db, run),
    limits,
    output: request.output,
    over: { ...run, corpusFingerprint: readFingerprint(db) ?? "" },
    begin: createRunOnce(db, { runId, name: request.name, set, tasks, settings, limits, output }),
  };
}

/**
 * Returns the run if it can be answered from this database, otherwise throws a UserError. The agent of an imported run,
 * with its prompt and tools, exists only where the run was made, and this database contains only its traces.
 */
function executedRun(run: RunRow, what: string): ExecutedRun {
  const { id, settings } = run;
  if (settings.kind === "training") {
    throw new UserError(
      "run_of_environment",
      `Run ${id} cannot ${what}: it is a training run, and its model belongs to a trainer.`,
      `Serve the environment again: ${commandLine`art-e env serve`}.`,
    );
  }
  if (settings.kind !== "imported") return { ...run, settings };
  throw new UserError(
    "run_imported",
    `Run ${id} cannot ${what}: it was imported from ${settings.imported.file}, and its agent is not in this database.`,
    `Use the database of the original run, or answer its questions again: ${commandLine`art-e run -a AGENT --dataset FILE`}.`,
  );
}

/** Returns the suite that opens a stored run's tasks. The tasks are in the database and are not listed again. */
async function suiteOfRun(run: ExecutedRun, options: RunOptions, context: AppContext): Promise<Suite> {
  const { dataset, settings } = run;
  if (taskKindOf(run) === "question") return questionSuite(settings.cutoff);
  // Imported only now, because runs over questions do not need machines.
  const { openSuite } = await import("../suites/suite.js");
  const { functions, cutoff } = settings;
  const oracle = settings.kind === "own" ? settings.oracle : undefined;
  const { accountSettings } = options;
  return openSuite(dataset.source, { limit: null, functions, oracle, cutoff, accountSettings }, context);
}

function toolsOfRun(db: Db, { settings }: ExecutedRun): readonly AttachedTool[] {
  if (settings.kind === "external") return [];
  return getVersion(db, settings.agentId, settings.agentVersion).tools;
}

/** Reopens a run. Its session has the tasks without a result and, if `retryFailed` is set, the failed ones. */
export async function resumeRun(
  db: Db,
  run: RunRow,
  request: RunChange & { retryFailed: boolean; worker: RunOwner; waiting?: LockWait },
): Promise<RunSession> {
  const { retryFailed, worker, waiting = WAIT_INDEFINITELY, ...change } = request;
  await withWriteTransaction(db, waiting, () => {
    acquireRunLock(db, run.id, worker);
    reopenRun(db, run.id, change);
  });
  const positions = await findLeft(db, run.id, retryFailed);
  return {
    tasks: tasksAt(db, run.id, positions),
    left: positions.length,
    finished: run.totalTasks - positions.length,
    done: finishedBefore(db, run.id, retryFailed),
  };
}

async function findLeft(db: Db, runId: string, retryFailed: boolean): Promise<number[]> {
  const positions: number[] = [];
  for await (const some of yieldBetween(remainingPositions(db, runId, retryFailed))) positions.push(...some);
  return positions;
}

async function* finishedBefore(db: Db, runId: string, retryFailed: boolean): AsyncGenerator<TaskResult> {
  for await (const page of yieldBetween(attemptPages(db, runId))) {
    for (const { result, isFailed, isSuperseded } of page) {
      if (!isSuperseded && !(isFailed && retryFailed)) yield result;
    }
  }
}
