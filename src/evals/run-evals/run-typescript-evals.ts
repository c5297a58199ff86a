// Runs evals in TypeScript and JavaScript, each in its own process.
import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { JITI, LIBRARY_ALIASES } from "../../platform/module-workers.js";
import { builtFile, programFile } from "../../platform/program-files.js";
import { chooseNodeIsolation, type NodeIsolation, NodeProcess, type NodeProgram } from "../../sandbox/node-process.js";
import type { EvalOf, EvaluatedTrace } from "../definition.js";
import { failedOutcome, type MeasuredOutcome } from "../eval-outcome.js";
import { LostTraces } from "./lost-traces.js";
import { type CodeDescription, evalArguments } from "./run-python-evals.js";

const WORKER = fileURLToPath(programFile("bin/eval-worker.mjs"));

const PROGRAM: NodeProgram = {
  file: WORKER,
  args: [JITI, JSON.stringify(LIBRARY_ALIASES)],
  readable: [fileURLToPath(builtFile("")), dirname(dirname(fileURLToPath(JITI)))],
};

/** Time limit for loading the module, which includes compiling it. */
const LOAD_MS = 10_000;
const TRACE_MS = 5_000;

const loadedSchema = z.union([z.object({ loaded: z.literal(true) }), z.object({ broken: z.string().max(2_000) })]);

const outcomeSchema = z.object({
  id: z.string(),
  ms: z.number().nonnegative(),
  score: z.number().min(0).max(1).nullable(),
  reason: z.string().max(2_000),
  error: z.string().max(2_000).nullable(),
});

const NOT_ITS_OUTCOME = "it sent a message that is not its outcome";

/** Returns how the processes of evals are isolated on this machine. */
export function typescriptIsolation(): Promise<NodeIsolation> {
  return chooseNodeIsolation(PROGRAM);
}

/**
 * Runs an eval over traces, one at a time. The process has no environment variables, limited memory, and nothing in
 * reach but modules that only compute. It is killed when a trace takes too long, and the remaining traces get a new
 * one. Anything the code does becomes an outcome. Throws only the signal's reason.
 */
export async function runTypescriptEval(
  { code, reference }: Pick<EvalOf<"typescript">, "code" | "reference">,
  traces: readonly EvaluatedTrace[],
  isolation: NodeIsolation,
  signal: AbortSignal,
  onOutcome: () => void = () => {},
): Promise<MeasuredOutcome[]> {
  const outcomes: MeasuredOutcome[] = [];
  let worker: NodeProcess | null = null;
  const lost = new LostTraces();
  try {
    for (const [index, trace] of traces.entries()) {
      signal.throwIfAborted();
      if (worker === null) {
        const loaded = await loadEval(code, isolation, signal);
        if (typeof loaded === "string") return [...outcomes, ...traces.slice(index).map(() => failedOutcome(loaded))];
        worker = loaded;
      }
      // A new id per trace, so that code cannot answer for a trace that it has not received.
      const id = randomUUID();
      worker.send({ id, ...typescriptArguments(trace, reference) });
      const received = await worker.receive(TRACE_MS, signal);
      const outcome = "ended" in received ? null : (outcomeSchema.safeParse(received.value).data ?? null);
      if (outcome?.id === id) {
        const { score, reason, error, ms } = outcome;
        outcomes.push({ score, reason, error, ms, costUsd: 0 });
        lost.add(false);
      } else {
        await worker.kill();
        worker = null;
        outcomes.push(failedOutcome("ended" in received ? received.ended : NOT_ITS_OUTCOME));
        lost.add(true);
      }
      onOutcome();
      const why = lost.reasonToStop;
      if (why !== null) return [...outcomes, ...traces.slice(index + 1).map(() => failedOutcome(why))];
    }
    return outcomes;
  } finally {
    await worker?.kill();
  }
}

/** Starts a process with the eval's code. Returns the reason if the code cannot be loaded. */
async function loadEval(code: string, isolation: NodeIsolation, signal: AbortSignal): Promise<NodeProcess | string> {
  const worker = await NodeProcess.start(isolation, PROGRAM, signal);
  try {
    worker.send({ code });
    const received = await worker.receive(LOAD_MS, signal);
    const ended = "ended" in received ? received.ended : NOT_ITS_OUTCOME;
    const loaded = "ended" in received ? undefined : loadedSchema.safeParse(received.value).data;
    if (loaded !== undefined && "loaded" in loaded) return worker;
    await worker.kill();
    return loaded === undefined ? `the code could not be loaded: ${ended}` : loaded.broken;
  } catch (error) {
    await worker.kill();
    throw error;
  }
}

/** Returns the arguments of the function: `(input, output, trace)`. */
function typescriptArguments(trace: EvaluatedTrace, reference: boolean) {
  const { task, task_metadata: metadata, trace: visible } = evalArguments(trace, reference);
  const { user_message: question, inbox, query_date: date, task_id: taskId, suite } = task;
  const known = reference ? { reference: metadata } : {};
  return { input: { question, inbox, date, taskId, suite, ...known }, output: trace.answer ?? "", trace: visible };
}

/** An exported function or object. The number of spaces is limited, so that reading a file takes linear time. */
const EXPORTED =
  /(?:^|(?<=[;}]))[ \t]{0,99}export\s{1,99}(?:default\b|(?:async\s{1,99})?function\b|(?:const|let)\s{1,99}\w{1,99}[^=\n]{0,999}=\s{0,99}(?:async\s{0,99})?(?:\(|function\b|\w{1,99}\s{0,99}=>)|\{)|^[ \t]{0,99}(?:module\.)?exports\b/m;

/** The declaration that an eval needs gold answers, scores and verdicts. */
const REFERENCE = /^[ \t]{0,99}export const reference(?:: boolean)? = true;?[ \t]{0,99}$/m;

/** `defineEval` with anything but a function: a number, a string, a list or an object. */
const DEFINES_A_VALUE = /\bdefineEval\(\s{0,99}(?:[-\d"'`[{)]|(?:null|true|false|undefined)\b)/;

/** Describes an eval's code. Returns null if it exports no function. */
export function describeTypescript(code: string): CodeDescription | null {
  const match = EXPORTED.exec(code);
  if (match === null || DEFINES_A_VALUE.test(code.slice(match.index))) return null;
  const [line = ""] = commentBefore(code, match.index)
    .split("\n")
    .map((part) => part.replace(/^\s*\*\s?/, "").trim())
    .filter((part) => part !== "");
  const withoutComments = code.replace(/\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*/g, "");
  return {
    criterion: line === "" ? null : line.slice(0, 1_000),
    reference: REFERENCE.test(withoutComments),
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
