import { z } from "zod";
import { type CommandResult, HOME, type MachineCommand, type TaskMachine } from "../../domain/tasks/task-machine.js";
import { copyIntoMachine, copyOutOfMachine, writeIntoMachine } from "./copy-files.js";
import { GuestConnection } from "./guest-connection.js";
import type { MachineLimits } from "./machine-limits.js";
import type { StartedGuest } from "./start-guest.js";
import { watchMemory } from "./watch-memory.js";

const resultSchema = z.object({
  exit_code: z.number().int().nullable(),
  stdout: z.number().int().nonnegative(),
});

/** A machine over bubblewrap or Docker. What a command starts lives on until the machine is closed, and ends then. */
export class SandboxedMachine implements TaskMachine {
  readonly canRun = true;
  readonly #guest: GuestConnection;
  readonly #over = new AbortController();
  readonly #watched: Promise<void>;
  #closing: Promise<void> | null = null;

  constructor(
    private readonly started: StartedGuest,
    private readonly env: Readonly<Record<string, string>>,
    private readonly limits: MachineLimits,
  ) {
    this.#guest = new GuestConnection(started.stdin, started.stdout, (error) => void this.#end(error.message));
    void started.ended.then((stderr) => {
      this.#guest.end(new Error(`the task's machine has ended: ${lastLine(stderr) || "its first process is gone"}`));
      this.#over.abort();
    });
    this.#watched = started.watched === null ? Promise.resolve() : this.#watch(started.watched);
  }

  copyIn(from: string, path: string): Promise<void> {
    return copyIntoMachine(this.#guest, from, path, this.limits);
  }

  copyOut(path: string, to: string): Promise<boolean> {
    return copyOutOfMachine(this.#guest, path, to, this.limits);
  }

  /** Creates missing folders, and replaces what is there. */
  writeFile(path: string, content: string, mode = 0o644): Promise<void> {
    return writeIntoMachine(this.#guest, path, mode, [Buffer.from(content)]);
  }

  async makeFolder(path: string): Promise<void> {
    await this.#guest.request("folder", { path, replace: false });
  }

  async run({ argv, cwd, env, timeoutMs }: MachineCommand, signal: AbortSignal): Promise<CommandResult> {
    signal.throwIfAborted();
    const timeout = Math.min(Math.max(1, timeoutMs), this.limits.commandMs);
    const id = this.#guest.nextId;
    const { answerMs } = this.limits;
    let late = setTimeout(() => this.#end("it does not answer"), timeout + answerMs);
    const aborted = () => {
      clearTimeout(late);
      late = setTimeout(() => this.#end("it does not answer"), answerMs);
      this.#guest.request("stop", { command: id }).catch(() => undefined);
    };
    signal.addEventListener("abort", aborted, { once: true });
    try {
      const { head, body } = await this.#guest.request("run", {
        argv,
        cwd: cwd ?? HOME,
        env: { ...this.env, ...env },
        timeout_ms: timeout,
      });
      signal.throwIfAborted();
      const { exit_code, stdout } = resultSchema.parse(head);
      return { exitCode: exit_code, stdout: body.toString("utf8", 0, stdout), stderr: body.toString("utf8", stdout) };
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(late);
      signal.removeEventListener("abort", aborted);
    }
  }

  /** Ends everything that runs in it; when it returns, none of its processes is left. */
  close(): Promise<void> {
    return this.#end("it was closed");
  }

  #end(why: string): Promise<void> {
    this.#closing ??= (async () => {
      this.#guest.end(new Error(`the task's machine has ended: ${why}`));
      this.#over.abort();
      await this.started.kill();
      await this.#watched;
    })();
    return this.#closing;
  }

  #watch(pid: number): Promise<void> {
    const megabytes = Math.round(this.limits.memoryBytes / 2 ** 20);
    const why = `The machine's memory of ${megabytes} MB was used up: all processes were ended.`;
    const onTooMuch = async () => {
      await this.#guest.request("end_all", { why }).catch(() => undefined);
    };
    const onFull = () => void this.#end(`its files take more than its memory of ${megabytes} MB`);
    return watchMemory(pid, this.limits, onTooMuch, onFull, this.#over.signal);
  }
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
