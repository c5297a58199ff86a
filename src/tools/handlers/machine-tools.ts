// Handlers of the shell and notebook tools, and file access in a task's machine.
import { randomUUID } from "node:crypto";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { z } from "zod";
import { parseJsonOrNull } from "../../platform/json.js";
import { builtFile } from "../../platform/program-files.js";
import { WORKSPACE_LIMITS } from "../../sandbox/limits.js";
import { type CommandResult, HOME, type TaskMachine } from "../../sandbox/task-machine.js";
import { makeTemporaryFolder } from "../../sandbox/workspace.js";
import { characterBoundary } from "../../text/character-boundary.js";
import { toolError } from "../mailbox.js";
import type { ToolContext, ToolResult } from "../tool.js";
import { defineHandler } from "../tool-handler.js";

/**
 * Runs a command with bash in the task's machine. Result: `{exit_code, stdout, stderr, timed_out, truncated}`. Long
 * outputs are truncated in the middle. `exit_code` is null if the command timed out. A failed command is a result, not
 * an error.
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
          cwd: cwd === undefined ? null : machinePath(cwd, machine),
          env: {},
          timeoutMs: seconds * 1_000,
        },
        context.signal,
      );
      const stopped = `Stopped after ${seconds} seconds. Start long-running commands in the background with &.`;
      return commandResult(run, outputChars, stopped);
    });
  },
});

/** `stopped` is the message for a command that timed out. */
function commandResult({ stdout, stderr, exitCode }: CommandResult, outputChars: number, stopped: string): ToolResult {
  return {
    ok: true,
    value: {
      stdout: cutMiddle(stdout, outputChars),
      stderr: cutMiddle(stderr, outputChars),
      exit_code: exitCode,
      timed_out: exitCode === null,
      truncated: Math.max(stdout.length, stderr.length) > outputChars,
      ...(exitCode === null ? { stopped } : {}),
    },
  };
}

/** Additional time for starting the kernel and saving the notebook. */
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
 * Runs a notebook in the task's machine and saves it in place, even if a cell fails. Result: `{path, kernel, cells,
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
      const argv = ["python3", "-c", program, machinePath(path, machine), String(seconds), mode];
      const timeoutMs = seconds * 1_000 + MARGIN_MS;
      const run = await machine.run({ argv, cwd: null, env: {}, timeoutMs }, context.signal);
      if (run.exitCode === null)
        return toolError("failed", `${path} did not finish within its time limit, and was not saved.`);
      return toResult(path, run.stdout, run.stderr, seconds);
    });
  },
});

/** Validates the output, because the machine can return anything. */
function toResult(path: string, stdout: string, stderr: string, seconds: number): ToolResult {
  const answer = answerSchema.safeParse(parseJsonOrNull(stdout));
  if (!answer.success) {
    return toolError("failed", `Cannot run ${path}: ${cutMiddle(stderr.trim() || "no output", 2_000)}`);
  }
  if ("problem" in answer.data) return toolError("failed", `Cannot run ${path}: ${answer.data.problem}.`);
  const { stopped, ...summary } = answer.data;
  return { ok: true, value: { path, ...summary, stopped: stopped && meaningOf(stopped, seconds), saved: true } };
}

function meaningOf(stopped: "error" | "time" | "kernel", seconds: number): string {
  if (stopped === "error") return "Stopped at the failed cell. The cells after it were not run.";
  if (stopped === "time") return `Stopped after ${seconds} seconds. The remaining cells were not run.`;
  return "The kernel exited. The remaining cells were not run.";
}

const SECONDS = 120;
const OUTPUT_CHARS = 20_000;

/**
 * As with `python3 -c`, modules in the working folder can be imported. Unlike `python3 -c`, errors show the source
 * lines.
 */
const SCRIPT = `PYTHONPATH="$PWD\${PYTHONPATH:+:$PYTHONPATH}" python3 "$1/main.py"; code=$?; rm -rf "$1"; exit "$code"`;

/** Runs a program with the machine's Python, in the machine's default working folder. */
export async function runMachinePython(machine: TaskMachine, code: string, signal: AbortSignal): Promise<ToolResult> {
  const folder = `/tmp/execute_python/${randomUUID()}`;
  await withTemporaryFile(async (file) => {
    await writeFile(file, code);
    await machine.copyIn(file, `${folder}/main.py`);
  });
  const run = await machine.run(
    { argv: ["bash", "-c", SCRIPT, "bash", folder], cwd: null, env: {}, timeoutMs: SECONDS * 1_000 },
    signal,
  );
  const stderr = run.stderr.replaceAll(`${folder}/main.py`, "main.py");
  const stopped = `Stopped after ${SECONDS} seconds. Do less in one call, or use run_shell.`;
  return commandResult({ ...run, stderr }, OUTPUT_CHARS, stopped);
}

const INSPECT_MS = 30_000;
const EXECUTABLE = 0o755;

/** Returns the text of a UTF-8 file in the machine. Throws a MachineRefusal for anything else. */
export async function readMachineText(machine: TaskMachine, path: string): Promise<string> {
  const bytes = await withTemporaryFile(async (file) => {
    if (!(await machine.copyOut(machinePath(path, machine), file))) {
      throw new MachineRefusal(
        `${path} is not a regular file: it does not exist, is a folder, or is reached through a link. Call list_files to see the existing files.`,
      );
    }
    const { size } = await stat(file);
    if (size > WORKSPACE_LIMITS.fileBytes) throw new MachineRefusal(`${path} is too large: ${size} bytes.`);
    return readFile(file);
  });
  try {
    if (!bytes.includes(0)) return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8.
  }
  throw new MachineRefusal(`${path} is a binary file of ${bytes.length} bytes, not UTF-8 text.`);
}

