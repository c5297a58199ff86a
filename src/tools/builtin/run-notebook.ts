import { z } from "zod";
import type { ToolResult } from "../../domain/agents/tool.js";
import { parseJsonOrNull } from "../../platform/parse-json.js";
import { toolError } from "../open-mailbox.js";
import { defineHandler } from "../tool-handler.js";
import { cutMiddle } from "./machine/cut-middle.js";
import { machinePath } from "./machine/machine-path.js";
import { inRunningMachine } from "./machine/on-machine.js";
import { readProgram } from "./machine/read-program.js";

/** For starting the kernel, and for saving. */
const MARGIN_MS = 60_000;

const summarySchema = z.object({
  kernel: z.string(),
  cells: z.number(),
  code_cells: z.number(),
  stopped: z.enum(["error", "time", "kernel"]).nullable(),
  outputs: z.array(
    z.object({
      cell: z.number(),
      execution_count: z.number().nullable(),
      text: z.string(),
      pictures: z.array(z.string()),
      error: z.object({ name: z.string(), message: z.string(), traceback: z.string() }).nullable(),
    }),
  ),
  seconds: z.number(),
});
const answerSchema = z.union([z.object({ problem: z.string() }), summarySchema]);

/**
 * Runs a notebook in the task's machine and saves it in place, also where a cell fails. Result: `{path, kernel, cells,
 * code_cells, stopped, outputs: [{cell, execution_count, text, pictures, error}], seconds, saved}`.
 */
export const runNotebook = defineHandler({
  args: z.object({
    path: z.string().min(1),
    timeout_seconds: z.number().int().min(1).default(300),
    continue_on_error: z.boolean().default(false),
  }),
  config: z.strictObject({ maxSeconds: z.number().int().min(1).max(3_000).default(1_800) }),
  call({ path, timeout_seconds, continue_on_error }, context, _, { maxSeconds }) {
    return inRunningMachine(context, async (machine) => {
      const seconds = Math.min(timeout_seconds, maxSeconds);
      const program = await readProgram("run-notebook.py");
      const mode = continue_on_error ? "continue" : "stop";
      const argv = ["python3", "-c", program, machinePath(path), String(seconds), mode];
      const timeoutMs = seconds * 1_000 + MARGIN_MS;
      const run = await machine.run({ argv, cwd: null, env: {}, timeoutMs }, context.signal);
      if (run.exitCode === null) return toolError("failed", `${path} did not end within its time, and is not saved.`);
      return toResult(path, run.stdout, run.stderr, seconds);
    });
  },
});

/** What comes from the machine may be anything. */
function toResult(path: string, stdout: string, stderr: string, seconds: number): ToolResult {
  const answer = answerSchema.safeParse(parseJsonOrNull(stdout));
  if (!answer.success) {
    return toolError("failed", `${path} could not be run: ${cutMiddle(stderr.trim() || "no answer came", 2_000)}`);
  }
  if ("problem" in answer.data) return toolError("failed", `${path} could not be run: ${answer.data.problem}.`);
  const { stopped, ...summary } = answer.data;
  return { ok: true, value: { path, ...summary, stopped: stopped && meaningOf(stopped, seconds), saved: true } };
}

function meaningOf(stopped: "error" | "time" | "kernel", seconds: number): string {
  if (stopped === "error") return "Stopped at the cell that failed; the cells after it were not run.";
  if (stopped === "time") return `Stopped after ${seconds} seconds; the cells after that were not run.`;
  return "The kernel ended; the cells after that were not run.";
}
