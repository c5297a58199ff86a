import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Ended } from "./art-e.js";

const HOST = join(import.meta.dirname, "run-command-lines.mjs");

type Env = Readonly<Record<string, string>>;

interface Host {
  readonly child: ChildProcess;
  /** Called when the running command line ends. */
  onEnded(ended: Ended | Error): void;
}

/** Number of idle processes kept for the next test file. Each uses about 100 MB. */
const KEPT = 2;

const idle: Host[] = [];

/**
 * Runs a command line in a process that is reused, also across test files. There are as many processes as concurrent
 * command lines. They end with the test process.
 */
export async function runCommandLine(args: readonly string[], cwd: string, env: Env): Promise<Ended> {
  const host = idle.pop() ?? (await openHost(cwd, env));
  const ended = await new Promise<Ended | Error>((resolve) => {
    host.onEnded = resolve;
    host.child.send({ args, cwd, env });
  });
  if (ended instanceof Error) throw ended;
  idle.push(host);
  return ended;
}

/** Call after a test file. */
export function closeSpareHosts(): void {
  for (const { child } of idle.splice(KEPT)) child.kill("SIGKILL");
}

async function openHost(cwd: string, env: Env): Promise<Host> {
  const child = fork(HOST, { cwd, env, execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const host: Host = { child, onEnded: () => undefined };
  await once(child, "message");
  child.on("message", (ended) => host.onEnded(ended as Ended));
  child.on("exit", (code, signal) => {
    host.onEnded(
      new Error(`the process that ran art-e ended with ${code ?? signal}: run this line in a separate process`),
    );
  });
  return host;
}
