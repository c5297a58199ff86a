import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { subreaperPrefix } from "./subreaper.js";

const KEEPER = fileURLToPath(new URL("../../bin/process-supervisor.mjs", import.meta.url));

/** How a program ended: with a code, by a signal, or not started at all. */
const endSchema = z.union([
  z.object({ code: z.number().nullable(), signal: z.string().nullable() }),
  z.object({ error: z.string() }),
]);

export type ProgramEnd = z.output<typeof endSchema>;

export interface ProgramStart {
  readonly argv: readonly string[];
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** A running program with its three streams. */
export interface SupervisedProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when it and all its child processes have ended. */
  readonly ended: Promise<ProgramEnd>;
  /** Kills it and all its child processes. */
  kill(): void;
}

/** Time for the supervisor to kill the child processes. */
const KILL_MS = 5_000;

let prefix: readonly string[] | undefined;

/**
 * Starts a program without a shell, under a supervisor process that kills it and all its child processes, in other
 * sessions too: on request, when the program has ended, and when this process dies, even by kill -9.
 */
export function startSupervised(start: ProgramStart): SupervisedProcess {
  prefix ??= subreaperPrefix();
  const [file = process.execPath, ...args] = [...prefix, process.execPath, KEEPER];
  // The supervisor does not get the program's environment, which could break it.
  const keeper = spawn(file, args, { env: {}, detached: true, stdio: ["pipe", "pipe", "pipe", "pipe"] });
  const line = keeper.stdio[3] as Socket;
  let timer: NodeJS.Timeout | undefined;
  const kill = () => {
    line.destroy();
    timer ??= setTimeout(() => killGroup(keeper), KILL_MS).unref();
  };
  const ended = new Promise<ProgramEnd>((resolve) => {
    let end: ProgramEnd = { error: "it could not be kept" };
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
