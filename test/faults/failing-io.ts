import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Db } from "../../src/store/open-store.js";
import { Database } from "../../src/store/sqlite.js";
import { BIN } from "../cli/art-e.js";

/** Runs the built program with a library that fails one of its writes (failing-io.c), and checks what is left. */

export const KINDS = ["eio", "enospc", "short"] as const;

/** Fails the k-th call, and with `forever` all later ones too. */
export interface Fault {
  readonly at: number;
  readonly kind: (typeof KINDS)[number];
  readonly forever: boolean;
}

export interface FaultedCommand {
  readonly name: string;
  /** Folder with the state before the command. */
  readonly before: string;
  readonly line: readonly string[];
  /** Returns the command that repeats or continues the work, depending on what the fault left. */
  again(folder: string): readonly string[];
  /** Returns the outcome of the work without times, for comparison. */
  outcome(db: Db): unknown;
  /** Returns what is wrong although the command succeeded, or has said what it saved. Null if nothing is. */
  lost(db: Db | null, ended: Ended): string | null;
}

export interface Ended {
  readonly code: number | null;
  readonly stderr: string;
  readonly hung: boolean;
}

/** Longest time of a command here. They take about half a second. */
const HANG_MS = 30_000;

/** Counts the calls that can fail while the command works, by running it without a fault. */
export async function countCalls(library: string, { before, line }: FaultedCommand): Promise<number> {
  const folder = copyOf(before);
  try {
    const count = join(folder, "count");
    const { code, stderr } = await run(folder, line, { LD_PRELOAD: library, FAULT_PATH: DB, FAULT_COUNT: count });
    if (code !== 0) throw new Error(`art-e ${line.join(" ")}: ${stderr}`);
    return Number(readFileSync(count, "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Everything that must never happen, as texts. Empty if the fault did no harm. */
export async function harmOf(
  library: string,
  command: FaultedCommand,
  { at, kind, forever }: Fault,
  wanted: unknown,
): Promise<string[]> {
  const folder = copyOf(command.before);
  const harm: string[] = [];
  try {
    const fault = { FAULT_PATH: DB, FAULT_AT: `${at}`, FAULT_KIND: kind, FAULT_FOREVER: forever ? "1" : "0" };
    const ended = await run(folder, command.line, { LD_PRELOAD: library, ...fault });
    if (ended.hung) harm.push("hangs");
    else if (ended.code === null || ended.code > 3) harm.push(`ends with ${ended.code}: ${ended.stderr}`);
    if (/This is a bug|\n {4}at /.test(ended.stderr)) harm.push(`shows a bug: ${ended.stderr}`);
    if (ended.code !== 0 && !/^art-e: /m.test(ended.stderr)) harm.push(`fails without a message: ${ended.stderr}`);
    harm.push(...withDatabase(folder, (db) => [...unsound(db), ...known(command.lost(db, ended))]));
    const { code, stderr } = await run(folder, command.again(folder), {});
    if (code !== 0) harm.push(`cannot be repeated: ${stderr}`);
    const outcome = withDatabase(folder, (db) => (db === null ? null : command.outcome(db)));
    if (JSON.stringify(outcome) !== JSON.stringify(wanted)) harm.push("has another outcome when it is repeated");
    harm.push(...withDatabase(folder, unsound).map((what) => `${what} (afterwards)`));
    return harm.map((what) => `${command.name} ${what} [call ${at}, ${kind}${forever ? ", forever" : ""}]`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function known(text: string | null): string[] {
  return text === null ? [] : [text];
}

function unsound(db: Db | null): string[] {
  if (db === null) return [];
  const found = db.pragma("integrity_check", { simple: true });
  return found === "ok" ? [] : [`leaves an unsound file: ${found}`];
}

/** Returns the outcome that a command has without faults. */
export async function plainOutcome({ before, line, outcome }: FaultedCommand): Promise<unknown> {
  const folder = copyOf(before);
  try {
    const { code, stderr } = await run(folder, line, {});
    if (code !== 0) throw new Error(`art-e ${line.join(" ")}: ${stderr}`);
    return withDatabase(folder, (db) => (db === null ? null : outcome(db)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const DB = "art-e.db";

/** Opens the database like any other program, which recovers its write-ahead log. */
export function withDatabase<T>(folder: string, use: (db: Db | null) => T): T {
  const path = join(folder, DB);
  if (!existsSync(path)) return use(null);
  const db = new Database(path);
  try {
    return use(db);
  } finally {
    db.close();
  }
}

function copyOf(before: string): string {
  const folder = mkdtempSync(join(tmpdir(), "art-e-faults-"));
  cpSync(before, folder, { recursive: true });
  return folder;
}

function run(folder: string, line: readonly string[], variables: Readonly<Record<string, string>>): Promise<Ended> {
  const env = { PATH: process.env.PATH ?? "", HOME: folder, NO_COLOR: "1", ...variables };
  const child = spawn(process.execPath, [BIN, ...line], { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
  let [stderr, hung] = ["", false];
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const timer = setTimeout(() => {
    hung = true;
    child.kill("SIGKILL");
  }, HANG_MS);
  return new Promise((resolve, reject) => {
    child.on("error", reject).on("close", (code) => {
      clearTimeout(timer);
      resolve({ code, stderr, hung });
    });
  });
}
