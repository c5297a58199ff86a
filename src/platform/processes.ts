// Starts programs and supervises them, so that they end with all of their child processes.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { programFile } from "./program-files.js";
import { longestSecret, redactEnd } from "./secrets.js";

interface ProgramOutput {
  readonly end: ProgramEnd;
  readonly stdout: string;
  /** The last characters of stderr. */
  readonly stderr: string;
  /** Whether the program was killed because it wrote too much. */
  readonly tooLong: boolean;
}

export interface ProgramStart {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

export interface SupervisedProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the program and all its child processes have ended. */
  readonly ended: Promise<ProgramEnd>;
  kill(): void;
}

const STDERR_CHARS = 2_000;

/** How a program ended: with a code, by a signal, or not started at all. */
const endSchema = z.union([
  z.object({ code: z.number().nullable(), signal: z.string().nullable() }),
  z.object({ error: z.string() }),
]);

type ProgramEnd = z.output<typeof endSchema>;

/**
 * Runs a program once with `input` on its stdin. On abort, kills it and rejects with the signal's reason. Redacts
 * `secrets` from its stderr.
 */
export async function runProcess(
  start: ProgramStart,
  input: string,
  maxBytes: number,
  signal: AbortSignal,
  secrets: readonly string[] = [],
): Promise<ProgramOutput> {
  signal.throwIfAborted();
  const program = startSupervised(start);
  signal.addEventListener("abort", program.kill, { once: true });
  const chunks: Buffer[] = [];
  let bytes = 0;
  let tooLong = false;
  program.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBytes) {
      chunks.push(chunk);
      return;
    }
    tooLong = true;
    program.kill();
  });
  const stderr = lastOf(program.stderr, secrets);
  program.stdin.end(input);
  const end = await program.ended;
  signal.removeEventListener("abort", program.kill);
  signal.throwIfAborted();
  return { end, stdout: Buffer.concat(chunks).toString("utf8"), stderr: stderr(), tooLong };
}

/** Keeps only the end of a stream's text, in bounded memory. */
export function lastOf(stream: Readable, secrets: readonly string[]): () => string {
  const tailChars = STDERR_CHARS + longestSecret(secrets);
  let text = "";
  let isCut = false;
  stream.setEncoding("utf8").on("data", (more: string) => {
    text += more;
    isCut ||= text.length > tailChars;
    text = text.slice(-tailChars);
  });
  return () => redactEnd(text, isCut, STDERR_CHARS, secrets).trim();
}

/** Milliseconds after which a running opener counts as successful: some end with the browser. */
const SETTLED_MS = 3_000;

/** Opens a file or URL in the user's browser. Resolves with false if that failed or this machine has no opener. */
export async function openInBrowser(target: string): Promise<boolean> {
  // Most commands open no browser.
  const { default: open } = await import("open");
  try {
    const opener = await open(target);
    if (opener.exitCode !== null) return opener.exitCode === 0;
    return await new Promise((resolve) => {
      const settled = setTimeout(() => resolve(true), SETTLED_MS);
      opener.once("exit", (code) => {
        clearTimeout(settled);
        resolve(code === 0);
      });
    });
  } catch {
    return false;
  }
}

const KEEPER = fileURLToPath(programFile("bin/process-supervisor.mjs"));

/** Milliseconds for the supervisor to kill the child processes. */
const KILL_MS = 5_000;

let prefix: readonly string[] | undefined;

/**
 * Starts a program without a shell, under a supervisor process that kills it and all its child processes, including
 * those in other sessions: on request, when the program has ended, and when this process dies, even from kill -9.
 */
