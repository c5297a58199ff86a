/** A thread that reads the mail file for agents: calls of the mail handlers come in, their results go out. */
import { parentPort, workerData } from "node:worker_threads";
import type { ToolResult } from "../domain/tool.js";
import { openReadOnly } from "../store/open.js";
import type { ThreadAnswer, ThreadCall } from "../store/thread-calls.js";
import { MAIL_HANDLERS } from "./mail-handlers.js";
import type { MailCall } from "./mail-threads.js";
import { openMailbox } from "./mailbox.js";

const mailbox = openMailbox(openReadOnly((workerData as { path: string }).path));

/** No call here can be stopped halfway: each is a few milliseconds of SQLite. */
const { signal } = new AbortController();

/** At once, as all handlers of mail do. */
function answer({ handlerKey, args, context, config }: MailCall): ToolResult {
  const handler = MAIL_HANDLERS[handlerKey];
  if (handler === undefined) throw new Error(`${handlerKey} is no handler of mail`);
  return handler.call(args, { ...context, signal }, { mailbox }, config) as ToolResult;
}

const reads: ThreadCall<MailCall>[] = [];
const searches: ThreadCall<MailCall>[] = [];

/**
 * A mail read is a tenth of a search: were it to wait for all searches that came before, tasks would go through in
 * convoys, now all at this thread and now all at the model.
 */
function next(): ThreadCall<MailCall> | undefined {
  return reads.shift() ?? searches.shift();
}

let isWorking = false;

/** One call; what has come in meanwhile is taken up before the next. */
function work(): void {
  const one = next();
  isWorking = one !== undefined;
  if (one === undefined) return;
  parentPort?.postMessage(outcome(one));
  setImmediate(work);
}

function outcome({ id, call }: ThreadCall<MailCall>): ThreadAnswer<ToolResult> {
  try {
    return { id, answer: answer(call) };
  } catch (error) {
    return { id, error: { message: (error as Error).stack ?? (error as Error).message } };
  }
}

parentPort?.on("message", (one: ThreadCall<MailCall>) => {
  (one.call.handlerKey === "email_get" ? reads : searches).push(one);
  if (!isWorking) work();
});
