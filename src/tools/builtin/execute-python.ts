import { z } from "zod";
import { chooseSandbox } from "../../sandbox/choose-sandbox.js";
import { type PythonRun, runPython, type Stopped } from "../../sandbox/run-python.js";
import { PYTHON_LIMITS, WORKSPACE_LIMITS } from "../../sandbox/sandbox-limits.js";
import { toolError } from "../open-mailbox.js";
import { defineHandler } from "../tool-handler.js";
import { inRunningMachine } from "./machine/on-machine.js";
import { runMachinePython } from "./machine/run-machine-python.js";
import { NO_WORKSPACE } from "./with-workspace.js";

/**
 * Runs a program in the task's machine, or else in the sandbox, in the task's workspace. Result: `{stdout, stderr,
 * exit_code, timed_out, truncated}` and, where it was stopped, `stopped` with why; `exit_code` is null then. A program
 * that fails is a result.
 */
export const executePython = defineHandler({
  args: z.object({ code: z.string() }),
  config: z.strictObject({}),
  async call({ code }, context, { python = chooseSandbox }) {
    const { workspace, signal } = context;
    if (context.machine !== undefined) {
      return inRunningMachine(context, (machine) => runMachinePython(machine, code, signal));
    }
    if (workspace === undefined) return toolError("failed", NO_WORKSPACE);
    const choice = await python();
    if (!choice.ok) {
      return toolError(
        "failed",
        `Python cannot be run on this machine (${choice.why}). Go on without it. ${choice.hint}`,
      );
    }
    try {
      return { ok: true, value: toResult(await runPython(choice.sandbox, code, workspace, signal)) };
    } catch (error) {
      // An aborted task must reject with its abort reason.
      signal.throwIfAborted();
      return toolError("failed", `The sandbox did not start: ${(error as Error).message} Go on without it.`);
    }
  },
});

function toResult({ stdout, stderr, exitCode, stopped, truncated }: PythonRun) {
  return {
    stdout,
    stderr,
    exit_code: exitCode,
    timed_out: stopped === "time",
    truncated,
    ...(stopped === null ? {} : { stopped: REASONS[stopped] }),
  };
}

const megabytes = (bytes: number) => `${bytes / 2 ** 20} MB`;

const REASONS: Readonly<Record<Stopped, string>> = {
  time: `Stopped after ${PYTHON_LIMITS.wallMs / 1_000} seconds. Do less in one call.`,
  output: `Stopped: it printed more than ${megabytes(PYTHON_LIMITS.printedBytes)}. Print less.`,
  memory: `Stopped: it took more than ${megabytes(PYTHON_LIMITS.memoryBytes)} of memory.`,
  disk: `Stopped: it wrote more than ${megabytes(PYTHON_LIMITS.writtenBytes)}.`,
  workspace: `Stopped: the workspace may hold ${megabytes(WORKSPACE_LIMITS.bytes)} and ${WORKSPACE_LIMITS.files} files. It held more, and has been emptied.`,
};