export function startSupervised(start: ProgramStart): SupervisedProcess {
  // A subreaper is the new parent of orphaned descendants, so that a daemonized program can still be found.
  prefix ??= prctlPrefix(OPTIONS.subreaper, 1);
  const [file = process.execPath, ...args] = [...prefix, process.execPath, KEEPER];
  // The supervisor does not get the program's environment, which could break it.
  const keeper = spawn(file, args, { env: {}, detached: true, stdio: ["pipe", "pipe", "pipe", "pipe"] });
  const line = keeper.stdio[3] as Socket;
  let timer: NodeJS.Timeout | undefined;
  const kill = () => {
    line.destroy();
    timer ??= setTimeout(() => killGroup(keeper), KILL_MS).unref();
  };
  const programEnd = new Promise<ProgramEnd>((resolve) => {
    let end: ProgramEnd = { error: "its supervisor failed" };
    let reportText = "";
    line.setEncoding("utf8").on("data", (text: string) => {
      reportText += text;
      if (!reportText.endsWith("\n")) return;
      const report = endSchema.safeParse(JSON.parse(reportText));
      if (report.success) end = report.data;
    });
    line.on("error", () => undefined);
    // If the supervisor was killed, kill the rest of its group.
    keeper.on("exit", () => killGroup(keeper));
    keeper.on("error", (error) => resolve({ error: error.message }));
    keeper.on("close", () => {
      clearTimeout(timer);
      resolve(end);
    });
  });
  line.write(`${JSON.stringify(start)}\n`);
  const [stdin, stdout, stderr] = [keeper.stdin, keeper.stdout, keeper.stderr];
  for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);
  return { stdin, stdout, stderr, ended: programEnd, kill };
}

/** Kills the process group of a program that was started as its leader. */
export function killGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) killProcess(-pid);
}

/** Kills a process, or the process group with the negative id. Nothing happens if it has ended. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

/** prctl's system call number on each processor. */
const PRCTL: Readonly<Record<string, number>> = { x64: 157, arm64: 167 };
/** PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER of prctl(2). */
const OPTIONS = { parentDeathSignal: 1, subreaper: 36 } as const;
const SIGKILL = 9;

const PERL = ["/usr/bin/perl", "/usr/local/bin/perl"];
const PYTHON = ["/usr/bin/python3", "/usr/local/bin/python3"];

/**
 * Returns a command prefix for a program that the kernel kills when the thread that started it ends, even if the
 * program is in an endless loop.
 */
export function killedWithParentPrefix(): readonly string[] {
  return prctlPrefix(OPTIONS.parentDeathSignal, SIGKILL);
}

/**
 * Returns a command prefix that calls prctl through Perl or Python, because Node cannot call it. The prefix is empty if
 * neither is installed, and on systems other than Linux.
 */
function prctlPrefix(option: number, value: number): readonly string[] {
  if (process.platform !== "linux") return [];
  const number = PRCTL[process.arch];
  const perl = PERL.find((path) => existsSync(path));
  if (perl !== undefined && number !== undefined) {
    return [perl, "-e", `syscall(${number}, ${option}, ${value}, 0, 0, 0); exec { $ARGV[0] } @ARGV`, "--"];
  }
  const python = PYTHON.find((path) => existsSync(path));
  return python === undefined ? [] : [python, "-I", "-S", "-c", pythonSource(option, value)];
}

const pythonSource = (option: number, value: number) => `import os, sys
try:
    import ctypes
    ctypes.CDLL(None).prctl(${option}, ${value}, 0, 0, 0)
except (ImportError, OSError, AttributeError):
    pass
os.execv(sys.argv[1], sys.argv[1:])`;

/** Returns whether a process exists on this machine, for any user. A zombie still counts. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means that it runs as another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Returns how many milliseconds the main thread of a process has been ready to run but waited for a processor, because
 * the machine was busy. Returns 0 for an ended process, and on systems other than Linux.
 */
export async function waitedForProcessorMs(pid: number): Promise<number> {
  // Nanoseconds on a processor, nanoseconds waited, time slices.
  const statistics = await readFile(`/proc/${pid}/schedstat`, "utf8").catch(() => "");
  return Number(statistics.split(" ")[1] ?? 0) / 1e6;
}
