import type { AgentTarget } from "../../../domain/agents/agent-target.js";
import { UserError } from "../../../domain/errors.js";
import type { SuiteTask } from "../../../domain/tasks/suite-task.js";
import { flagName } from "../../../platform/flag-name.js";
import { needsMachine } from "../../../suites/definition/functions/needs-machine.js";
import { type AttachedInbox, attachedInbox } from "../../../suites/email/attached-inbox.js";
import { questionOfTask } from "../../../suites/email/email-answer.js";
import { FLAG_OF } from "./choose-agent-target.js";
import type { RunOptionName } from "./run-options.js";

/** Options that choose questions of a dataset. */
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

/** Options about mail, and about answers that have a gold answer. */
const OF_MAIL: readonly RunOptionName[] = ["cutoff", "partialInboxes"];
const OF_ANSWERS: readonly RunOptionName[] = ["scorers", "judge", "noJudge", "judgeVotes", "judgeBaseUrl"];

/** What the tasks of a suite have to do with mail. */
export interface SuiteMail {
  readonly inboxes: readonly AttachedInbox[];
  /** Whether any has a gold answer. */
  readonly hasAnswers: boolean;
}

export function suiteMail(tasks: readonly SuiteTask[]): SuiteMail {
  const inboxes = tasks.map(attachedInbox).filter((inbox) => inbox !== null);
  return { inboxes, hasAnswers: tasks.some((task) => questionOfTask(task) !== null) };
}

export function refuseDatasetFlags(given: ReadonlySet<string>): void {
  refuse(OF_DATASETS, given, "is not for tasks of a suite");
}

export function refuseMailFlags(given: ReadonlySet<string>, { inboxes, hasAnswers }: SuiteMail): void {
  if (inboxes.length === 0) refuse(OF_MAIL, given, "is for tasks about a mailbox (attach_inbox), and none of these is");
  if (!hasAnswers) {
    refuse(OF_ANSWERS, given, "is for tasks with a gold answer (email_answer), and none of these has one");
  }
}

/** An agent at a server has tools of its own, and what is graded lies in a machine here. */
export function refuseMachineTasks(target: AgentTarget | undefined, tasks: readonly SuiteTask[]): void {
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
