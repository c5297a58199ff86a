/** A thread that reads the mail file for agents: calls of the mail handlers come in, their results go out. */
import { setImmediate } from "node:timers/promises";
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

async function answer({ handlerKey, args, context, config }: MailCall): Promise<ToolResult> {
  const handler = MAIL_HANDLERS[handlerKey];
  if (handler === undefined) throw new Error(`${handlerKey} is no handler of mail`);
  return handler.call(args, { ...context, signal }, { mailbox }, config);
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

/** Call after call; what has come in meanwhile is taken up before the next. */
async function work(): Promise<void> {
  isWorking = true;
  for (let one = next(); one !== undefined; one = next()) {
    parentPort?.postMessage(await outcome(one));
    await setImmediate();
  }
  isWorking = false;
}

async function outcome({ id, call }: ThreadCall<MailCall>): Promise<ThreadAnswer<ToolResult>> {
  try {
    return { id, answer: await answer(call) };
  } catch (error) {
    return { id, error: { message: (error as Error).stack ?? (error as Error).message } };
  }
}

parentPort?.on("message", (one: ThreadCall<MailCall>) => {
  (one.call.handlerKey === "email_get" ? reads : searches).push(one);
  if (!isWorking) void work();
});
