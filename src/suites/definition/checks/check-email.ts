import type { z } from "zod";
import { ATTACH_INBOX, attachInboxSchema } from "../../email/attached-inbox.js";
import { EMAIL_ANSWER, emailAnswerSchema } from "../../email/email-answer.js";
import { fieldPath } from "../finding.js";
import { findingsOf, type TaskCheck } from "./check-context.js";

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  [ATTACH_INBOX]: attachInboxSchema,
  [EMAIL_ANSWER]: emailAnswerSchema,
};

/** Arguments of functions about mail are as the functions take them, and an answer is looked for in one mailbox. */
export const checkEmail: TaskCheck = (read, context) => {
  const { error } = findingsOf(read, context);
  const wrong = read.calls.flatMap(({ func, arguments: args, argumentsField }) => {
    const parsed = Object.hasOwn(SCHEMAS, func) ? SCHEMAS[func]?.safeParse(args) : undefined;
    return (parsed?.error?.issues ?? []).map(({ path, message }) =>
      error("arguments_invalid", `${argumentsField}.${fieldPath(path)}`, message),
    );
  });
  const inboxes = read.calls.filter(({ func }) => func === ATTACH_INBOX);
  const answer = read.calls.find(({ func }) => func === EMAIL_ANSWER);
  const second = inboxes[1];
  return [
    ...wrong,
    ...(answer !== undefined && inboxes.length === 0
      ? [error("inbox_missing", answer.funcField, `${EMAIL_ANSWER} takes a mailbox: ${ATTACH_INBOX} in config`)]
      : []),
    ...(second === undefined ? [] : [error("inbox_twice", second.funcField, "a task has one mailbox, the first")]),
  ];
};
