// The types of evaluation functions and what they can use: collected files, the machine, the answer.
import type { Stats } from "node:fs";
import { copyFile, stat } from "node:fs/promises";
import { posix } from "node:path";
import { z } from "zod";
import { reasonOf } from "../../platform/errors.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../platform/json.js";
import type { CommandResult, TaskMachine } from "../../sandbox/task-machine.js";
import type { ObstacleState, SuiteTask } from "../../tasks/suite-task.js";
import type { AccountSettings } from "../task/account-settings.js";
import {
  MAX_FILE_BYTES,
  placeInFolder,
  readCollectedFile,
  resolveSuiteFile,
  UnusableSuiteFile,
} from "../task/suite-files.js";
import type { CustomCall, CustomFunctions } from "./custom-functions.js";

/** A getter's result: a file, files, a value, or null if nothing exists. */
export type Collected = JsonValue | CollectedFile | readonly (CollectedFile | null)[];

/**
 * Returns a score from 0 to 1. If it throws, the original runner crashes and the task has no score. `expected` is
 * undefined if the task has nothing to compare with.
 */
export type MetricFunction = (
  result: Collected,
  expected: Collected | undefined,
  options: JsonObject,
) => number | Promise<number>;

interface ComparedFiles {
  readonly result: Buffer;
  readonly expected: Buffer;
}

/** Returns 0 or 1. If it throws, the runner scores 0. */
export type FlowbookFunction = (args: JsonObject, context: EvaluationContext) => Promise<number>;

export interface EvaluationOptions {
  /** Folder for collected files. The caller empties it. */
  readonly workFolder: string;
  readonly suiteRoot: string;
  /** Scores the agent's answer against a gold answer. Absent if the agent gave no answer. */
  readonly scoreAnswer?: ((gold: string) => number) | undefined;
  /** Factor for sleeps. 1 by default. */
  readonly timeScale?: number;
  readonly accounts?: AccountSettings | undefined;
  readonly custom?: CustomFunctions | undefined;
}

/** Everything that a getter or a comparison can use. */
export interface EvaluationContext {
  readonly task: SuiteTask;
  readonly machine: TaskMachine;
  readonly options: EvaluationOptions;
  readonly signal: AbortSignal;
  /** Failures, such as a failed script, that might explain a score. */
  readonly notes: string[];
}

/** A file that a getter fetched. */
export class CollectedFile {
  constructor(readonly path: string) {}
}

/** Returns the two files of a comparison, or null if the result is missing, which most functions score as 0. */
export async function readPair(result: Collected, expected: Collected | undefined): Promise<ComparedFiles | null> {
  const gold = requireFile(expected, "the expected file");
  if (result === null) return null;
  return {
    result: await readCollectedFile(requireFile(result, "the result").path),
    expected: await readCollectedFile(gold.path),
  };
}

export function requireFile(collected: Collected | undefined, name: string): CollectedFile {
  if (collected instanceof CollectedFile) return collected;
  throw new Error(`${name} is not a file`);
}

/** Returns a rule or another JSON value. */
export function requireValue(collected: Collected | undefined, name: string): JsonValue {
  if (collected === undefined) throw new Error(`${name} is missing`);
  if (collected instanceof CollectedFile || isFileList(collected)) throw new Error(`${name} is a file`);
  return collected;
}

function isFileList(collected: Collected): collected is readonly (CollectedFile | null)[] {
  return Array.isArray(collected) && collected.some((item) => item instanceof CollectedFile);
}

export function requireObject(collected: Collected | undefined, name: string): JsonObject {
  const value = requireValue(collected, name);
  if (isJsonObject(value)) return value;
  throw new Error(`${name} is not an object`);
}

/** Throws for options, because the original function accepts none. */
export function refuseOptions(options: JsonObject): void {
  const [first] = Object.keys(options);
  if (first !== undefined) throw new Error(`unknown option ${first}`);
}

/** The two files of a comparison, with the argument names of Flowbook's functions. */
export const filePair = z.looseObject({ local_expected: z.string(), vm_result: z.string() });
export const textFilePair = z.looseObject({ local_expected_file: z.string(), vm_result_file: z.string() });
export const imagePair = z.looseObject({
  local_expected_image: z.string(),
  vm_result_image: z.string(),
  similarity_threshold: z.number().default(0.95),
});

/** A script of the task, and the log that it writes in the machine. */
export const scriptWithLog = z.looseObject({ eval_script: z.string(), vm_eval_logs: z.string() });

/** Copies a file from the machine to the result folder under its own name. */
export async function collectResult({ machine, options }: EvaluationContext, path: string): Promise<string> {
  const local = await placeInFolder(options.workFolder, posix.basename(path));
  if (!(await machine.copyOut(path, local))) throw new Error(`${path} is not in the machine`);
  return local;
}

/**
 * Like Flowbook, collects both files in one folder under their own names. If the names are equal, the gold file is
 * kept.
 */
export async function collectFiles(context: EvaluationContext, path: string, gold: string): Promise<ComparedFiles> {
  const result = await collectResult(context, path);
  const expected = await placeGold(gold, context);
  return { result: await readCollectedFile(result), expected: await readCollectedFile(expected) };
}

/** Copies a gold file next to the collected files. An unusable gold file is not the agent's fault. */
async function placeGold(gold: string, { task, options }: EvaluationContext): Promise<string> {
  const source = await resolveSuiteFile(task.folder, gold);
  if (source === null)
    throw new CannotGrade("missing_files", `the gold file ${gold} is missing from the task's folder`);
  const { size } = await regularFile(source, gold);
  if (size > MAX_FILE_BYTES) {
    throw new CannotGrade("unsupported", `the gold file ${gold} has ${size} bytes, more than ${MAX_FILE_BYTES}`);
  }
  const expected = await placeInFolder(options.workFolder, posix.basename(gold));
  await copyFile(source, expected).catch((error) => {
    throw new UnusableSuiteFile(`cannot read the gold file ${gold}: ${reasonOf(error)}`);
  });
  return expected;
}

async function regularFile(path: string, gold: string): Promise<Stats> {
  const stats = await stat(path);
  if (stats.isFile()) return stats;
  const kind = stats.isDirectory() ? "a folder" : "not a regular file";
  throw new CannotGrade("unsupported", `the gold file ${gold} is ${kind}, expected a regular file`);
}

/** Returns the context of a call to a user's function. */
export function customCall({
  task,
  machine,
  signal,
  options: { accounts, workFolder },
}: EvaluationContext): CustomCall {
  return { task, machine, signal, accounts, workFolder };
}

/** Runs a command if the machine can run commands. */
export async function runCommand(
  { machine, signal }: EvaluationContext,
  argv: readonly string[],
  timeoutMs: number,
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  if (!machine.canRun)
    throw new CannotGrade("unsupported", `it runs ${argv.join(" ")}, but this machine only contains files`);
  return await machine.run({ argv, cwd: null, env, timeoutMs }, signal);
}

/** The task cannot be graded on this machine because something is missing. This is not the agent's fault. */
export class CannotGrade extends Error {
  override readonly name = "CannotGrade";

  constructor(
    readonly state: ObstacleState,
    reason: string,
  ) {
    super(reason);
  }
}
