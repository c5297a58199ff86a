// Gold solutions of suite tasks, which the built-in agent `oracle` applies.
import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { reasonOf, UserError } from "../platform/errors.js";
import { statOf } from "../platform/file-stats.js";
import { readNamedText } from "../platform/files.js";
import { type CommandResult, isBelowAny, type TaskMachine } from "../sandbox/task-machine.js";
import type { Grade, SuiteTask, TaskOracle } from "../tasks/suite-task.js";
import { fileStateOf, type SuiteFolder } from "./suite-folder.js";

/** Name of a suite's own oracle file. */
export const OWN_ORACLE = "oracle.jsonl";

/** The gold solutions of a suite's tasks. */
export interface SuiteOracle {
  hasLine(task: SuiteTask): boolean;
  /** `excuse` removes a score below the line's score if some of the line's files were missing. */
  open(task: SuiteTask, machine: TaskMachine): TaskOracle & { excuse(grade: Grade): Grade };
}

interface Placed {
  /** Missing files. Some suites omit files that do not affect the grade. */
  readonly missing: readonly string[];
  /** Why the result is not graded, or null if it is. */
  readonly refused: string | null;
}

const paths = z.record(z.string().startsWith("/"), z.string());

const processSchema = z.object({
  cmd: z.array(z.string()).min(1),
  /** Address that must accept connections before grading. */
  ready: z
    .string()
    .regex(/^tcp:[\w.-]+:\d{1,5}$/, "expected tcp:HOST:PORT")
    .optional(),
});

type OracleProcess = z.output<typeof processSchema>;

const oracleLineSchema = z.object({
  suite: z.string(),
  uuid: z.string(),
  /** `gold` is a solution with score 1, and `initial` is the unchanged initial state. */
  state: z.string(),
  /** Files of the task's folder, by path in the machine. */
  files: paths.default({}),
  /** Files next to the oracle file, by path in the machine. */
  derived: paths.default({}),
  /** Paths to remove in the machine. */
  remove: z.array(z.string()).default([]),
  /** Processes that the agent left running. They live until the task is graded. */
  processes: z.array(processSchema).default([]),
  /** The agent's answer, and the Message-IDs of its sources. */
  answer: z.string().optional(),
  sources: z.array(z.string()).default([]),
  expected_score: z.number(),
  grading: z.string().default("files"),
});

/** An agent's result for a task, and the score for it. */
export type OracleLine = z.output<typeof oracleLineSchema>;

/**
 * Returns the absolute path of the specified oracle file, otherwise that of the suite's own file. For Harbor tasks,
 * returns the suite.
 */
export function findOracleFile(requestedPath: string | undefined, { form, root, name }: SuiteFolder): string {
  if (form === "harbor") {
    if (requestedPath === undefined) return root;
    throw new UserError("flags_contradict", "--oracle: Harbor tasks have their own solutions.", "Omit --oracle.");
  }
  const path = resolve(requestedPath ?? join(root, OWN_ORACLE));
  if (requestedPath !== undefined || statOf(path)?.isFile()) return path;
  throw new UserError(
    "oracle_missing",
    `Cannot find an oracle file: ${name} has no ${OWN_ORACLE}.`,
    "Pass one with --oracle FILE.",
  );
}

/**
 * Reads an oracle file. Of a task's lines, the one with the highest score is used, or the first of several with the
 * same score.
 */
export function openOracle(path: string, suite: SuiteFolder): SuiteOracle {
  const best = new Map<string, OracleLine>();
  for (const line of readOracle(path).filter(isForSuite(path, suite))) {
    const bestLine = best.get(line.uuid);
    if (bestLine === undefined || line.expected_score > bestLine.expected_score) best.set(line.uuid, line);
  }
  const derivedFolder = dirname(path);
  return {
    hasLine: ({ id }) => best.has(id),
    open(task, machine) {
      const line = best.get(task.id);
      let placed: Placed = { missing: [], refused: null };
      return {
        async apply(signal) {
          if (line === undefined) return { ok: false, reason: "The oracle file has no line for this task." };
          placed = await applyOracleLine(line, task, derivedFolder, machine, signal);
          if (placed.refused !== null) return { ok: false, reason: placed.refused };
          return { ok: true, applied: toApplied(line, placed.missing) };
        },
        excuse(grade) {
          const { missing, refused } = placed;
          if (refused !== null) return { score: null, state: "setup_error", reason: refused };
          const isLess = line !== undefined && grade.score !== null && grade.score < line.expected_score;
          if (!isLess || missing.length === 0) return grade;
          const reason = `oracle files are missing: ${missing.join(", ")}; ${grade.reason}`;
          return { score: null, state: "missing_files", reason };
        },
      };
    },
  };
}

/** Returns a filter for the lines of a suite. All lines of its own file are, because its folder can be renamed. */
export function isForSuite(path: string, { root, name }: SuiteFolder): (line: OracleLine) => boolean {
  const isOwnFile = resolve(path) === resolve(root, OWN_ORACLE);
  return (line) => isOwnFile || line.suite === name;
}

