// Process that grades. Reading an agent's files can take unlimited time or memory. If it does, only this process is
// ended.
import { Worker } from "node:worker_threads";
import { NEVER } from "../../platform/deadline.js";
import type { CustomFunctions } from "../functions/custom-functions.js";
import { customFunctions } from "../functions/load-custom-functions.js";
import { AccountSettings } from "../task/account-settings.js";
import { evaluateTask } from "./evaluate-task.js";
import { ALIVE_EVERY_MS, type FromGrader, type GradingOrder, RemoteMachine, type ToGrader } from "./grading-pool.js";

/**
 * Runs on a thread, because when the program is killed, the main thread might be inside a library call that never
 * returns.
 */
const END_WITH_PARENT = `
const { workerData: parent } = require("node:worker_threads");
setInterval(() => process.ppid === parent || process.kill(process.pid, "SIGKILL"), 500);`;

const send = (message: FromGrader) => process.send?.(message);
let machine: RemoteMachine | null = null;
let functions: Promise<CustomFunctions> | undefined;

async function grade({ task, suite, workFolder, canRun, accounts, functions: path }: GradingOrder): Promise<void> {
  machine = new RemoteMachine(canRun, (id, call) => send({ id, call }));
  functions ??= customFunctions(path);
  const options = {
    workFolder,
    suiteRoot: suite.root,
    custom: await functions,
    accounts: new AccountSettings(suite, accounts.folder, accounts.env),
  };
  send({ grade: await evaluateTask(task, machine, options, NEVER) });
}

new Worker(END_WITH_PARENT, { eval: true, workerData: process.ppid }).unref();
send({ alive: true });
setInterval(() => send({ alive: true }), ALIVE_EVERY_MS).unref();
// Ctrl-C reaches the entire process group, but running tasks are still graded.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => undefined);
process.on("message", (message: ToGrader) => {
  if ("order" in message) {
    const failed = (error: unknown) => send({ grade: { score: null, state: "eval_error", reason: String(error) } });
    void grade(message.order).catch(failed);
  } else if ("value" in message) machine?.answer(message.id, message.value);
  else machine?.fail(message.id, message.failure);
});
