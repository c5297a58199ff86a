// The grading processes, which can be ended, because hostile files can take endless time or memory.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import pLimit from "p-limit";
import { z } from "zod";
import { builtFile } from "../../platform/program-files.js";
import type { CommandResult, MachineCommand, TaskMachine } from "../../sandbox/task-machine.js";
import { gradeSchema } from "../../tasks/question.js";
import { type Grade, OBSTACLE_STATES, type SuiteTask } from "../../tasks/suite-task.js";
import type { SuiteFolder } from "../suite-folder.js";

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Sources shared by all gradings in a run. They can be sent to another process. */
interface GradingSources {
  readonly suite: SuiteFolder;
  /** Path of the user's module, or undefined if there is none. */
  readonly functions: string | undefined;
  /** Folder of account settings, and the variables that set some. */
  readonly accounts: { readonly folder: string | null; readonly env: Readonly<Record<string, string>> };
}

export interface GradingOrder extends GradingSources {
  readonly task: SuiteTask;
  readonly workFolder: string;
  readonly canRun: boolean;
}

/** Messages to the grading process. */
export type ToGrader =
  | { readonly order: GradingOrder }
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: string };

const command = z.object({
  argv: z.array(z.string()).readonly(),
  cwd: z.string().nullable(),
  env: z.record(z.string(), z.string()).readonly(),
  timeoutMs: z.number(),
});

/** Requests from the grading process to the task's machine. */
const machineCallSchema = z.discriminatedUnion("op", [
  z.object({ op: z.literal("copyIn"), from: z.string(), path: z.string() }),
  z.object({ op: z.literal("copyOut"), path: z.string(), to: z.string() }),
  z.object({ op: z.literal("run"), command }),
]);

type MachineCall = z.output<typeof machineCallSchema>;

/** Messages from the grading process. It sends `alive` while its event loop runs. */
const fromGraderSchema = z.union([
  z.object({ id: z.number(), call: machineCallSchema }),
  z.object({
    grade: gradeSchema.extend({ state: z.enum(["success", "setup_error", "eval_error", ...OBSTACLE_STATES]) }),
  }),
  z.object({ alive: z.literal(true) }),
]);

export type FromGrader = z.output<typeof fromGraderSchema>;

/** The task's machine, which another process has opened. */
export class RemoteMachine implements TaskMachine {
  private readonly waiting = new Map<number, Waiting>();
  private calls = 0;

  constructor(
    readonly canRun: boolean,
    private readonly send: (id: number, call: MachineCall) => void,
  ) {}

  async copyIn(from: string, path: string): Promise<void> {
    await this.ask({ op: "copyIn", from, path });
  }

  async copyOut(path: string, to: string): Promise<boolean> {
    return (await this.ask({ op: "copyOut", path, to })) as boolean;
  }

  async run(command: MachineCommand): Promise<CommandResult> {
    return (await this.ask({ op: "run", command })) as CommandResult;
  }

  answer(id: number, value: unknown): void {
    this.take(id)?.resolve(value);
  }

  fail(id: number, message: string): void {
    this.take(id)?.reject(new Error(message));
  }

  private ask(call: MachineCall): Promise<unknown> {
    const id = ++this.calls;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send(id, call);
    });
  }

  private take(id: number): Waiting | undefined {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    return waiting;
  }
}

const PROGRAM = fileURLToPath(builtFile("suites/grading/grading-process.js"));

/** Maximum milliseconds to start, which takes long only on a busy machine. */
const START_MS = 60_000;
/**
 * Heap in MB for reading and comparing, excluding the bytes of files, and maximum milliseconds between `alive`
 * messages.
 */
const LIMITS = { heapMb: 2_048, busyMs: 120_000 };
/** Number of tasks graded concurrently. While one waits for its script, others can be graded. */
const AT_ONCE = 2 * availableParallelism();

/**
 * Grades in separate processes, because reading hostile files can take unlimited time or memory. This way, such files
 * do not delay other tasks.
 */
