import { copyFileSync } from "node:fs";
import type { Started, WorkFolder } from "../art-e.js";

/** Workers as separate processes, and the output of workers and runs. */

export interface Worker extends Started {
  readonly name: string;
  /** The output so far. */
  said(): string;
}

/** Starts a worker with a copy of the mail, and stops it after the test. */
export class Workers {
  private readonly all: Worker[] = [];

  constructor(
    private readonly folder: WorkFolder,
    private readonly url: () => string,
  ) {}

  start(name: string, flags = "", variables: Readonly<Record<string, string>> = {}): Worker {
    const { path, start } = this.folder;
    copyFileSync(path("mail.db"), path(`${name}.db`));
    const line = `worker --db ${name}.db --name ${name} ${flags}`;
    const started = start(line, { ART_E_QUEUE_URL: this.url(), ...variables });
    let text = "";
    started.child.stderr?.on("data", (more: string) => {
      text += more;
    });
    const worker = { ...started, name, said: () => text };
    this.all.push(worker);
    return worker;
  }

  /** The started workers. */
  said(): string {
    return this.all.map((worker) => worker.said()).join("");
  }

  named(name: string): Worker {
    const found = this.all.find((worker) => worker.name === name);
    if (found === undefined) throw new Error(`no worker ${name} was started`);
    return found;
  }

  /** The newest worker of this name. */
  last(name: string): Worker {
    const found = this.all.findLast((worker) => worker.name === name);
    if (found === undefined) throw new Error(`no worker ${name} was started`);
    return found;
  }

  killLast(name: string): Promise<void> {
    return this.kill(this.last(name));
  }

  /** Sends SIGKILL, and waits for the end. */
  async kill(worker: Worker): Promise<void> {
    worker.child.kill("SIGKILL");
    await worker.ended;
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((worker) => this.kill(worker)));
  }
}

/** The parts of a result that do not depend on the process or machine. */
// biome-ignore lint/suspicious/noExplicitAny: lines of exported traces.
export function comparable(trace: any) {
  const { traceId, sessionId, runId, startedAt, endedAt, durationMs, turns, toolCalls, features, ...rest } = trace;
  return {
    ...rest,
    features: { ...features, seconds: undefined },
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    turns: turns.map(({ startedAt: _, latencyMs, waitedMs, waits, ...turn }: any) => turn),
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    toolCalls: toolCalls.map(({ startedAt: _, durationMs: __, ...call }: any) => call),
  };
}
