import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const KEEPER = fileURLToPath(new URL("../../bin/keeper.mjs", import.meta.url));

/** How a program ended: with a code, by a signal, or not started at all. */
const endSchema = z.union([
  z.object({ code: z.number().nullable(), signal: z.string().nullable() }),
  z.object({ error: z.string() }),
]);

export type ProgramEnd = z.output<typeof endSchema>;

export interface ProgramStart {
  readonly argv: readonly string[];
  /** All that it gets of an environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** A program under way, with its three streams. */
export interface KeptProgram {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when it has ended and all that it started has been ended too. */
  readonly ended: Promise<ProgramEnd>;
  /** Ends it and all that it started, at once. */
  kill(): void;
}

/**
 * Starts a program in a process group of its own, without a shell. A keeper stands between: should this process die,
 * even by kill -9, the keeper ends the group.
 */
export function startKept({ argv, env, cwd }: ProgramStart): KeptProgram {
  const keeper = spawn(process.execPath, [KEEPER, ...argv], {
    env,
    cwd,
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "pipe"],
  });
  const kill = () => killGroup(keeper);
  const ended = new Promise<ProgramEnd>((resolve) => {
    let end: ProgramEnd = { error: "it could not be kept" };
    let said = "";
    const line = keeper.stdio[3] as Readable;
    line.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (!said.endsWith("\n")) return;
      const told = endSchema.safeParse(JSON.parse(said));
      if (told.success) end = told.data;
      // Whatever it has left running goes with it.
      kill();
    });
    line.on("error", () => undefined);
    keeper.on("exit", kill);
    keeper.on("error", (error) => resolve({ error: error.message }));
    keeper.on("close", () => resolve(end));
  });
  const [stdin, stdout, stderr] = [keeper.stdin, keeper.stdout, keeper.stderr];
  for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);
  return { stdin, stdout, stderr, ended, kill };
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
