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

async function answer({ handlerKey, args, context, config }: MailCall): Promise<ToolResult> {
  const handler = MAIL_HANDLERS[handlerKey];
  if (handler === undefined) throw new Error(`${handlerKey} is no handler of mail`);
  return handler.call(args, { ...context, signal }, { mailbox }, config);
}

parentPort?.on("message", ({ id, call }: ThreadCall<MailCall>) => {
  const post = (message: ThreadAnswer<ToolResult>) => parentPort?.postMessage(message);
  answer(call).then(
    (result) => post({ id, answer: result }),
    (error: Error) => post({ id, error: { message: error.stack ?? error.message } }),
  );
});
