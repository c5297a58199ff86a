import { z } from "zod";
import { defineHandler } from "../tool-handler.js";
import { cutMiddle } from "./machine/cut-middle.js";
import { machinePath } from "./machine/machine-path.js";
import { inRunningMachine } from "./machine/on-machine.js";

/**
 * Runs a command with bash in the task's machine. Result: `{exit_code, stdout, stderr, timed_out, truncated}`, of
 * long outputs the beginning and the end; `exit_code` null: its time was over. A command that fails is a result.
 */
export const runShell = defineHandler({
  args: z.object({
    command: z.string().min(1),
    cwd: z.string().optional(),
    timeout_seconds: z.number().int().min(1).default(60),
  }),
  config: z.strictObject({
    maxSeconds: z.number().int().min(1).max(3_600).default(600),
    outputChars: z.number().int().min(200).default(20_000),
  }),
  call({ command, cwd, timeout_seconds }, context, _, { maxSeconds, outputChars }) {
    return inRunningMachine(context, async (machine) => {
      const seconds = Math.min(timeout_seconds, maxSeconds);
      const run = await machine.run(
        {
          argv: ["bash", "-c", command],
          cwd: cwd === undefined ? null : machinePath(cwd),
          env: {},
          timeoutMs: seconds * 1_000,
        },
        context.signal,
      );
      const [stdout, stderr] = [cutMiddle(run.stdout, outputChars), cutMiddle(run.stderr, outputChars)];
      return {
        ok: true,
        value: {
          stdout,
          stderr,
          exit_code: run.exitCode,
          timed_out: run.exitCode === null,
          truncated: stdout !== run.stdout || stderr !== run.stderr,
          ...(run.exitCode === null
            ? { stopped: `Stopped after ${seconds} seconds. What shall go on goes to the background, with &.` }
            : {}),
        },
      };
    });
  },
});
