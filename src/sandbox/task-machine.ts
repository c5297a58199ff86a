// The port of a task machine: running commands and copying files. It does not know bubblewrap or Docker.
import type { Readable } from "node:stream";

export interface MachineCommand {
  /** Program and arguments. To run a shell, specify it explicitly. */
  readonly argv: readonly string[];
  /** Absolute path in the machine, or null for the default working directory. */
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export interface CommandResult {
  /** Exit code, or null if the time limit ended the command. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The machine that an agent works on. It is set up before the agent, and its files are collected and graded afterward.
 * All paths are inside the machine.
 */
export interface TaskMachine {
  /** Copies a file or folder into the machine. Creates missing folders and replaces existing files. */
  copyIn(from: string, path: string): Promise<void>;
  /**
   * Copies a regular file out of the machine without following links. Resolves with false if the file does not exist.
   */
  copyOut(path: string, to: string): Promise<boolean>;
  /** Whether the machine can run commands. A folder that only contains files cannot. */
  readonly canRun: boolean;
  /** Working directory for commands and relative paths. The user's home if omitted. */
  readonly workdir?: string;
  /** Runs a command. Throws if `canRun` is false. */
  run(command: MachineCommand, signal: AbortSignal): Promise<CommandResult>;
}

/** A machine opened for one task. */
export interface OpenedMachine extends TaskMachine {
  /** Ends all processes in the machine and removes it. */
  close(): Promise<void>;
}

/** Source of the machines for a suite's tasks. */
export interface TaskMachines {
  /** Returns why no machine is available for a snapshot, or null if one is. `scripts` might call optional programs. */
  findObstacle(
    snapshot: string,
    scripts: readonly string[],
  ): Promise<{ readonly state: "not_ready" | "needs_server"; readonly reason: string } | null>;
  /** Opens a machine. Call `findObstacle` first. */
  open(snapshot: string, signal: AbortSignal): Promise<OpenedMachine>;
}

const MOST_CHARS = 4096;

/** Collects the first characters of a program's output. Returns a function that returns the text so far. */
export function outputStart(stream: Readable): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    if (text.length < MOST_CHARS) text = (text + part).slice(0, MOST_CHARS);
  });
  stream.on("error", () => undefined);
  return () => text;
}

export function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1)?.trim() ?? "";
}

/** Returns whether a path is one of the folders or below one. */
export function isBelowAny(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** Home folder of the user that agents and suite scripts run as. */
export const HOME = "/home/user";
