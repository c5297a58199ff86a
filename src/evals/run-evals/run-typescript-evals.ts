// Runs evals in TypeScript and JavaScript, each in its own process.
import { type ChildProcess, spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { writeFileAtomically } from "../../platform/files.js";
import { JITI, LIBRARY_ALIASES } from "../../platform/module-workers.js";
import { killedWithParentPrefix, waitedForProcessorMs } from "../../platform/processes.js";
import { builtFile, programFile } from "../../platform/program-files.js";
import { makeTemporaryFolder } from "../../sandbox/workspace.js";
import type { EvalOf, EvaluatedTrace } from "../definition.js";
import { failedOutcome, type MeasuredOutcome } from "../eval-outcome.js";
import { LostTraces } from "./lost-traces.js";
import { evalArguments } from "./run-python-evals.js";

const WORKER = fileURLToPath(programFile("bin/eval-worker.mjs"));

/** Time limit for loading the module, which includes compiling it. */
const LOAD_MS = 10_000;
const TRACE_MS = 5_000;
const MAX_HEAP_MB = 256;

/** A message of the process. The eval can send messages too, so they are as untrusted as its return values. */
const messageSchema = z.union([
  z.object({ loaded: z.literal(true) }),
  z.object({ broken: z.string().max(2_000) }),
  z.object({
    id: z.int().nonnegative(),
    ms: z.number().nonnegative(),
    score: z.number().min(0).max(1).nullable(),
    reason: z.string().max(2_000),
    error: z.string().max(2_000).nullable(),
  }),
]);

type ProcessMessage = z.output<typeof messageSchema>;

/** The next message from a process, or the reason why there are no more. */
type Received = ProcessMessage | { readonly ended: string };

/** Facts about an eval's code that do not require running it. */
interface TypescriptDescription {
  /** The first line of the doc comment of the function, or null without one. */
  readonly criterion: string | null;
  /** Whether the code uses `reference`, which contains gold answers and scores. */
  readonly usesReference: boolean;
}

/**
 * Runs an eval over traces, one at a time. The process has no environment variables and limited memory. Node's
 * permission model keeps it from files other than its code, from other programs and from threads, but up to Node 24 not
 * from the network. It is killed when a trace takes too long, and the remaining traces get a new one. Anything the code
 * does becomes an outcome. Throws only the signal's reason.
 */
export async function runTypescriptEval(
  { code, reference }: Pick<EvalOf<"typescript">, "code" | "reference">,
  traces: readonly EvaluatedTrace[],
  signal: AbortSignal,
  onOutcome: () => void = () => {},
): Promise<MeasuredOutcome[]> {
  const folder = await makeTemporaryFolder("eval");
  const outcomes: MeasuredOutcome[] = [];
  let worker: EvalProcess | null = null;
  const lost = new LostTraces();
  try {
    await writeFileAtomically(join(folder, "eval.ts"), [code]);
    for (const [id, trace] of traces.entries()) {
      signal.throwIfAborted();
      if (worker === null) {
        worker = new EvalProcess(folder);
        const first = await worker.receive(LOAD_MS, signal);
        if (!("loaded" in first)) {
          const why = "broken" in first ? first.broken : `the code could not be loaded: ${endingOf(first)}`;
          return [...outcomes, ...traces.slice(id).map(() => failedOutcome(why))];
        }
      }
      worker.send({ id, ...typescriptArguments(trace, reference) });
      const received = await worker.receive(TRACE_MS, signal);
      if ("id" in received && received.id === id) {
        const { score, reason, error, ms } = received;
        outcomes.push({ score, reason, error, ms, costUsd: 0 });
        lost.add(false);
      } else {
        worker.kill();
        worker = null;
        outcomes.push(failedOutcome(endingOf(received)));
        lost.add(true);
      }
      onOutcome();
      const why = lost.reasonToStop;
      if (why !== null) return [...outcomes, ...traces.slice(id + 1).map(() => failedOutcome(why))];
    }
    return outcomes;
  } finally {
    worker?.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

function endingOf(received: Received): string {
  return "ended" in received ? received.ended : "it sent a message that is not its outcome";
}

/** Returns the arguments of the function: `(input, output, trace)`. */
function typescriptArguments(trace: EvaluatedTrace, reference: boolean) {
  const { task, task_metadata: metadata, trace: visible } = evalArguments(trace, reference);
  const { user_message: question, inbox, query_date: date, task_id: taskId, suite } = task;
  const known = reference ? { reference: metadata } : {};
  return { input: { question, inbox, date, taskId, suite, ...known }, output: trace.answer ?? "", trace: visible };
}

class EvalProcess {
  private readonly child: ChildProcess;
  private readonly received: Received[] = [];
  private wake: () => void = () => undefined;

  constructor(folder: string) {
    const flags = [`--max-old-space-size=${MAX_HEAP_MB}`, ...permissions(folder)];
    const program = [
      process.execPath,
      ...flags,
      WORKER,
      join(folder, "eval.ts"),
      JITI,
      JSON.stringify(LIBRARY_ALIASES),
    ];
    const [file = process.execPath, ...args] = [...killedWithParentPrefix(), ...program];
    this.child = spawn(file, args, {
      cwd: folder,
      env: {},
      // Discards its output, so that it cannot fill a disk.
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      // Its own process group, so that processes it started are killed with it.
      detached: true,
    });
    const put = (received: Received) => {
      this.received.push(received);
      this.wake();
    };
    this.child.on("message", (message) => {
      const { data } = messageSchema.safeParse(message);
      put(data ?? { ended: "it sent a message that is not its outcome" });
    });
    this.child.on("error", (error) => put({ ended: `its process failed: ${error.message}` }));
    this.child.on("exit", (exitCode, signal) => put({ ended: endOf(exitCode, signal) }));
  }

  send(message: object): void {
    // An ended process is reported by `receive`.
    this.child.send(message, () => undefined);
  }

  /**
   * Returns the next message, or the reason why the process sends no more. While the process waits for a processor, the
   * limit's clock stops, so that a busy machine does not change a verdict. Throws the signal's reason.
   */
  async receive(limitMs: number, signal: AbortSignal): Promise<Received> {
    const start = performance.now();
    const waitedBefore = await this.waitedMs();
    const remainingMs = async () => limitMs - (performance.now() - start) + (await this.waitedMs()) - waitedBefore;
    let remaining = limitMs;
    while (this.received.length === 0 && remaining > 0 && !signal.aborted) {
      await this.arrival(remaining, signal);
      remaining = await remainingMs();
    }
    signal.throwIfAborted();
    return this.received.shift() ?? { ended: `it took more than ${limitMs / 1_000} s` };
  }

  private async waitedMs(): Promise<number> {
    return this.child.pid === undefined ? 0 : waitedForProcessorMs(this.child.pid);
  }

  /** Waits for a message for at most `ms`, or until the signal aborts. */
  private arrival(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", this.wake);
        resolve();
      };
      signal.addEventListener("abort", this.wake);
    });
  }

  kill(): void {
    const { pid } = this.child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended already.
    }
  }
}