export class GradingPool {
  private readonly idle = new Set<ChildProcess>();
  private readonly all = new Set<ChildProcess>();
  private readonly limit = pLimit(AT_ONCE);

  constructor(
    private readonly sources: GradingSources,
    private readonly limits = LIMITS,
  ) {}

  /** Grades a task. Throws only if `signal` aborts. */
  evaluate(task: SuiteTask, machine: TaskMachine, workFolder: string, signal: AbortSignal): Promise<Grade> {
    const order = { ...this.sources, task, workFolder, canRun: machine.canRun };
    return this.limit(async () => {
      signal.throwIfAborted();
      const [idle] = this.idle;
      const child = idle ?? this.start();
      this.idle.delete(child);
      const graded = await gradeIn(child, order, machine, signal, this.limits.busyMs);
      if ("unusable" in graded) {
        child.kill("SIGKILL");
        signal.throwIfAborted();
        return { score: null, state: "eval_error", reason: `grading failed: ${graded.unusable}` };
      }
      this.idle.add(child);
      return graded;
    });
  }

  async close(): Promise<void> {
    const exits = [...this.all].map((child) => once(child, "exit"));
    for (const child of this.all) child.kill("SIGKILL");
    await Promise.all(exits);
  }

  private start(): ChildProcess {
    const child = fork(PROGRAM, [], {
      serialization: "advanced",
      execArgv: [`--max-old-space-size=${this.limits.heapMb}`],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.all.add(child);
    child.on("exit", () => {
      this.all.delete(child);
      this.idle.delete(child);
    });
    child.on("error", () => undefined);
    return child;
  }
}

/** Resolves with the grade, or with the reason why the process is no longer usable. */
function gradeIn(
  child: ChildProcess,
  order: GradingOrder,
  machine: TaskMachine,
  signal: AbortSignal,
  busyMs: number,
): Promise<Grade | { readonly unusable: string }> {
  return new Promise((resolve) => {
    const tooLong = () =>
      end({ unusable: `reading the agent's files took longer than ${Math.round(busyMs / 1_000)} s` });
    let timer = setTimeout(tooLong, START_MS + busyMs);
    const aborted = () => end({ unusable: "interrupted" });
    const exited = (code: number | null, name: string | null) =>
      end({ unusable: `its process ended (${name ?? code}), probably because it ran out of memory` });
    const received = (reply: unknown) => {
      clearTimeout(timer);
      timer = setTimeout(tooLong, busyMs);
      const message = fromGraderSchema.safeParse(reply);
      if (!message.success) end({ unusable: "its process sent an invalid message" });
      else if ("grade" in message.data) end(message.data.grade);
      else if ("call" in message.data) void answer(child, message.data.id, message.data.call, machine, signal);
    };
    const end = (graded: Grade | { readonly unusable: string }) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
      child.off("message", received).off("exit", exited);
      resolve(graded);
    };
    signal.addEventListener("abort", aborted, { once: true });
    child.on("message", received).on("exit", exited);
    send(child, { order });
  });
}

async function answer(
  child: ChildProcess,
  id: number,
  call: MachineCall,
  machine: TaskMachine,
  signal: AbortSignal,
): Promise<void> {
  try {
    send(child, { id, value: await callMachine(call, machine, signal) });
  } catch (error) {
    send(child, { id, failure: (error as Error).message });
  }
}

function callMachine(call: MachineCall, machine: TaskMachine, signal: AbortSignal): Promise<unknown> {
  if (call.op === "copyIn") return machine.copyIn(call.from, call.path);
  if (call.op === "copyOut") return machine.copyOut(call.path, call.to);
  return machine.run(call.command, signal);
}

/** Sends a message, unless the process has just ended. Its end is handled elsewhere. */
function send(child: ChildProcess, message: ToGrader): void {
  if (child.connected) child.send(message, () => undefined);
}

export const ALIVE_EVERY_MS = 1_000;