function toApplied(
  { state, files, derived, remove, processes, answer, sources }: OracleLine,
  missing: readonly string[],
) {
  return {
    state,
    files: [...Object.keys(files), ...Object.keys(derived)],
    ...(answer === undefined ? {} : { answer, sources }),
    ...(remove.length === 0 ? {} : { removed: remove }),
    ...(processes.length === 0 ? {} : { processes: processes.map(({ cmd }) => cmd.join(" ")) }),
    ...(missing.length === 0 ? {} : { missing }),
  };
}

/**
 * Applies a line in a machine that runs commands: puts its files in place, removes the paths that it lists, and starts
 * its processes.
 */
export async function applyOracleLine(
  line: OracleLine,
  task: SuiteTask,
  derivedFolder: string,
  machine: TaskMachine,
  signal: AbortSignal,
): Promise<Placed> {
  const placed = await placeFiles(line, task, derivedFolder, machine);
  if (placed.refused !== null) return placed;
  if (line.remove.length > 0) {
    const argv = ["rm", "-rf", "--", ...line.remove];
    await machine.run({ argv, cwd: null, env: {}, timeoutMs: 60_000 }, signal);
  }
  return { ...placed, refused: await startProcesses(line.processes, machine, signal) };
}

const READY_WITHIN_S = 60;
const TIMEOUT_MS = (READY_WITHIN_S + 10) * 1000;

/** Starts a process in its own session, so that it lives until the machine is closed. Prints its process id. */
const START = 'log=$1; shift; setsid "$@" </dev/null >"$log" 2>&1 & echo $!';

/** Tries to connect to the port until a connection is accepted or the process has ended. */
const WAIT = `for try in $(seq ${READY_WITHIN_S * 5}); do
  (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null && exit 0
  kill -0 "$3" 2>/dev/null || break
  sleep 0.2
done
tail -n 1 "$4" >&2
exit 1`;

/** Starts the processes that an agent would have left running. Returns why one is not ready, or null. */
async function startProcesses(
  processes: readonly OracleProcess[],
  machine: TaskMachine,
  signal: AbortSignal,
): Promise<string | null> {
  const bash = (script: string, ...words: string[]): Promise<CommandResult> => {
    const argv = ["/bin/bash", "-c", script, "bash", ...words];
    return machine.run({ argv, cwd: null, env: {}, timeoutMs: TIMEOUT_MS }, signal);
  };
  for (const [i, { cmd, ready }] of processes.entries()) {
    const log = `/tmp/process-${i}.log`;
    const started = await bash(START, log, ...cmd);
    if (ready === undefined) continue;
    const [host = "", port = ""] = ready.slice("tcp:".length).split(/:(?=\d+$)/);
    const { exitCode, stderr } = await bash(WAIT, host, port, started.stdout.trim(), log);
    if (exitCode === 0) continue;
    const message = stderr.trim();
    return `${cmd.join(" ")} is not ready at ${host}:${port}${message === "" ? "" : `: ${message}`}`;
  }
  return null;
}

/** Copies a line's files into the machine, except for the ones that it removes. */
export async function placeFiles(
  { files, derived, remove }: OracleLine,
  task: SuiteTask,
  derivedFolder: string,
  machine: TaskMachine,
): Promise<Placed> {
  const sources = [
    ...Object.entries(files).map(([path, file]) => ({ path, file, folder: task.folder })),
    ...Object.entries(derived).map(([path, file]) => ({ path, file, folder: derivedFolder })),
  ].filter(({ path }) => !isBelowAny(path, remove));
  const missing: string[] = [];
  for (const { path, file, folder } of sources) {
    const state = fileStateOf(folder, file);
    if (state === "file") await machine.copyIn(join(folder, file), path);
    else if (state === "missing") missing.push(file);
    else return { missing, refused: `cannot put ${file} in place: ${REFUSALS[state]}` };
  }
  return { missing, refused: null };
}

const REFUSALS = {
  outside: "it is outside of its folder",
  link: "it is reached through a link, which is not followed",
  folder: "it is a folder",
  special: "it is not a regular file",
} as const;

const MAX_BYTES = 50_000_000;

export function readOracle(path: string): OracleLine[] {
  const lines = readLines(path);
  return lines.flatMap((line, i): OracleLine[] => {
    if (line.trim() === "") return [];
    const parsed = oracleLineSchema.safeParse(parseLine(line, `${path}:${i + 1}`));
    if (parsed.success) return [parsed.data];
    const [issue] = parsed.error.issues;
    throw invalid(`${path}:${i + 1}: ${issue?.path.join(".")}: ${issue?.message}`);
  });
}

function readLines(path: string): string[] {
  try {
    if (statSync(path).size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    return readNamedText(path).split("\n");
  } catch (cause) {
    throw invalid(`Cannot read ${path}: ${reasonOf(cause)}.`, cause);
  }
}

function parseLine(line: string, where: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw invalid(`${where} is not JSON: ${(cause as Error).message}`, cause);
  }
}

function invalid(message: string, cause?: unknown): UserError {
  const hint = "Each line contains suite, uuid, state, files, expected_score and grading: see docs/write-a-suite.md.";
  return new UserError("oracle_invalid", message, hint, 2, { cause });
}
