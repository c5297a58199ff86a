import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Suite, TaskList } from "../agents/agent.js";
import { getAgent, getVersion, saveCurrentVersion } from "../agents/registry-store.js";
import { isEvalScore } from "../evals/definition.js";
import { pinEvals } from "../evals/use-evals.js";
import { checkMailboxes, readFingerprint, readImportFilter } from "../mail/corpus.js";
import { yieldBetween } from "../platform/async.js";
import { commandLine } from "../platform/command-line.js";
import type { AppContext } from "../platform/context.js";
import { UserError } from "../platform/errors.js";
import { checkWritable } from "../platform/files.js";
import { flagName } from "../platform/text.js";
import { artESuite } from "../questions/dataset.js";
import { type Db, type LockWait, withWriteTransaction } from "../store/open-store.js";
import { type AttachedInbox, attachedInbox, questionOfTask } from "../suites/email-task.js";
import { openSuite } from "../suites/suite.js";
import { openSuiteFolder } from "../suites/suite-folder.js";
import { needsMachine } from "../suites/task-needs.js";
import type { PlannedSuiteTask, PlannedTask, Task } from "../tasks/question.js";
import type { SuiteTask } from "../tasks/suite-task.js";
import { toolsDigest } from "../tools/load-tools.js";
import { type AttachedTool, attachedOrDefault } from "../tools/tool.js";
import { tasksAt } from "../traces/results-store.js";
import { type AgentTarget, NO_LIMITS, type RunLimits, type RunSettings } from "../traces/run-settings.js";
import { getRun, type RunOwner, type RunRow } from "../traces/runs-store.js";
import { agentTargetOf, FLAG_OF, refuseFlagsTargetIgnores, targetModelName, usesMailHere } from "./agent-target.js";
import { type CreatedModel, createModel, modelNameOf } from "./create-model.js";
import { createRun, findLeft, type NewRunRequest, type RunSession, resumeRun } from "./create-run.js";
import {
  agentOfNewRun,
  chosenScorers,
  type RunOptionName,
  type RunOptions,
  type RunRequest,
  recordedScorers,
} from "./options.js";
import {
  differences,
  externalAgentSettings,
  newRunSettings,
  oracleSettings,
  refuseOracle,
  requestedSettings,
} from "./settings.js";

/** A new run over the tasks of a suite. All that are selected, unless --limit is given. */
export async function planSuiteRun(db: Db, folder: string, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { given } = request;
  refuseDatasetFlags(given);
  // API_URL in the environment is for questions: the tasks of most suites cannot be done there.
  const target = agentTargetOf(request, { ...context.settings.env, API_URL: undefined });
  if (target !== undefined) refuseFlagsTargetIgnores(target, request);
  const oracle = oracleSettings(modelOf(db, target, request), request.oracle, openSuiteFolder(folder));
  const limit = given.has("limit") && request.limit > 0 ? request.limit : null;
  const suite = await openSuite(folder, { ...request, ...oracle, limit }, context);
  const list = await suite.list();
  const mail = suiteMail(list.tasks);
  refuseMailFlags(given, mail);
  refuseMachineTasks(target, list.tasks);
  if (mail.inboxes.length > 0 && usesMailHere(target)) checkMailboxes(db, mail.inboxes, request.partialInboxes);
  const settings = { ...(await suiteSettings(db, target, list.tasks, request, context)), ...oracle };
  const model = await createModel(settings, request, context);
  return newRunPlan(db, { suite, list, settings, model }, request);
}

const OF_DATASETS: readonly RunOptionName[] = [
  "split",
  "dataset",
  "useJson",
  "revision",
  "minRealism",
  "maxSources",
  "ids",
  "inbox",
  "excludeKnownBad",
  "protocol",
];

const OF_MAIL: readonly RunOptionName[] = ["cutoff", "partialInboxes"];

const OF_ANSWERS: readonly RunOptionName[] = ["judge", "noJudge", "judgeVotes", "judgeBaseUrl"];

interface SuiteMail {
  readonly inboxes: readonly AttachedInbox[];
  readonly hasAnswers: boolean;
}

