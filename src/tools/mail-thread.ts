/** A thread that reads the mail file for agents: calls of the mail handlers come in, their results go out. */
import { getPriority, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import type { ToolResult } from "../domain/tool.js";
import { openReadOnly } from "../store/open.js";
import type { ThreadAnswer, ThreadCall } from "../store/thread-calls.js";
import { MAIL_HANDLERS } from "./mail-handlers.js";
import { rehearsals } from "./mail-rehearsal.js";
import type { MailCall } from "./mail-threads.js";
import { openMailbox } from "./mailbox.js";

/**
 * Where cores are few, the loop must not stand behind searches: what is late there holds up every task, a search only its
 * own. On Linux alone a priority is a thread's, elsewhere its process's (`man 2 setpriority`, under "C library/kernel
 * differences"). With 15 a run without latency, where all cores are full, loses 7 % to tasks that wait for searches; with 5
 * it loses 1 %, and one with latency wins as much.
 */
const LESS_URGENT = 5;
if (process.platform === "linux") beLessUrgent();

function beLessUrgent(): void {
  try {
    setPriority(Math.min(19, getPriority() + LESS_URGENT));
  } catch {
    // Where a container forbids it, it is as urgent as the loop.
  }
}

const db = openReadOnly((workerData as { path: string }).path);
const mailbox = openMailbox(db);

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

let isAsked = false;

/** Until the first call comes. What is wrong with the file is that one's to say. */
function rehearse(calls: Iterator<MailCall, void>): void {
  try {
    const call = isAsked ? undefined : calls.next().value;
    if (call === undefined) return;
    answer(call);
    setImmediate(rehearse, calls);
  } catch {
    return;
  }
}
rehearse(rehearsals(db));

parentPort?.on("message", (one: ThreadCall<MailCall>) => {
  isAsked = true;
  (one.call.handlerKey === "email_get" ? reads : searches).push(one);
  if (!isWorking) work();
});