/** Returns Node's flags for reading only the eval, the worker, the compiler and art-e's own code. */
function permissions(folder: string): string[] {
  const flag = process.allowedNodeEnvironmentFlags.has("--permission") ? "--permission" : "--experimental-permission";
  const program = fileURLToPath(builtFile(""));
  const readable = [folder, WORKER, program, dirname(dirname(fileURLToPath(JITI)))].map((path) => realpathSync(path));
  return [flag, ...readable.map((path) => `--allow-fs-read=${path}`)];
}

/** SIGABRT is how V8 ends at its memory limit. */
function endOf(exitCode: number | null, signal: NodeJS.Signals | null): string {
  if (signal === "SIGABRT" || exitCode === 134) return "it ran out of memory";
  return signal === null ? `its process exited with code ${exitCode}` : `its process was ended by ${signal}`;
}

/** An exported function or object. The number of spaces is limited, so that reading a file takes linear time. */
const EXPORTED =
  /(?:^|(?<=[;}]))[ \t]{0,99}export\s{1,99}(?:default\b|(?:async\s{1,99})?function\b|(?:const|let)\s{1,99}\w{1,99}[^=\n]{0,999}=\s{0,99}(?:async\s{0,99})?(?:\(|function\b|\w{1,99}\s{0,99}=>)|\{)|^[ \t]{0,99}(?:module\.)?exports\b/m;

/** Describes an eval's code. Returns null if it exports no function. */
export function describeTypescript(code: string): TypescriptDescription | null {
  const match = EXPORTED.exec(code);
  if (match === null) return null;
  const [line = ""] = commentBefore(code, match.index)
    .split("\n")
    .map((part) => part.replace(/^\s*\*\s?/, "").trim())
    .filter((part) => part !== "");
  const withoutComments = code.replace(/\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*/g, "");
  return {
    criterion: line === "" ? null : line.slice(0, 1_000),
    usesReference: /\breference\b/.test(withoutComments),
  };
}

/** Returns the text of the documentation comment that ends before an index, or an empty string. */
function commentBefore(code: string, index: number): string {
  const before = code.slice(0, index).trimEnd();
  if (!before.endsWith("*/")) return "";
  const end = before.length - 2;
  // The comment starts at the first mark after the end of the comment before.
  const start = before.indexOf("/**", before.lastIndexOf("*/", end - 1) + 1);
  return start === -1 || start + 3 > end ? "" : before.slice(start + 3, end);
}