function suiteMail(tasks: readonly SuiteTask[]): SuiteMail {
  const inboxes = tasks.map(attachedInbox).filter((inbox) => inbox !== null);
  return { inboxes, hasAnswers: tasks.some((task) => questionOfTask(task) !== null) };
}

function refuseDatasetFlags(given: ReadonlySet<string>): void {
  refuse(OF_DATASETS, given, "is not for tasks of a suite");
}

function refuseMailFlags(given: ReadonlySet<string>, { inboxes, hasAnswers }: SuiteMail): void {
  if (inboxes.length === 0) refuse(OF_MAIL, given, "is for tasks about a mailbox (attach_inbox), and none of these is");
  if (!hasAnswers) {
    refuse(OF_ANSWERS, given, "is for tasks with a gold answer (email_answer), and none of these has one");
  }
}

/** An agent at a server has tools of its own, and what is graded lies in a machine here. */
function refuseMachineTasks(target: AgentTarget | undefined, tasks: readonly SuiteTask[]): void {
  if (target === undefined || target.kind === "command") return;
  const [first, ...others] = tasks.filter(needsMachine);
  if (first === undefined) return;
  throw new UserError(
    "flags_contradict",
    `${FLAG_OF[target.kind]}: ${others.length + 1} of ${tasks.length} tasks are graded by what is left in a machine, which an agent there cannot reach (${first.id}).`,
    "Use --agent-command or an agent of this program, or select tasks that are graded by the answer (email_answer).",
  );
}

function refuse(names: readonly RunOptionName[], given: ReadonlySet<string>, why: string): void {
  const other = names.find((name) => given.has(name));
  if (other === undefined) return;
  throw new UserError("flags_contradict", `${flagName(other)} ${why}.`, "Leave it out.");
}

function modelOf(db: Db, target: AgentTarget | undefined, options: RunOptions): string {
  const agentId = agentOfNewRun(options);
  return target === undefined
    ? modelNameOf(options, getAgent(db, agentId)).id
    : targetModelName(target, agentId, options);
}

/** Only answers that have a gold answer are judged. */
async function suiteSettings(
  db: Db,
  target: AgentTarget | undefined,
  tasks: readonly PlannedSuiteTask[],
  asked: RunOptions,
  context: AppContext,
): Promise<RunSettings> {
  const { inboxes, hasAnswers } = suiteMail(tasks);
  const options = hasAnswers ? asked : { ...asked, noJudge: true };
  const agentId = agentOfNewRun(options);
  const access = { mailbox: inboxes.length > 0, machine: tasks.some(needsMachine) };
  const settings =
    target === undefined
      ? newRunSettings(db, options, getAgent(db, agentId), context)
      : externalAgentSettings(target, agentId, options, context.settings.env, access);
  const scorers = hasAnswers ? chosenScorers(options.scorers, settings.judge !== null) : suiteEvals(options);
  return {
    ...settings,
    scorers: await pinEvals(db, recordedScorers("suite", scorers), context.settings),
    ...(options.functions === undefined ? {} : { functions: resolve(options.functions) }),
  };
}

/** Without a gold answer only evals can score a task. */
function suiteEvals({ scorers = [] }: RunOptions): readonly string[] {
  const other = scorers.find((name) => !isEvalScore(name));
  if (other === undefined) return scorers;
  throw new UserError(
    "flags_contradict",
    "--scorers is for tasks with a gold answer (email_answer), and none of these has one.",
    "Leave it out, or name evals.",
  );
}

/**
 * A stored run, with the settings it was created with. Other options, other mail or other tools would make its answers
 * incomparable: they are refused, unless --force records the difference.
 */
