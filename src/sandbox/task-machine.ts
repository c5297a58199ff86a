import type { Readable } from "node:stream";

const MOST_CHARS = 4096;

/** The beginning of a program's output, as far as it has come. */
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

/** The home folder of the user that agents and scripts of suites are. */
export const HOME = "/home/user";

export interface MachineCommand {
  /** Program and arguments; a shell is one of them where one is meant. */
  readonly argv: readonly string[];
  /** Absolute path in the machine; null: where its commands begin. */
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export interface CommandResult {
  /** Null where the time limit ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The machine that an agent works on: set up before it, collected from and graded after it. Paths are its own. */
export interface TaskMachine {
  /** Copies a file or folder in, creates missing folders, and replaces what is there. */
  copyIn(from: string, path: string): Promise<void>;
  /** Copies a regular file out without following links; false where there is none. */
  copyOut(path: string, to: string): Promise<boolean>;
  /** Whether commands can be run in it. A folder that only holds files cannot. */
  readonly canRun: boolean;
  /** Where commands and relative paths begin; left out: the user's home. */
  readonly workdir?: string;
  /** Throws where `canRun` is false. */
  run(command: MachineCommand, signal: AbortSignal): Promise<CommandResult>;
}

/** A machine that was opened for one task. */
export interface OpenedMachine extends TaskMachine {
  /** Ends what runs in it, and removes it. */
  close(): Promise<void>;
}

/** Where the machines of a suite's tasks come from. */
export interface TaskMachines {
  /** What there is none for here, and why; null: nothing. `scripts`: texts, which may call optional programs. */
  findObstacle(
    snapshot: string,
    scripts: readonly string[],
  ): Promise<{ readonly state: "not_ready" | "needs_server"; readonly reason: string } | null>;
  /** Ask first whether there is an obstacle. */
  open(snapshot: string, signal: AbortSignal): Promise<OpenedMachine>;
}
