import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { CommandResult } from "../../../domain/tasks/task-machine.js";
import { parseArguments } from "../../definition/parse-arguments.js";
import { argvOf, commandSchema } from "../../evaluation/machine-command.js";
import { DONE, NEEDS_COMMANDS, NEEDS_SCREEN, outcomeOf, type SetupAction } from "../setup-action.js";

const TIMEOUT_MS = 300_000;
const MAX_TRIES = 5;

const untilSchema = z.looseObject({
  returncode: z.int().optional(),
  stdout: z.string().optional(),
  stderr: z.string().optional(),
});

const schema = commandSchema.extend({ until: untilSchema.optional() });

/** `execute` and `command`. With `until`, repeated until it holds. */
export const execute: SetupAction = async (args, { machine, signal, options }) => {
  const { until, ...command } = parseArguments(schema, args);
  const argv = argvOf(command);
  if (isForScreen(argv)) return NEEDS_SCREEN;
  if (!machine.canRun) return NEEDS_COMMANDS;
  const end = Date.now() + TIMEOUT_MS;
  for (let failures = 0; ; ) {
    const result = await machine.run({ argv, cwd: null, env: {}, timeoutMs: TIMEOUT_MS }, signal);
    if (until === undefined || Object.keys(until).length === 0) return outcomeOf(argv, result);
    if (result.exitCode === null) failures++;
    else if (holds(until, result)) return DONE;
    if (failures >= MAX_TRIES || Date.now() > end) {
      return { state: "failed", reason: "did not come to what it waits for" };
    }
    await sleep(300 * (options.timeScale ?? 1), undefined, { signal });
  }
};

/** Keys and clicks: they save what is open on a screen. */
const isForScreen = (argv: readonly string[]) => argv.some((word) => /\b(pyautogui|xdotool|wmctrl)\b/.test(word));

const isIn = (part: string | undefined, text: string) => part !== undefined && text.includes(part);

function holds(until: z.output<typeof untilSchema>, { exitCode, stdout, stderr }: CommandResult): boolean {
  return until.returncode === exitCode || isIn(until.stdout, stdout) || isIn(until.stderr, stderr);
}