export async function planResume(db: Db, name: string, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { given } = request;
  const run = getRun(db, name, "newest");
  refuseOptionsOfNewRun(given, "resume", run.id);
  refuseImported(run, "be resumed");
  const requested = requestedSettings(run.settings, request, context);
  const changes = [...differences(run.settings, requested), ...changedSince(db, run)];
  if (changes.length > 0 && !request.force) {
    throw new UserError(
      "run_differs",
      `Run ${run.id} cannot go on as it was begun: ${changes.join("; ")}.`,
      `Go on with what it was begun with, or go on all the same and have the difference recorded: ${commandLine`art-e run --resume ${run.id} --force`}`,
    );
  }
  const settings =
    changes.length === 0 ? run.settings : { ...requested, changes: [...(run.settings.changes ?? []), ...changes] };
  const limits = limitsOf(request, run.limits);
  const output = outputToKeep(request.output) ?? run.output;
  if (request.output === undefined && output !== null) checkWritable("--output", output);
  const concurrency = given.has("concurrency") ? request.concurrency : run.settings.concurrency;
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
      resumeRun(db, run, { settings, limits, output, retryFailed: request.retryFailed, worker: owner, waiting }),
  };
}

function changedSince(db: Db, { settings, corpusFingerprint }: RunRow): string[] {
  return [
    ...((readFingerprint(db) ?? "") === corpusFingerprint ? [] : ["the mail has grown since"]),
    // A repeat has the tools of the run that it repeats, whatever has been made of them since.
    ...(settings.repeats !== undefined ||
    settings.elsewhere !== undefined ||
    toolsDigest(db, settings.agentId) === settings.toolsDigest
      ? []
      : ["the agent's tools have changed since"]),
  ];
}

/**
 * A new run over the questions of an old one, with its prompt, model, settings and tools, even where the agent has
 * changed since. Where the mail has changed it is refused, unless --force records the difference.
 */