/** Creates or replaces a file in the machine, including its parent folders. Returns the file size in bytes. */
export async function writeMachineText(
  machine: TaskMachine,
  path: string,
  content: string,
  signal: AbortSignal,
): Promise<number> {
  const bytes = Buffer.from(content, "utf8");
  const target = machinePath(path, machine);
  const there = machine.canRun ? await inspect(machine, target, 0, signal) : null;
  if (there?.type === "folder") throw new MachineRefusal(`${path} is a folder.`);
  await withTemporaryFile(async (file) => {
    await writeFile(file, bytes, { mode: there?.executable === true ? EXECUTABLE : 0o644 });
    await machine.copyIn(file, target);
  });
  return bytes.length;
}

const entrySchema = z.object({ path: z.string(), type: z.enum(["file", "folder", "link", "other"]), size: z.number() });
const inspectionSchema = z.object({
  type: z.enum(["file", "folder", "link", "other", "none"]),
  executable: z.boolean(),
  error: z.string().nullable(),
  entries: z.array(entrySchema),
  total: z.number(),
});

/**
 * Returns the entries below a folder of the machine, sorted by path and relative to the folder. If there are more than
 * `limit`, entries closer to the top take precedence. Folders with a leading dot are listed without their contents.
 */
export async function listMachineFolder(machine: TaskMachine, path: string, limit: number, signal: AbortSignal) {
  if (!machine.canRun) throw new MachineRefusal(`${ONLY_FILES} Files can be read by path.`);
  const { type, error, entries, total } = await inspect(machine, machinePath(path, machine), limit, signal);
  if (type === "none") throw new MachineRefusal(`${path} does not exist in the machine.`);
  if (type !== "folder") throw new MachineRefusal(`${path} is not a folder.`);
  if (error !== null) throw new MachineRefusal(`Cannot list ${path}: ${error}.`);
  return { folder: machinePath(path, machine), entries, total };
}

async function inspect(machine: TaskMachine, path: string, limit: number, signal: AbortSignal) {
  const argv = ["python3", "-I", "-S", "-c", await readProgram("inspect-path.py"), path, String(limit)];
  const { stdout, stderr } = await machine.run({ argv, cwd: "/", env: {}, timeoutMs: INSPECT_MS }, signal);
  const parsed = inspectionSchema.safeParse(parseJsonOrNull(stdout));
  if (parsed.success) return parsed.data;
  throw new Error(stderr.trim().split("\n").at(-1) || "its output is invalid");
}

/** Calls `work` with the path of a file that does not exist yet. The file's temporary folder is removed afterwards. */
async function withTemporaryFile<T>(work: (path: string) => Promise<T>): Promise<T> {
  const folder = await makeTemporaryFolder("machine-file");
  try {
    return await work(join(folder, "file"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const read = new Map<string, Promise<string>>();

function readProgram(name: "inspect-path.py" | "run-notebook.py"): Promise<string> {
  const text = read.get(name) ?? readFile(builtFile(`tools/handlers/${name}`), "utf8");
  read.set(name, text);
  return text;
}

/**
 * Returns an agent's path as an absolute path. `~/` is the user's home. Relative paths start at the working folder of
 * commands.
 */
function machinePath(path: string, { workdir = HOME }: TaskMachine): string {
  if (path.includes("\0")) throw new MachineRefusal("A path cannot contain a NUL character.");
  if (path === "~" || path.startsWith("~/")) return posix.resolve(HOME, path.slice(2));
  return posix.resolve(workdir, path);
}

const NO_MACHINE = "This tool requires a machine, and this task does not have one. Continue without it.";
const ONLY_FILES = "This task's machine only contains files and cannot run commands. Continue without it.";

/** A path or file error that the agent can fix. The message is for the agent. */
class MachineRefusal extends Error {
  override readonly name = "MachineRefusal";
}

/** Runs a tool in the task's machine. Failures of the machine become error results. */
export async function onMachine(
  { machine, signal }: ToolContext,
  work: (machine: TaskMachine) => Promise<ToolResult>,
): Promise<ToolResult> {
  if (machine === undefined) return toolError("failed", NO_MACHINE);
  try {
    return await work(machine);
  } catch (error) {
    // An aborted task must reject with its abort reason.
    signal.throwIfAborted();
    if (error instanceof MachineRefusal) return toolError("bad_arguments", error.message);
    return toolError("failed", `The task's machine failed: ${(error as Error).message}`);
  }
}

/** Like `onMachine`, but only for machines that can run commands. */
export function inRunningMachine(
  context: ToolContext,
  work: (machine: TaskMachine) => Promise<ToolResult>,
): Promise<ToolResult> {
  return onMachine(context, async (machine) => (machine.canRun ? work(machine) : toolError("failed", ONLY_FILES)));
}

function cutMiddle(text: string, mostChars: number): string {
  if (text.length <= mostChars) return text;
  const half = Math.floor(mostChars / 2);
  const [from, to] = [characterBoundary(text, half), characterBoundary(text, text.length - half)];
  return `${text.slice(0, from)}\n… (${to - from} characters omitted) …\n${text.slice(to)}`;
}
