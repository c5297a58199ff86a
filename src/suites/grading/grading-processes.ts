import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import pLimit from "p-limit";
import type { Grade, SuiteTask } from "../../domain/tasks/suite-task.js";
import type { TaskMachine } from "../../domain/tasks/task-machine.js";
import {
  fromGraderSchema,
  type GradingOrder,
  type GradingSources,
  type MachineCall,
  type ToGrader,
} from "./grading-messages.js";

const PROGRAM = fileURLToPath(new URL("./grading-process.js", import.meta.url));

export interface GradingLimits {
  /** Of what is read and compared, beside the bytes of files. */
  readonly heapMb: number;
  /** How long one may be busy with reading and comparing without a pause. */
  readonly busyMs: number;
}

/** Starting is quick, but not on a machine that is busy. */
const START_MS = 60_000;
const LIMITS: GradingLimits = { heapMb: 2_048, busyMs: 120_000 };
/** While a task's script is waited for, others can be graded. */
const AT_ONCE = 2 * availableParallelism();

/** Grades in processes of their own: hostile files may take time or memory without end, and hold nobody else up. */
export class GradingProcesses {
  readonly #idle = new Set<ChildProcess>();
  readonly #all = new Set<ChildProcess>();
  readonly #limit = pLimit(AT_ONCE);

  constructor(
    private readonly sources: GradingSources,
    private readonly limits = LIMITS,
  ) {}

  /** Throws only where `signal` aborts it. */
  evaluate(task: SuiteTask, machine: TaskMachine, workFolder: string, signal: AbortSignal): Promise<Grade> {
    const order = { ...this.sources, task, workFolder, canRun: machine.canRun };
    return this.#limit(async () => {
      signal.throwIfAborted();
      const [idle] = this.#idle;
      const child = idle ?? this.#start();
      this.#idle.delete(child);
      const graded = await gradeIn(child, order, machine, signal, this.limits.busyMs);
      if ("unusable" in graded) {
        child.kill("SIGKILL");
        signal.throwIfAborted();
        return { score: null, state: "eval_error", reason: `grading was ended: ${graded.unusable}` };
      }
      this.#idle.add(child);
      return graded;
    });
  }

  async close(): Promise<void> {
    const ended = [...this.#all].map((child) => once(child, "exit"));
    for (const child of this.#all) child.kill("SIGKILL");
    await Promise.all(ended);
  }

  #start(): ChildProcess {
    const child = fork(PROGRAM, [], {
      serialization: "advanced",
      execArgv: [`--max-old-space-size=${this.limits.heapMb}`],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#all.add(child);
    child.on("exit", () => {
      this.#all.delete(child);
      this.#idle.delete(child);
    });
    child.on("error", () => undefined);
    return child;
  }
}

/** The grade, or why the process cannot be used any more. */
function gradeIn(
  child: ChildProcess,
  order: GradingOrder,
  machine: TaskMachine,
  signal: AbortSignal,
  busyMs: number,
): Promise<Grade | { readonly unusable: string }> {
  return new Promise((resolve) => {
    const tooLong = () => end({ unusable: `reading what was left took longer than ${Math.round(busyMs / 1_000)} s` });
    let timer = setTimeout(tooLong, START_MS + busyMs);
    const aborted = () => end({ unusable: "stopped" });
    const exited = (code: number | null, name: string | null) =>
      end({ unusable: `its process ended (${name ?? code}), which takes more memory than there is` });
    const received = (sent: unknown) => {
      clearTimeout(timer);
      timer = setTimeout(tooLong, busyMs);
      const message = fromGraderSchema.safeParse(sent);
      if (!message.success) end({ unusable: "its process sent what cannot be read" });
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

/** To one that has just ended nothing is sent: its end is noticed by itself. */
function send(child: ChildProcess, message: ToGrader): void {
  if (child.connected) child.send(message, () => undefined);
}
