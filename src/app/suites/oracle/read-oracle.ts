import { readFileSync, statSync } from "node:fs";
import { z } from "zod";
import { UserError } from "../../../domain/errors.js";

const MAX_BYTES = 50_000_000;

const paths = z.record(z.string().startsWith("/"), z.string());

const processSchema = z.object({
  cmd: z.array(z.string()).min(1),
  /** Graded once somebody answers there. */
  ready: z
    .string()
    .regex(/^tcp:[\w.-]+:\d{1,5}$/, "expected tcp:HOST:PORT")
    .optional(),
});

export type OracleProcess = z.output<typeof processSchema>;

const oracleLineSchema = z.object({
  suite: z.string(),
  uuid: z.string(),
  /** gold: what a score of 1 takes; initial: the untouched start. */
  state: z.string(),
  /** Path in the machine: file of the task's folder. */
  files: paths.default({}),
  /** Path in the machine: file beside the oracle file. */
  derived: paths.default({}),
  /** Paths in the machine that are gone. */
  remove: z.array(z.string()).default([]),
  /** What the agent left running; it lives until the task is graded. */
  processes: z.array(processSchema).default([]),
  /** What the agent answered, and the Message-IDs that it cited. */
  answer: z.string().optional(),
  sources: z.array(z.string()).default([]),
  expected_score: z.number(),
  grading: z.string().default("files"),
});

/** What an agent would have left behind for a task, and the score for it. */
export type OracleLine = z.output<typeof oracleLineSchema>;

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
    return readFileSync(path, "utf8").split("\n");
  } catch (cause) {
    throw invalid(`${path} cannot be read: ${(cause as Error).message}`, cause);
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
  const hint = "Each line holds suite, uuid, state, files, expected_score and grading: see docs/task-suites.md.";
  return new UserError("oracle_invalid", message, hint, 2, { cause });
}
