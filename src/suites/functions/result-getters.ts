// The getters that collect a task's result, and the expected one, for grading.
import { copyFile, stat } from "node:fs/promises";
import { posix } from "node:path";
import { z } from "zod";
import type { JsonObject } from "../../platform/json.js";
import type { CommandResult } from "../../sandbox/task-machine.js";
import { argvOf, commandSchema, describeFailure, expandHome } from "../machines/machine-commands.js";
import type { ArgumentSchema } from "../suite-folder.js";
import { placeInFolder, resolveSharedFile } from "../task/suite-files.js";
import { CannotGrade, type Collected, CollectedFile, type EvaluationContext, runCommand } from "./grading-function.js";

/** Returns a value to compare, or null if it does not exist. */
interface Getter {
  readonly takes: ArgumentSchema;
  get(args: JsonObject, context: EvaluationContext): Promise<Collected>;
}

function getter<Args>(
  takes: ArgumentSchema & z.ZodType<Args>,
  get: (args: Args, context: EvaluationContext) => Promise<Collected>,
): Getter {
  return { takes, get: async (args, context) => get(takes.parse(args), context) };
}

/** Getters `rule` and `list`: a value in the task's file. */
const written = (key: string, missing: string): Getter => ({
  takes: z.looseObject({ [key]: z.unknown() }),
  async get({ [key]: value }) {
    if (value === undefined) throw new Error(missing);
    return value;
  },
});

const name = z.string().min(1);

/**
 * Getter `local_file`: a gold file in the suite, with a path relative to the suite's root. As in Spider2-V, it is
 * copied next to the collected files. If it has the same `dest` as the result, it replaces the result and is compared
 * with itself.
 */
const localFile = getter(z.looseObject({ path: name, dest: z.string().optional() }), async (args, { options }) => {
  const { path, dest } = args;
  const source = await resolveSharedFile(options.suiteRoot, path);
  if (source === null) throw new CannotGrade("missing_files", `the gold file ${path} is missing from the suite`);
  if (!(await stat(source)).isFile()) throw new CannotGrade("unsupported", `${path} is a folder, expected a file`);
  const target = await placeInFolder(options.workFolder, dest ?? posix.basename(path));
  await copyFile(source, target);
  return new CollectedFile(target);
});

const pad = (value: number, width = 2) => String(value).padStart(width, "0");

const CODES: Readonly<Record<string, (time: Date) => string>> = {
  Y: (time) => pad(time.getFullYear(), 4),
  y: (time) => pad(time.getFullYear() % 100),
  m: (time) => pad(time.getMonth() + 1),
  d: (time) => pad(time.getDate()),
  H: (time) => pad(time.getHours()),
  M: (time) => pad(time.getMinutes()),
  S: (time) => pad(time.getSeconds()),
  "%": () => "%",
};

/** Formats a time like `strftime`, for numeric dates and times only. */
export function formatTime(time: Date, format: string): string {
  return format.replace(/%(.)/g, (code, letter: string) => {
    const write = CODES[letter];
    if (write === undefined) throw new Error(`${code} in the time format is not supported`);
    return write(time);
  });
}

const single = z.looseObject({
  path: name,
  dest: name,
  multi: z.literal(false).optional(),
  gives: z.array(z.int()).default([0]),
  time_suffix: z.boolean().default(false),
  time_format: z.string().default("%Y_%m_%d"),
});

const several = z.looseObject({
  path: z.array(name),
  dest: z.array(name),
  multi: z.literal(true),
  gives: z.array(z.int()).default([0]),
});

/**
 * Getter `vm_file`: copies files from the machine to the folder of collected files, under the names in `dest`. A later
 * file replaces one with the same name. `gives` selects the files to compare: a single file, or several as a list.
 * `time_suffix` inserts the day before the extension of both names.
 */