export async function planRepeat(db: Db, name: string, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { given } = request;
  const run = getRun(db, name);
  refuseOptionsOfNewRun(given, "repeat", run.id);
  refuseImported(run, "be repeated");
  const requested = requestedSettings(run.settings, request, context);
  const changes = [
    ...differences(run.settings, requested),
    ...((readFingerprint(db) ?? "") === run.corpusFingerprint ? [] : ["the mail has grown since"]),
  ];
  if (changes.length > 0 && !request.force) {
    throw new UserError(
      "run_differs",
      `Run ${run.id} cannot be repeated as it was: ${changes.join("; ")}.`,
      "Leave out what differs, or add --force to repeat it all the same and have the difference recorded.",
    );
  }
  const concurrency = given.has("concurrency") ? request.concurrency : run.settings.concurrency;
  const settings = {
    ...requested,
    concurrency,
    repeats: run.id,
    ...(changes.length === 0 ? {} : { changes: [...(run.settings.changes ?? []), ...changes] }),
  };
  const tasks: PlannedTask[] = [];
  const positions = Array.from({ length: run.totalTasks }, (_, i) => i + 1);
  for await (const task of yieldBetween(tasksAt(db, run.id, positions))) tasks.push(task);
  const runId = newRunId();
  const limits = limitsOf(request, run.limits);
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

/** The agent of an imported run, with its prompt and tools, is where the run was made: here are its traces only. */
function refuseImported({ id, settings: { imported, environment } }: RunRow, what: string): void {
  if (environment !== undefined) {
    throw new UserError(
      "run_of_environment",
      `Run ${id} cannot ${what}: its tasks were episodes of a training environment, and its model was a trainer's.`,
      "Serve the environment again: art-e env serve.",
    );
  }
  if (imported === undefined) return;
  throw new UserError(
    "run_imported",
    `Run ${id} cannot ${what}: it was imported from ${imported.file}, and its agent is not in this database.`,
    "Do it where the run was made, or answer its questions anew: art-e run -a AGENT --dataset FILE.",
  );
}

const ONLY_FOR_SUITES: readonly RunOptionName[] = [
  "task",
  "tool",
  "tag",
  "index",
  "counterparts",
  "runnable",
  "functions",
  "accountSettings",
];

function refuseSuiteOptions(given: ReadonlySet<string>): void {
  const other = ONLY_FOR_SUITES.find((name) => given.has(name));
  if (other === undefined) return;
  const message = `${flagName(other)} is for tasks of a suite, and --suite is not given.`;
  throw new UserError("flags_contradict", message, "Add --suite DIR, or leave it out.");
}

export async function planNewRun(db: Db, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { given } = request;
  refuseSuiteOptions(given);
  const { env } = context.settings;
  const agentId = agentOfNewRun(request);
  const target = agentTargetOf(request, env);
  if (target !== undefined) refuseFlagsTargetIgnores(target, request);
  if (target?.kind === "api" && request.apiUrl === undefined) {
    context.note(`The agent is one of ${target.url}, as API_URL says.`);
  }
  const unpinned =
    target === undefined
      ? newRunSettings(db, request, getAgent(db, agentId), context)
      : externalAgentSettings(target, agentId, request, env);
  const settings = { ...unpinned, scorers: await pinEvals(db, unpinned.scorers, context.settings) };
  refuseOracle(settings.model, request.oracle);
  noteUnsetConditions(request, db, context);
  // Before the download: a missing key is found at once.
  const model = await createModel(settings, request, context);
  const suite = artESuite(settings.cutoff, request, context);
  const list = await suite.list();
  if (usesMailHere(settings.elsewhere)) checkMailboxes(db, list.tasks, request.partialInboxes);
  return newRunPlan(db, { suite, list, settings, model }, request);
}

/** Options that workers decide on, or that need what is on this machine only. */
const NOT_OVER_A_QUEUE: readonly RunOptionName[] = ["concurrency", "record", "functions", "oracle", "accountSettings"];

export function refuseFlagsQueueIgnores({ given }: RunRequest): void {
  const ignored = NOT_OVER_A_QUEUE.find((name) => given.has(name));
  if (ignored === undefined) return;
  const why = ignored === "concurrency" ? "each worker has its own" : "the tasks are answered on other machines";
  throw contradiction(`${flagName(ignored)} is not for a run over a queue: ${why}`);
}

export function checkQueueRun({ settings }: Pick<RunPlan, "settings">): void {
  if (settings.elsewhere !== undefined) throw contradiction("An external agent is asked from this machine only");
  if (settings.functions !== undefined) throw contradiction("The module of --functions is on this machine");
  if (settings.oracle !== undefined) throw contradiction("The oracle's file is on this machine");
  if (settings.model.startsWith("replay/")) throw contradiction("The file of replies is on this machine");
}

function contradiction(what: string): UserError {
  return new UserError(
    "flags_contradict",
    `${what}.`,
    "Leave it out, or run without --queue (and without ART_E_QUEUE_URL).",
  );
}

/** What opens the tasks of a stored run: they are in the database, and are not listed again. */
async function suiteOfRun(
  { split, dataset, settings }: RunRow,
  options: RunOptions,
  context: AppContext,
): Promise<Suite> {
  if (split !== "suite") return artESuite(settings.cutoff, options, context);
  // Runs over questions start without loading what machines are made of.
  const { openSuite } = await import("../suites/suite.js");
  const { functions, oracle, cutoff } = settings;
  const { accountSettings } = options;
  return openSuite(dataset.source, { limit: null, functions, oracle, cutoff, accountSettings }, context);
}

function newRunPlan(
  db: Db,
  { suite, list, settings, model }: Pick<RunPlan, "suite" | "settings" | "model"> & { readonly list: TaskList },
  options: RunOptions,
): RunPlan {
  const { set } = list;
  const { split, ...dataset } = set;
  const tasks = repeated(list.tasks, options.epochs);
  const runId = newRunId();
  const limits = limitsOf(options, NO_LIMITS);
  const output = outputToKeep(options.output);
  // The plan keeps the number, not the tasks: they are freed when the run is created.
  const count = tasks.length;
  const create = createRunOnce(db, {
    ...{ runId, name: options.name, tags: options.tags, set, tasks, settings, limits, output },
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
      if (settings.elsewhere === undefined) {
        await withWriteTransaction(db, waiting, () => saveCurrentVersion(db, settings.agentId));
      }
      return create(owner, waiting);
    },
  };
}

/** A run that can start: nothing has been written or spent yet. */
export interface RunPlan {
  readonly runId: string;
  readonly settings: RunSettings;
  readonly model: CreatedModel;
  /** Opens the tasks. Close it in the end, as the model. */
  readonly suite: Suite;
  /** Counts the tasks to answer; of a stored run that reads all of it. */
  tasks(): Promise<number>;
  readonly tools: readonly AttachedTool[];
  readonly limits: RunLimits;
  readonly output: string | undefined;
  readonly over: Pick<RunRow, "dataset" | "split" | "corpusFingerprint">;
  /** Creates or locks the run. Once. */
  begin(owner: RunOwner, waiting: LockWait): Promise<RunSession>;
}

/** Options that choose what is answered: a run that was created has them in the database. */
const SELECTS_TASKS: readonly RunOptionName[] = [
  "split",
  "dataset",
  "useJson",
  "revision",
  "limit",
  "minRealism",
  "maxSources",
  "ids",
  "inbox",
  "excludeKnownBad",
  "shuffle",
  "seed",
  "epochs",
  "price",
  "protocol",
  "suite",
  "task",
  "tool",
  "tag",
  "index",
  "counterparts",
  "runnable",
];

const RESUME_ONLY: readonly RunOptionName[] = ["resume", "retryFailed", "agent"];

function refuseOptionsOfNewRun(given: ReadonlySet<string>, how: "resume" | "repeat", runId: string): void {
  const names = how === "resume" ? SELECTS_TASKS : [...SELECTS_TASKS, ...RESUME_ONLY];
  const other = names.find((name) => given.has(name));
  if (other === undefined) return;
  const message =
    how === "resume"
      ? `--resume answers what is missing of run ${runId}: ${flagName(other)} cannot choose anything else.`
      : `--repeat asks what run ${runId} asked, with the agent it had: ${flagName(other)} cannot change that.`;
  throw new UserError("flags_contradict", message, "Leave it out, or begin a new run.");
}

/** Creates the run on the first call, and frees the tasks then: they are in the database from there on. */
function createRunOnce(db: Db, run: Omit<NewRunRequest, "worker" | "waiting">): RunPlan["begin"] {
  let { tasks } = run;
  const { tasks: _, ...rest } = run;
  return (owner, waiting) => {
    const all = tasks;
    tasks = [];
    return createRun(db, { ...rest, tasks: all, worker: owner, waiting });
  };
}

function repeated<T extends Task>(tasks: readonly T[], epochs: number): PlannedTask<T>[] {
  return Array.from({ length: epochs }, (_, i) => tasks.map((task) => ({ task, epoch: i + 1 }))).flat();
}

/** Sorts by time; the random part tells apart runs of the same second. */
export function newRunId(): string {
  const time = new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
  return `run_${time}_${randomBytes(3).toString("hex")}`;
}

function toolsNow(db: Db, settings: RunSettings): readonly AttachedTool[] {
  return settings.elsewhere === undefined ? attachedOrDefault(db, settings.agentId) : [];
}

function toolsOfRun(db: Db, { settings }: RunRow): readonly AttachedTool[] {
  if (settings.elsewhere !== undefined) return [];
  return getVersion(db, settings.agentId, settings.agentVersion).tools;
}

function noteUnsetConditions({ protocol }: { protocol?: "art" | undefined }, db: Db, { note }: AppContext): void {
  if (protocol === undefined || readImportFilter(db) === "art") return;
  note(
    `--protocol art: the mail in ${db.name} was imported without ART's filter. For it, import into a file of its own: art-e import --filter art --db FILE.`,
  );
}

function limitsOf(options: RunOptions, stored: RunLimits): RunLimits {
  return {
    maxCostUsd: options.maxCost ?? stored.maxCostUsd,
    maxTokens: options.maxRunTokens ?? stored.maxTokens,
    maxTimeMs: options.maxTime === undefined ? stored.maxTimeMs : options.maxTime * 60_000,
    maxFailures: options.maxFailures ?? stored.maxFailures,
  };
}

/** The path that a resumed run writes its results to again. Null for a pipe or a device, which may be gone by then. */
function outputToKeep(path: string | undefined): string | null {
  if (path === undefined) return null;
  return (statSync(path, { throwIfNoEntry: false })?.isFile() ?? true) ? resolve(path) : null;
}
