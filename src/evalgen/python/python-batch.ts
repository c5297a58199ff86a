import { readFileSync } from "node:fs";
import { z } from "zod";
import { parseJsonOrNull } from "../../platform/parse-json.js";
import type { PythonSandbox } from "../../sandbox/python-sandbox.js";
import { type PythonRun, runPython, type Stopped } from "../../sandbox/run-python.js";
import { openWorkspace } from "../../sandbox/workspace/workspace.js";
import { WorkspaceRefusal } from "../../sandbox/workspace/workspace-error.js";
import { readText, writeText } from "../../sandbox/workspace/workspace-files.js";

/** Time for one trace; the sandbox ends a whole batch after 5 s. */
const TRACE_SECONDS = 1;

const HARNESS = readFileSync(new URL("run_batch.py", import.meta.url), "utf8").replace(
  "run(SECONDS)",
  `run(${TRACE_SECONDS})`,
);

/** A line of the outcomes file. The eval can write to it, so it is as little trusted as what the eval returns. */
const outcomeSchema = z.object({
  trace: z.int().nonnegative(),
  score: z.number().min(0).max(1).nullable(),
  feedback: z.string().max(2_000),
  error: z.string().max(2_000).nullable(),
  ms: z.number().nonnegative(),
  slow: z.boolean().default(false),
});

export type PythonOutcome = Omit<z.output<typeof outcomeSchema>, "trace">;

export interface PythonBatch {
  /** By the trace's position in the batch; those are missing that it did not come to. */
  readonly outcomes: ReadonlyMap<number, PythonOutcome>;
  /** Why the code cannot be used at all; null: it was loaded. */
  readonly fatal: string | null;
  /** The trace under way when it ended; null: not known. */
  readonly lastBegun: number | null;
  /** Why it ended before its last trace. */
  readonly ended: string;
}

/** Runs an eval's code over the lines of a batch, in one process of the sandbox. Throws where it does not start. */
export async function runPythonBatch(
  sandbox: PythonSandbox,
  code: string,
  lines: readonly string[],
  signal: AbortSignal,
): Promise<PythonBatch> {
  const workspace = openWorkspace();
  try {
    await workspace.use(async (folders) => {
      await writeText(folders, "eval.py", code);
      await writeText(folders, "arguments.jsonl", lines.join("\n"));
    });
    const run = await runPython(sandbox, HARNESS, workspace, signal);
    const written = await workspace.use((folders) =>
      readText(folders, "outcomes.jsonl").catch((error: unknown) => {
        if (error instanceof WorkspaceRefusal) return "";
        throw error;
      }),
    );
    return readOutcomes(written, lines.length, endingOf(run));
  } finally {
    await workspace.close();
  }
}

function readOutcomes(written: string, traces: number, ended: string): PythonBatch {
  const outcomes = new Map<number, PythonOutcome>();
  let isLoaded = false;
  let fatal: string | null = null;
  let lastBegun: number | null = null;
  for (const line of written.split("\n")) {
    const value = parseJsonOrNull(line);
    if (typeof value !== "object" || value === null) continue;
    if ("fatal" in value && !isLoaded) fatal ??= String(value.fatal).slice(0, 500);
    if ("loaded" in value) isLoaded = true;
    if ("trace" in value && typeof value.trace === "number") lastBegun = value.trace;
    const { data } = outcomeSchema.safeParse(value);
    if (data === undefined || data.trace >= traces) continue;
    const { trace, ...outcome } = data;
    outcomes.set(trace, outcome);
  }
  if (!isLoaded) fatal ??= `the code did not load: ${ended}`;
  return { outcomes, fatal, lastBegun, ended };
}

const STOPPED: Readonly<Record<Stopped, string>> = {
  time: "it ran out of time",
  memory: "it ran out of memory",
  output: "it printed too much",
  disk: "it wrote too much",
  workspace: "it wrote too many or too large files",
};

function endingOf({ stopped, exitCode, stderr }: PythonRun): string {
  if (stopped !== null) return STOPPED[stopped];
  const last = stderr.trim().split("\n").at(-1) ?? "";
  return `its process ended with ${exitCode}${last === "" ? "" : `: ${last.slice(0, 300)}`}`;
}
