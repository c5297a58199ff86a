// Suite tasks that are questions about a mailbox, graded by their answer.
import { z } from "zod";
import { type Question, questionSchema } from "../tasks/question.js";
import type { SuiteTask } from "../tasks/suite-task.js";
import { CannotGrade, type FlowbookFunction } from "./functions/grading-function.js";

export const EMAIL_ANSWER = "email_answer";

const { id, answer, message_ids, how_realistic } = questionSchema.shape;

export const emailAnswerSchema = z.looseObject({ question_id: id, answer, message_ids, how_realistic });

/** Scores the agent's answer by its word overlap with the gold answer. */
export const emailAnswer: FlowbookFunction = async (args, { options: { scoreAnswer } }) => {
  if (scoreAnswer === undefined)
    throw new CannotGrade("unsupported", "the task is graded by its answer, which is missing");
  const gold = emailAnswerSchema.safeParse(args);
  if (gold.success) return scoreAnswer(gold.data.answer);
  throw new CannotGrade("unsupported", `its arguments are invalid: ${z.prettifyError(gold.error)}`);
};

/** Returns whether only the answer is graded, so that no file is collected. */
export function isGradedByAnswer({ evaluation }: Pick<SuiteTask, "evaluation">): boolean {
  return evaluation?.metrics.every(({ func }) => func === EMAIL_ANSWER) ?? false;
}

/** Returns the question that a task asks about its mailbox, or null if there is none. */
export function questionOfTask(task: SuiteTask): Question | null {
  const inbox = attachedInbox(task);
  const metric = task.evaluation?.metrics.find(({ func }) => func === EMAIL_ANSWER);
  const gold = emailAnswerSchema.safeParse(metric?.options);
  if (inbox === null || !gold.success) return null;
  const { question_id, answer, message_ids, how_realistic } = gold.data;
  return {
    id: question_id,
    question: task.instruction,
    answer,
    message_ids,
    how_realistic,
    inbox_address: inbox.inbox_address,
    query_date: inbox.query_date,
  };
}

export const ATTACH_INBOX = "attach_inbox";

const { inbox_address, query_date } = questionSchema.shape;

export const attachInboxSchema = z.looseObject({ inbox_address, query_date });

/** The mailbox that a task's agent can search, and the last day of its mail. */
export type AttachedInbox = z.output<typeof attachInboxSchema>;

/** Returns the task's mailbox, or null if it has none or an invalid one, which its setup rejects. */
export function attachedInbox({ config }: Pick<SuiteTask, "config">): AttachedInbox | null {
  const call = config.find(({ func }) => func === ATTACH_INBOX);
  return attachInboxSchema.safeParse(call?.arguments).data ?? null;
}
