import { z } from "zod";
import { questionSchema } from "../../domain/tasks/question.js";
import type { SuiteTask } from "../../domain/tasks/suite-task.js";

export const ATTACH_INBOX = "attach_inbox";

const { inbox_address, query_date } = questionSchema.shape;

export const attachInboxSchema = z.looseObject({ inbox_address, query_date });

/** The mailbox that a task's agent may search, and the last day of its mail. */
export type AttachedInbox = z.output<typeof attachInboxSchema>;

/** Null: the task names none, or names it wrongly, which its set-up refuses. */
export function attachedInbox({ config }: Pick<SuiteTask, "config">): AttachedInbox | null {
  const call = config.find(({ func }) => func === ATTACH_INBOX);
  return attachInboxSchema.safeParse(call?.arguments).data ?? null;
}
