// Plans a new run: what is asked, who answers, and what is checked before anything is spent.
import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { externalAgentOf, usesMailHere } from "../agents/external-agent.js";
import { getAgent, saveCurrentVersion } from "../agents/registry-store.js";
import type { Suite } from "../agents/task-source.js";
import { pinEvals } from "../evals/scoring-evals.js";
import { readFingerprint, readImportFilter } from "../mail/corpus.js";
import { unrecordedHeader } from "../models/request-extras.js";
import type { AppContext } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { statOf } from "../platform/file-stats.js";
import { checkMailboxes } from "../questions/check-mailboxes.js";
import { loadSelection, questionSuite, shuffled } from "../questions/dataset.js";
import type { Db } from "../store/open-store.js";
import { type LockWait, withWriteTransaction } from "../store/write-transaction.js";
import { askedFor, type PlannedTask, type Question, type Task, type TaskId, type TaskSet } from "../tasks/question.js";
import { count } from "../text/format.js";
import { offeredToolIds } from "../tools/load-tools.js";
import { type AttachedTool, attachedOrDefault } from "../tools/tools-store.js";
import type { RunOwner } from "../traces/run-lock.js";
import { type ExecutedRunSettings, NO_LIMITS, type OwnRunSettings, type RunLimits } from "../traces/run-settings.js";
import type { RunRow } from "../traces/runs-store.js";
import { createRun, type NewRunRequest, type RunSession } from "./create-run.js";
import { type CreatedModel, createModel } from "./model-of-run.js";
import type { RunOptions } from "./run-flags.js";
import { agentOfNewRun, type RunRequest, refuseFlags } from "./run-options.js";
import {
  externalAgentSettings,
  newRunSettings,
  ORACLE_MODEL,
  refuseFlagsTargetIgnores,
} from "./settings-from-options.js";

/** A run that can start. Nothing has been written or spent yet. */
export interface RunPlan {
  readonly runId: string;
  readonly settings: ExecutedRunSettings;
  readonly model: CreatedModel;
  /** Opens the tasks. Must be closed at the end, like the model. */
  readonly suite: Suite;
  /** Counts the tasks to answer. For a stored run, this reads the entire run. */
  tasks(): Promise<number>;
  readonly tools: readonly AttachedTool[];
  readonly limits: RunLimits;
  readonly output: string | undefined;
  readonly over: Pick<RunRow, "dataset" | "split" | "corpusFingerprint">;
  /** Creates or locks the run. Must be called only once. */
  begin(owner: RunOwner, waiting: LockWait): Promise<RunSession>;
}

interface PlannedParts extends Pick<RunPlan, "suite" | "settings" | "model"> {
  readonly set: TaskSet;
  readonly tasks: readonly Task[];
}

export async function planNewRun(db: Db, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { explicitFlags } = request;
  refuseFlags("questions", explicitFlags);
  const { env } = context.settings;
  const agentId = agentOfNewRun(request);
  const target = externalAgentOf(request, env);
  if (target !== undefined) refuseFlagsTargetIgnores(target, request);
  if (target?.kind === "api" && request.apiUrl === undefined) {
    context.note(`Using the agent at ${target.url} (API_URL).`);
  }
  const unpinned =
    target === undefined
      ? newRunSettings(db, request, getAgent(db, agentId), context)
      : externalAgentSettings(target, agentId, request, env);
  const pinned = await pinEvals(db, unpinned.scorers, context.settings);
  const scorers = [...pinned, ...(request.functionScorers ?? []).map(({ name }) => name)];
  const selection = request.questions === undefined ? unpinned.selection : {};
  const settings = await withUntil({ ...unpinned, scorers, selection }, request, context);
  noteUnsetConditions(request, db, context);
  // Before the download, so that a missing key is found immediately.
  const model = await createModel(settings, request, context);
  const selected = request.questions ?? (await loadSelection(request, context));
  const { set, questions, matching = questions.length } = selected;
  refuseOracle(settings.model, questions);
  if (usesMailHere(target)) checkMailboxes(db, questions, request.partialInboxes);
  if (questions.length < matching && !request.explicitFlags.has("limit")) {
    context.note(`${count(questions.length)} of ${count(matching)} questions: the default limit. All: -l 0`);
  }
  const tasks = questions.map((task) => ({ kind: "question" as const, task }));
  const suite = questionSuite(settings.cutoff);
  return newRunPlan(db, { suite, set, tasks, settings: withActionTools(settings, questions), model }, request);
}

/** Records which tools an external agent is offered if a question requires actions. */
function withActionTools(settings: ExecutedRunSettings, questions: readonly Question[]): ExecutedRunSettings {
  if (settings.kind !== "external" || settings.tools.length === 0) return settings;
  const actions = questions.some(({ goal }) => goal !== undefined);
  return { ...settings, tools: offeredToolIds({ mailbox: true, machine: false, actions }) };
}

/** Rejects the oracle if a question requires an answer. It can only carry out gold actions and select gold emails. */
function refuseOracle(model: string, questions: readonly Question[]): void {
  const unknown = questions.find((question) => askedFor(question) === "answer");
  if (model !== ORACLE_MODEL || unknown === undefined) return;
  throw new UserError(
    "flags_contradict",
    `The model ${model} only does suite tasks and tasks that ask for actions or emails, and question ${unknown.id} asks for an answer.`,
    "Pass --suite FOLDER, or use another agent.",
  );
}

