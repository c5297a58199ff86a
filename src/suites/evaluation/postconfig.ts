import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { JsonObject } from "../../domain/json.js";
import type { FunctionCall } from "../../domain/tasks/suite-task.js";
import type { EvaluationContext } from "./evaluation-context.js";
import { expandHome } from "./expand-home.js";
import { argvOf, commandSchema } from "./machine-command.js";
import { resolveSuiteFile } from "./suite-files.js";

/** Returns a note where the action was left out. */
type Action = (args: JsonObject, context: EvaluationContext) => Promise<string | null>;

const TIMEOUT_MS = 300_000;
const MAX_TRIES = 5;

const NEEDS_COMMANDS = "needs a machine that runs commands";
const NEEDS_SCREEN = "needs a screen";

const sleepArguments = z.looseObject({ seconds: z.number().min(0).max(3600) });

const wait: Action = async (args, { options, signal }) => {
  const { seconds } = sleepArguments.parse(args);
  await sleep(seconds * 1000 * (options.timeScale ?? 1), undefined, { signal });
  return null;
};

const executeArguments = commandSchema.extend({
  until: z
    .looseObject({ returncode: z.int().optional(), stdout: z.string().optional(), stderr: z.string().optional() })
    .optional(),
});

/** Keys and clicks: they save what is open on a screen. */
const isForScreen = (argv: readonly string[]) => argv.some((word) => /\b(pyautogui|xdotool|wmctrl)\b/.test(word));

/** `execute` and `command`: a failing command is no error. With `until`, repeated until it holds. */
const execute: Action = async (args, { machine, signal, options }) => {
  const { until, ...command } = executeArguments.parse(args);
  const argv = argvOf(command);
  if (isForScreen(argv)) return NEEDS_SCREEN;
  if (!machine.canRun) return NEEDS_COMMANDS;
  const end = Date.now() + TIMEOUT_MS;
  for (let failures = 0; ; ) {
    const { exitCode, stdout, stderr } = await machine.run({ argv, cwd: null, env: {}, timeoutMs: TIMEOUT_MS }, signal);
    if (until === undefined || Object.keys(until).length === 0) return null;
    if (exitCode === null) failures++;
    else if (until.returncode === exitCode || isIn(until.stdout, stdout) || isIn(until.stderr, stderr)) return null;
    if (failures >= MAX_TRIES || Date.now() > end) return "did not come to what it waits for";
    await sleep(300 * (options.timeScale ?? 1), undefined, { signal });
  }
};

const isIn = (part: string | undefined, text: string) => part !== undefined && text.includes(part);

const copyArguments = z.looseObject({ src: z.string(), dest: z.string(), json_encode: z.literal(false).optional() });

const copyFile: Action = async (args, { machine, options }) => {
  const { src, dest } = copyArguments.parse(args);
  const source = await resolveSuiteFile(options.suiteRoot, src);
  if (source === null) return `${src} is missing in the suite`;
  await machine.copyIn(source, expandHome(dest));
  return null;
};

const scriptArguments = z.looseObject({
  src: z.string(),
  dest: z.string().default("/home/user/init.sh"),
  options: z.array(z.string()).default([]),
});

/** `script_and_execute`: the script is deleted after it has run. */
const runScript: Action = async (args, { machine, options, signal }) => {
  const { src, dest, options: words } = scriptArguments.parse(args);
  const source = await resolveSuiteFile(options.suiteRoot, src);
  if (source === null) return `${src} is missing in the suite`;
  if (!machine.canRun) return NEEDS_COMMANDS;
  const path = expandHome(dest);
  await machine.copyIn(source, path);
  for (const argv of [
    ["chmod", "a+x", path],
    ["/bin/bash", path, ...words],
    ["rm", "-f", path],
  ]) {
    await machine.run({ argv, cwd: null, env: {}, timeoutMs: TIMEOUT_MS }, signal);
  }
  return null;
};

const showOnScreen: Action = async () => NEEDS_SCREEN;

/** What may stand in `postconfig`. */
export const POSTCONFIG_ACTIONS: Readonly<Record<string, Action>> = {
  sleep: wait,
  execute,
  command: execute,
  copyfile_from_host_to_guest: copyFile,
  script_and_execute: runScript,
  activate_window: showOnScreen,
  close_window: showOnScreen,
  launch: showOnScreen,
  open: showOnScreen,
  google_chrome_browser: showOnScreen,
};

/**
 * Runs the actions in order, and says which were left out and why. As at the origin none of them ends the grading:
 * what one did not do shows in the score.
 */
export async function runPostconfig(calls: readonly FunctionCall[], context: EvaluationContext): Promise<string[]> {
  const notes: string[] = [];
  for (const { func, arguments: args } of calls) {
    const action = Object.hasOwn(POSTCONFIG_ACTIONS, func) ? POSTCONFIG_ACTIONS[func] : undefined;
    const note = action === undefined ? "is not known" : await action(args, context);
    if (note !== null) notes.push(`${func} ${note}`);
  }
  return notes;
}
