import { resolve } from "node:path";
import type { AgentTarget } from "../../../domain/agents/agent-target.js";
import { UserError } from "../../../domain/errors.js";
import { isEvalScore } from "../../../domain/evals/score-names.js";
import type { RunSettings } from "../../../domain/runs/benchmark-result.js";
import type { PlannedSuiteTask } from "../../../domain/tasks/planned-task.js";
import type { Db } from "../../../store/connection/open-store.js";
import { getAgent } from "../../../store/registry/agent-rows.js";
import { needsMachine } from "../../../suites/definition/functions/needs-machine.js";
import { openSuiteFolder } from "../../../suites/definition/suite-folder.js";
import { pinEvals } from "../../evals/evals-as-scorers.js";
import { chosenScorers, recordedScorers } from "../../score/choose-scorers.js";
import { openFolderSuite } from "../../suites/folder-suite.js";
import type { AppContext } from "../../use-case-context.js";
import { createModel, modelNameOf } from "../create-model.js";
import { checkMailboxes } from "./check-mailboxes.js";
import { agentTargetOf, refuseFlagsTargetIgnores, targetModelName, usesMailHere } from "./choose-agent-target.js";
import { oracleSettings } from "./choose-oracle.js";
import { newRunPlan } from "./new-run-plan.js";
import { externalAgentSettings, newRunSettings } from "./new-settings.js";
import { refuseDatasetFlags, refuseMachineTasks, refuseMailFlags, suiteMail } from "./refuse-suite-flags.js";
import { agentOfNewRun, type RunOptions, type RunRequest } from "./run-options.js";
import type { RunPlan } from "./run-plan.js";

/** A new run over the tasks of a suite. All that are selected, unless --limit is given. */
export async function planSuiteRun(db: Db, folder: string, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { options, given, callsModel } = request;
  refuseDatasetFlags(given);
  // API_URL in the environment is for questions: the tasks of most suites cannot be done there.
  const target = agentTargetOf(options, { ...context.settings.env, API_URL: undefined });
  if (target !== undefined) refuseFlagsTargetIgnores(target, request);
  const oracle = oracleSettings(modelOf(db, target, options), options.oracle, openSuiteFolder(folder));
  const limit = given.has("limit") && options.limit > 0 ? options.limit : null;
  const suite = await openFolderSuite(folder, { ...options, ...oracle, limit }, context);
  const list = await suite.list();
  const mail = suiteMail(list.tasks);
  refuseMailFlags(given, mail);
  refuseMachineTasks(target, list.tasks);
  if (mail.inboxes.length > 0 && usesMailHere(target)) checkMailboxes(db, mail.inboxes, options.partialInboxes);
  const settings = { ...(await suiteSettings(db, { target, tasks: list.tasks, options }, context)), ...oracle };
  const model = await createModel(settings, options, context.settings, { append: false, callsModel });
  return newRunPlan(db, { suite, list, settings, model }, options);
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
  run: {
    readonly target: AgentTarget | undefined;
    readonly tasks: readonly PlannedSuiteTask[];
    readonly options: RunOptions;
  },
  context: AppContext,
): Promise<RunSettings> {
  const { target, tasks } = run;
  const { inboxes, hasAnswers } = suiteMail(tasks);
  const options = hasAnswers ? run.options : { ...run.options, noJudge: true };
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
