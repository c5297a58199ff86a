import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Ended } from "./art-e.js";

const HOST = join(import.meta.dirname, "run-command-lines.mjs");

interface Host {
  readonly child: ChildProcess;
  /** Called at the end of the command line under way. */
  onEnded(ended: Ended | Error): void;
}

/** Processes that run command lines, each one at a time; as many as command lines are under way at once. */
export class CommandHosts {
  private readonly idle: Host[] = [];
  private readonly all: Host[] = [];

  async run(args: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Promise<Ended> {
    const host = this.idle.pop() ?? (await this.open(cwd, env));
    const ended = await new Promise<Ended | Error>((resolve) => {
      host.onEnded = resolve;
      host.child.send({ args, cwd, env });
    });
    if (ended instanceof Error) throw ended;
    this.idle.push(host);
    return ended;
  }

  close(): void {
    for (const { child } of this.all) child.kill("SIGKILL");
  }

  private async open(cwd: string, env: Readonly<Record<string, string>>): Promise<Host> {
    const child = fork(HOST, { cwd, env, execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const host: Host = { child, onEnded: () => undefined };
    this.all.push(host);
    await once(child, "message");
    child.on("message", (ended) => host.onEnded(ended as Ended));
    child.on("exit", (code) => {
      host.onEnded(new Error(`the process that ran art-e ended with ${code}: this line wants one of its own`));
    });
    return host;
  }
}
