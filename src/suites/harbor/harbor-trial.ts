// Runs the parts of a Harbor task: healthcheck, tests, and its own solution.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { type JsonObject, parseJsonOrNull } from "../../platform/json.js";
import { type CommandResult, lastLine, type TaskMachine } from "../../sandbox/task-machine.js";
import { CannotGrade, type EvaluationContext } from "../functions/grading-function.js";
import { describeFailure } from "../machines/machine-commands.js";
import type { SuiteOracle } from "../oracle.js";
import { fileStateOf, parseArguments } from "../suite-folder.js";
import { type healthcheckSchema, plainVariables, readSettings } from "./task-toml.js";

interface Rewards {
  /** 0 to 1. */
  readonly reward: number;
  /** Additional measurements by name. */
  readonly others: Readonly<Record<string, number>>;
}

/** Folders of a trial, which exist in the task's machine from the start. */
export const TRIAL_FOLDERS = ["/logs/agent", "/logs/verifier", "/logs/artifacts", "/tests", "/solution"];

/** Runs a task's healthcheck until it succeeds. Returns null, or why it never succeeded. */
export async function checkHealth(
  { command, interval_sec, timeout_sec, start_period_sec, retries }: z.output<typeof healthcheckSchema>,
  machine: TaskMachine,
  signal: AbortSignal,
): Promise<string | null> {
  const within = performance.now() + start_period_sec * 1000;
  for (let failures = 0; ; ) {
    const result = await bash(machine, command, { env: {}, timeoutSec: timeout_sec }, signal);
    if (result.exitCode === 0) return null;
    // Failures during the start period are not counted.
    if (performance.now() > within && ++failures >= retries) return describeFailure(command, result);
    await sleep(interval_sec * 1000, undefined, { signal });
  }
}

/** Runs a script in the image's working directory. */
function bash(
  machine: TaskMachine,
  script: string,
  { env, timeoutSec }: { readonly env: Readonly<Record<string, string>>; readonly timeoutSec: number },
  signal: AbortSignal,
): Promise<CommandResult> {
  return machine.run({ argv: ["/bin/bash", "-c", script], cwd: null, env, timeoutMs: timeoutSec * 1000 }, signal);
}

const testsSchema = z.looseObject({ timeout_sec: z.number(), env: z.record(z.string(), z.string()) });

/**
 * Uploads a task's tests, which its agent has not seen, runs them and reads their reward. Ignores the script's exit
 * code. Throws if there is no reward from 0 to 1.
 */
export async function runTests(args: JsonObject, context: EvaluationContext): Promise<Rewards> {
  const { task, machine, options, signal } = context;
  const { timeout_sec, env } = parseArguments(testsSchema, args);
  if (!machine.canRun)
    throw new CannotGrade("unsupported", "its tests need to run, but this machine only contains files");
  await upload(machine, join(task.folder, "tests"), "/tests", signal);
  await emptyFolder(machine, "/logs/verifier", signal);
  const script = "chmod +x /tests/test.sh && exec /tests/test.sh > /logs/verifier/test-stdout.txt 2>&1";
  const { exitCode } = await bash(machine, script, { env, timeoutSec: timeout_sec }, signal);
  if (exitCode === null) throw new Error(`tests/test.sh reached its time limit of ${timeout_sec} s`);
  const read = async (name: string) => {
    const file = join(options.workFolder, name);
    return (await machine.copyOut(`/logs/verifier/${name}`, file)) ? await readFile(file, "utf8") : null;
  };
  const rewards = parseRewards(await read("reward.json"), await read("reward.txt"));
  if (rewards !== null) return rewards;
  const lastOutput = lastLine((await read("test-stdout.txt")) ?? "");
  throw new Error(`tests/test.sh wrote no reward (exit code ${exitCode})${lastOutput ? `: ${lastOutput}` : ""}`);
}

/**
 * Returns the reward from `reward.json` (`reward`, otherwise its first number). Without this file, returns the number
 * in `reward.txt`, or null if both files are missing.
 */
export function parseRewards(json: string | null, text: string | null): Rewards | null {
  if (json === null || json.trim() === "") {
    if (text === null || text.trim() === "") return null;
    return { reward: checked(Number(text.trim())), others: {} };
  }
  const parsed = z.record(z.string(), z.unknown()).safeParse(parseJsonOrNull(json));
  if (!parsed.success) throw new Error("reward.json is not a JSON object");
  const numbers = Object.entries(parsed.data).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  const main = numbers.find(([name]) => name === "reward") ?? numbers[0];
  if (main === undefined) throw new Error("reward.json contains no number");
  return { reward: checked(main[1]), others: Object.fromEntries(numbers.filter((entry) => entry !== main)) };
}

function checked(reward: number): number {
  if (reward >= 0 && reward <= 1) return reward;
  throw new Error(`the reward is ${reward}, expected 0 to 1`);
}

/** Uploads a folder. First removes files that the agent has put there, so that they do not run. */
async function upload(machine: TaskMachine, folder: string, path: string, signal: AbortSignal): Promise<void> {
  await emptyFolder(machine, path, signal);
  await machine.copyIn(folder, path);
}

async function emptyFolder(machine: TaskMachine, path: string, signal: AbortSignal): Promise<void> {
  const script = `mkdir -p ${path} && find ${path} -mindepth 1 -delete`;
  const emptied = await bash(machine, script, { env: {}, timeoutSec: 60 }, signal);
  if (emptied.exitCode !== 0) throw new Error(`cannot empty ${path}: ${describeFailure("find", emptied)}`);
}

const SOLUTION_SEC = 600;

/** Runs a task's own solution, like Harbor's oracle. */
export const harborOracle: SuiteOracle = {
  hasLine: ({ folder }) => fileStateOf(folder, "solution/solve.sh") === "file",
  open: ({ folder }, machine) => ({
    excuse: (grade) => grade,
    async apply(signal) {
      const settings = readSettings(folder);
      if (!settings.ok || fileStateOf(folder, "solution/solve.sh") !== "file") {
        return { ok: false, reason: "The task has no solution/solve.sh." };
      }
      const { solution, agent } = settings.value;
      const options = { env: plainVariables(solution.env), timeoutSec: agent.timeout_sec ?? SOLUTION_SEC };
      await upload(machine, join(folder, "solution"), "/solution", signal);
      const result = await bash(machine, "chmod +x /solution/solve.sh && exec /solution/solve.sh", options, signal);
      if (result.exitCode !== 0) return { ok: false, reason: describeFailure("solution/solve.sh", result) };
      return { ok: true, applied: { script: "solution/solve.sh" } };
    },
  }),
};