const vmFile = getter(z.union([single, several]), async (config, { machine, options }) => {
  const files =
    config.multi === true
      ? config.path.slice(0, config.dest.length).map((path, i) => [path, config.dest[i] ?? path] as const)
      : [[addSuffix(config.path, config), addSuffix(config.dest, config)] as const];
  const results: (CollectedFile | null)[] = [];
  for (const [i, [path, dest]] of files.entries()) {
    const local = await placeInFolder(options.workFolder, dest);
    const isThere = await machine.copyOut(expandHome(path), local);
    if (config.gives.includes(i)) results.push(isThere ? new CollectedFile(local) : null);
  }
  return results.length === 1 ? (results[0] ?? null) : results;
});

/** Inserts the day. As in Spider2-V, the extension is everything between the first and the second dot. */
function addSuffix(path: string, config: z.output<typeof single>): string {
  const [stem, extension] = path.split(".");
  if (!config.time_suffix || extension === undefined) return path;
  return `${stem}${formatTime(new Date(), config.time_format)}.${extension}`;
}

/** Spider2-V's server kills a command after 300 s, and returns no output in that case. */
const TIMEOUT_MS = 300_000;

/**
 * Getter `vm_script_output`: uploads a suite script, runs it with bash and returns its stdout, regardless of its exit
 * code.
 */
const vmScriptOutput = getter(z.looseObject({ src: name, dest: name }), async ({ src, dest }, context) => {
  if (/^https?:/.test(src)) throw new CannotGrade("unsupported", `the script ${src} would have to be downloaded`);
  const source = await resolveSharedFile(context.options.suiteRoot, src);
  if (source === null) throw new CannotGrade("missing_files", `the script ${src} is missing from the suite`);
  const path = expandHome(dest);
  if (context.machine.canRun) {
    await context.machine.copyIn(source, path);
    await runCommand(context, ["chmod", "a+x", path], TIMEOUT_MS);
  }
  const result = await runCommand(context, ["/bin/bash", path], TIMEOUT_MS);
  noteFailure(posix.basename(path), result, context);
  return result.exitCode === null ? null : result.stdout;
});

/** Getters `vm_command_line` and `vm_command_error`: a command's output, or null if it reached its time limit. */
const vmCommand = (stream: "stdout" | "stderr") =>
  getter(commandSchema, async (command, context) => {
    const argv = argvOf(command);
    const result = await runCommand(context, argv, TIMEOUT_MS);
    noteFailure(argv.join(" "), result, context);
    return result.exitCode === null ? null : result[stream];
  });

/**
 * Notes a failure. As in Spider2-V, a script's exit code does not affect the score, but a missing program explains the
 * script's output.
 */
function noteFailure(command: string, result: CommandResult, { notes }: EvaluationContext): void {
  const notFound = result.stderr.split("\n").find((line) => /command not found|No such file or directory$/.test(line));
  if (result.exitCode !== 0) notes.push(describeFailure(command, result));
  else if (notFound !== undefined) notes.push(notFound.trim());
}

/** Getter `dbt_profiles`: the first profiles.yml in a list of folders. A folder that starts with `$` is a variable. */
const dbtProfiles = getter(z.looseObject({ dirs: z.array(z.string()), dest: name }), async (args, context) => {
  const { dirs, dest } = args;
  for (const dir of dirs) {
    const folder = dir.startsWith("$") ? await readVariable(dir, context) : dir;
    if (folder === "") continue;
    const file = await vmFile.get({ path: `${folder}/profiles.yml`, dest }, context);
    if (file !== null) return file;
  }
  return null;
});

async function readVariable(text: string, context: EvaluationContext): Promise<string> {
  if (!/^\$\w+$/.test(text)) throw new CannotGrade("unsupported", `${text} is not a variable name`);
  // A machine that only contains files does not have an environment, so the variable is unset.
  if (!context.machine.canRun) return "";
  const { stdout } = await runCommand(context, ["/bin/bash", "-c", `echo "${text}"`], TIMEOUT_MS);
  return stdout.trim();
}

export const GETTERS: Readonly<Record<string, Getter>> = {
  dbt_profiles: dbtProfiles,
  list: written("list", "the list is missing"),
  local_file: localFile,
  rule: written("rules", "the rule has no rules"),
  vm_command_error: vmCommand("stderr"),
  vm_command_line: vmCommand("stdout"),
  vm_file: vmFile,
  vm_script_output: vmScriptOutput,
};
