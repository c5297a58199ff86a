// Plans a new run over the tasks of a suite.
import { resolve } from "node:path";
import { externalAgentOf, externalModelName, FLAG_OF, usesMailHere } from "../../agents/external-agent.js";
import { getAgent } from "../../agents/registry-store.js";
import { isEvalScore } from "../../evals/definition.js";
import { pinEvals } from "../../evals/scoring-evals.js";
import type { AppContext } from "../../platform/app-context.js";
import { UserError } from "../../platform/errors.js";
import { checkMailboxes } from "../../questions/check-mailboxes.js";
import type { Db } from "../../store/open-store.js";
import { type AttachedInbox, attachedInbox, questionOfTask } from "../../suites/email-task.js";
import { openSuite } from "../../suites/suite.js";
import { openSuiteFolder } from "../../suites/suite-folder.js";
import { needsMachine } from "../../suites/task-needs.js";
import type { PlannedSuiteTask } from "../../tasks/question.js";
import type { SuiteTask } from "../../tasks/suite-task.js";
import type { AgentTarget, ExecutedRunSettings } from "../../traces/run-settings.js";
import { createModel, modelNameOf } from "../model-of-run.js";
import { newRunPlan, type RunPlan, withUntil } from "../plan-run.js";
import type { RunOptions } from "../run-flags.js";
import { agentOfNewRun, chosenScorers, type RunRequest, recordedScorers, refuseFlags } from "../run-options.js";
import {
  externalAgentSettings,
  newRunSettings,
  oracleSettings,
  refuseFlagsTargetIgnores,
} from "../settings-from-options.js";

interface SuiteMail {
  readonly inboxes: readonly AttachedInbox[];
  readonly hasAnswers: boolean;
}

/** Plans a new run over a suite's tasks. Includes all selected tasks unless --limit is given. */
export async function planSuiteRun(db: Db, folder: string, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { explicitFlags } = request;
  refuseFlags("suite", explicitFlags);
  // API_URL in the environment is only for questions, because most suites' tasks cannot be done through that API.
  const target = externalAgentOf(request, { ...context.settings.env, API_URL: undefined });
  if (target !== undefined) refuseFlagsTargetIgnores(target, request);
  const oracle = await oracleSettings(modelOf(db, target, request), request.oracle, openSuiteFolder(folder));
  const limit = explicitFlags.has("limit") && request.limit > 0 ? request.limit : null;
  const suite = await openSuite(folder, { ...request, ...oracle, limit }, context);
  const { set, tasks } = await suite.list();
  const mail = suiteMail(tasks);
  refuseMailFlags(explicitFlags, mail);
  refuseMachineTasks(target, tasks);
  if (mail.inboxes.length > 0 && usesMailHere(target)) checkMailboxes(db, mail.inboxes, request.partialInboxes);
  const unaided = await suiteSettings(db, target, tasks, request, context);
  const aided = unaided.kind === "own" ? { ...unaided, ...oracle } : unaided;
  const settings = await withUntil(aided, request, context);
  const model = await createModel(settings, request, context);
  const planned = tasks.map((task) => ({ kind: "suite" as const, task }));
  return newRunPlan(db, { suite, set, tasks: planned, settings, model }, request);
}

function suiteMail(tasks: readonly SuiteTask[]): SuiteMail {
  const inboxes = tasks.map(attachedInbox).filter((inbox) => inbox !== null);
  return { inboxes, hasAnswers: tasks.some((task) => questionOfTask(task) !== null) };
}

function refuseMailFlags(explicitFlags: ReadonlySet<string>, { inboxes, hasAnswers }: SuiteMail): void {
  if (inboxes.length === 0) refuseFlags("suite without mail", explicitFlags);
  if (!hasAnswers) refuseFlags("suite without answers", explicitFlags);
}

/**
 * Refuses tasks graded by the contents of a local machine, which an agent on a server cannot reach with its own tools.
 */
function refuseMachineTasks(target: AgentTarget | undefined, tasks: readonly SuiteTask[]): void {
  if (target === undefined || target.kind === "command") return;
  const [first, ...others] = tasks.filter(needsMachine);
  if (first === undefined) return;
  throw new UserError(
    "flags_contradict",
    `${FLAG_OF[target.kind]}: ${others.length + 1} of ${tasks.length} tasks are graded by their machine, which this agent cannot reach (${first.id}).`,
    "Use --agent-command or an agent in art-e, or select tasks that are graded by the answer (email_answer).",
  );
}

function modelOf(db: Db, target: AgentTarget | undefined, options: RunRequest): string {
  const agentId = agentOfNewRun(options);
  return target === undefined
    ? modelNameOf(options, getAgent(db, agentId)).id
    : externalModelName(target, agentId, options);
}

/** Only tasks with a gold answer are judged. */
async function suiteSettings(
  db: Db,
  target: AgentTarget | undefined,
  tasks: readonly PlannedSuiteTask[],
  request: RunRequest,
  context: AppContext,
): Promise<ExecutedRunSettings> {
  const { inboxes, hasAnswers } = suiteMail(tasks);
  // Without --limit, all selected tasks run.
  const limit = request.explicitFlags.has("limit") ? request.limit : 0;
  const options = { ...request, limit, ...(hasAnswers ? {} : { noJudge: true }) };
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

/** Returns the requested evals. Without a gold answer, only evals can score a task. */
function suiteEvals({ scorers = [] }: RunOptions): readonly string[] {
  const other = scorers.find((name) => !isEvalScore(name));
  if (other === undefined) return scorers;
  throw new UserError(
    "flags_contradict",
    "--scorers is for tasks with a gold answer (email_answer), and none of these has one.",
    "Leave it out, or name evals.",
  );
}