/** Returns the settings of a run over a queue. Throws a UserError if workers cannot answer the run. */
export function queueSettings({ settings }: Pick<RunPlan, "settings">): OwnRunSettings {
  if (settings.kind === "external") throw contradiction("An external agent is asked from this machine only");
  if (settings.functions !== undefined) throw contradiction("The module of --functions is on this machine");
  if (settings.oracle !== undefined) throw contradiction("The oracle's file is on this machine");
  if (settings.model.startsWith("replay/")) throw contradiction("The file of replies is on this machine");
  const [header, judgeHeader] = [unrecordedHeader(settings), unrecordedHeader(settings.judge ?? {})];
  if (header === null && judgeHeader === null) return settings;
  const flag = header === null ? `--judge-header ${judgeHeader}` : `--header ${header}`;
  throw new UserError(
    "flags_contradict",
    `${flag}: its value may be a secret, and is not sent to the workers of a queue.`,
    `Set a variable at each worker, and write \${VARIABLE} as the value.`,
  );
}

function contradiction(what: string): UserError {
  return new UserError(
    "flags_contradict",
    `${what}.`,
    "Leave it out, or run without --queue (and without ART_E_QUEUE_URL).",
  );
}

export function newRunPlan(
  db: Db,
  { suite, set, tasks: unrepeated, settings, model }: PlannedParts,
  options: RunRequest,
): RunPlan {
  const { split, ...dataset } = set;
  const repeated = repeatTasks(unrepeated, options.epochs);
  const tasks = settings.until === undefined ? repeated : inTestOrder(repeated, settings.until.seed);
  const runId = newRunId();
  const limits = limitsOf(options, NO_LIMITS);
  const output = outputToKeep(options.output);
  // The plan keeps only the number of tasks, so that they can be freed when the run is created.
  const count = tasks.length;
  const create = createRunOnce(db, {
    runId,
    name: options.name,
    tags: options.tags,
    set,
    tasks,
    settings,
    limits,
    output,
  });
  return {
    runId,
    settings,
    model,
    suite,
    tasks: async () => count,
    tools: toolsNow(db, settings),
    limits,
    output: options.output,
    over: { dataset, split, corpusFingerprint: readFingerprint(db) ?? "" },
    async begin(owner, waiting) {
      if (settings.kind === "own") {
        await withWriteTransaction(db, waiting, () => saveCurrentVersion(db, settings.agentId));
      }
      return create(owner, waiting);
    },
  };
}

/**
 * A separate function, because the plan's functions would otherwise keep all questions in memory during the entire run.
 */
function repeatTasks(tasks: readonly Task[], epochs: number): PlannedTask[] {
  return Array.from({ length: epochs }, (_, i) => tasks.map((task) => ({ ...task, epoch: i + 1 }))).flat();
}

/** Creates the run on the first call and then frees the tasks, which are in the database from then on. */
export function createRunOnce(db: Db, run: Omit<NewRunRequest, "worker" | "waiting">): RunPlan["begin"] {
  let { tasks } = run;
  const { tasks: _, ...rest } = run;
  return (owner, waiting) => {
    const all = tasks;
    tasks = [];
    return createRun(db, { ...rest, tasks: all, worker: owner, waiting });
  };
}

/** Returns an id that sorts by time. The random part distinguishes runs created in the same second. */
export function newRunId(): string {
  const time = new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
  return `run_${time}_${randomBytes(3).toString("hex")}`;
}

export function toolsNow(db: Db, settings: ExecutedRunSettings): readonly AttachedTool[] {
  return settings.kind === "own" ? attachedOrDefault(db, settings.agentId) : [];
}

function noteUnsetConditions({ protocol }: { protocol?: "art" | undefined }, db: Db, { note }: AppContext): void {
  if (protocol === undefined || readImportFilter(db) === "art") return;
  note(
    `--protocol art: the mail in ${db.name} was imported without ART's filter. Import the mail into a separate file: ${commandLine`art-e import --filter art --db FILE`}.`,
  );
}

export function limitsOf(options: RunOptions, stored: RunLimits): RunLimits {
  return {
    maxCostUsd: options.maxCost ?? stored.maxCostUsd,
    maxTokens: options.maxRunTokens ?? stored.maxTokens,
    maxTimeMs: options.maxTime === undefined ? stored.maxTimeMs : options.maxTime * 60_000,
    maxFailures: options.maxFailures ?? stored.maxFailures,
  };
}

/** Returns the settings with the claim of `--until`, if there is one. Throws a UserError if it cannot be tested. */
export async function withUntil<Settings extends ExecutedRunSettings>(
  settings: Settings,
  { until, seed = 1 }: Pick<RunOptions, "until" | "seed">,
  context: AppContext,
): Promise<Settings> {
  if (until === undefined) return settings;
  // Imported only now, because few runs stop themselves.
  const { untilSettings } = await import("../results/claim-watch.js");
  return { ...settings, until: await untilSettings(until, settings, seed, context) };
}

/**
 * Returns the tasks in a seeded random order. All epochs of a question are asked one after another, because the
 * question counts once all of them are answered.
 */
export function inTestOrder(tasks: readonly PlannedTask[], seed: number): PlannedTask[] {
  const byQuestion = new Map<TaskId, PlannedTask[]>();
  for (const task of tasks) {
    const epochs = byQuestion.get(task.task.id) ?? [];
    epochs.push(task);
    byQuestion.set(task.task.id, epochs);
  }
  return shuffled([...byQuestion.values()], seed).flat();
}

/**
 * Returns the path that a resumed run writes its results to again, or null for a pipe or a device, which might be gone
 * by then.
 */
export function outputToKeep(path: string | undefined): string | null {
  if (path === undefined) return null;
  return (statOf(path)?.isFile() ?? true) ? resolve(path) : null;
}
