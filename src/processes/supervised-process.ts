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
  /** All that it gets of an environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** A program under way, with its three streams. */
export interface SupervisedProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when it has ended and all that it started has been ended too. */
  readonly ended: Promise<ProgramEnd>;
  /** Ends it and all that it started, at once. */
  kill(): void;
}

/** So long the keeper may take to end what it has started. */
const KILL_MS = 5_000;

let prefix: readonly string[] | undefined;

/**
 * Starts a program without a shell. A keeper stands between: it ends the program with all that it has started, in other
 * sessions too, when it is told to, when the program has ended, and when this process dies, even by kill -9.
 */
export function startSupervised(start: ProgramStart): SupervisedProcess {
  prefix ??= subreaperPrefix();
  const [file = process.execPath, ...args] = [...prefix, process.execPath, KEEPER];
  // The program's environment is not the keeper's, which it could break.
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
    // Should it have been killed, what is left of its group goes with it.
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
