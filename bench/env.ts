import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { table } from "../src/text/format.js";
import { writeQuestions } from "./harness.js";
import type { Quantiles } from "./quantiles.js";
import { writeKaggleCsv } from "./synthetic-corpus.js";

/**
 * The built program's training environment, and an echo environment, in the same benchmark: sessions search, read and
 * answer as fast as possible, and at a pace, like models that think between steps.
 */

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const BIN = join(ROOT, "bin/art-e.js");
const JITI = join(ROOT, "node_modules/jiti/lib/jiti-cli.mjs");
const CLIENTS = join(ROOT, "bench/env-clients.ts");

/** Steps per second of all sessions together. */
const PACE = 1_200;
const SESSIONS = [1, 64, 512];

interface Played {
  readonly stepsPerSecond: number;
  readonly episodesPerSecond: number;
  readonly step: Quantiles;
  readonly meanReward: number;
}

interface EnvironmentLine {
  readonly what: string;
  readonly sessions: number;
  /** Steps per second of all sessions, or null for as many as possible. */
  readonly pace: number | null;
  readonly ours: Played & {
    /** Over all threads, in ms. */
    readonly cpuMsPerStep: number;
    readonly megabytesBefore: number;
    readonly megabytesAfter: number;
  };
  readonly echo: Played;
}

export interface EnvironmentBenchOptions {
  /** Episodes per line. */
  readonly episodes: number;
  readonly mails: number;
  /** A folder that keeps the synthetic mail. */
  readonly keep: string | undefined;
  readonly json: boolean;
}

export async function printEnvironmentBench({ episodes, mails, keep, json }: EnvironmentBenchOptions): Promise<void> {
  const folder = keep ?? mkdtempSync(join(tmpdir(), "art-e-bench-"));
  mkdirSync(folder, { recursive: true });
  try {
    const demo = await imported(join(ROOT, "fixtures/demo/maildir"), join(folder, "demo.db"));
    const lines = await benchOver("demo", demo, join(ROOT, "fixtures/demo/questions.jsonl"), episodes);
    const csv = join(folder, `mail-${mails}.csv`);
    if (!existsSync(csv)) await writeKaggleCsv(csv, { mails, seed: 1 });
    const synthetic = await imported(csv, join(folder, `env-${mails}.db`));
    const questions = writeQuestions(synthetic, join(folder, "questions.jsonl"), 2_000);
    lines.push(...(await benchOver(`${mails.toLocaleString("en-US")} mails`, synthetic, questions, episodes)));
    const machine = { node: process.version, cores: availableParallelism() };
    console.log(json ? JSON.stringify({ machine, environment: lines }, null, 2) : tableOf(lines));
  } finally {
    if (keep === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function imported(source: string, db: string): Promise<string> {
  if (!existsSync(db)) await promisify(execFile)(process.execPath, [BIN, "import", source, "--db", db, "--quiet"]);
  return db;
}

async function benchOver(what: string, db: string, questions: string, episodes: number): Promise<EnvironmentLine[]> {
  const flags = ["--db", db, "--dataset", questions, "--port", "0", "--json"];
  const ours = await start([BIN, "env", "serve", ...flags]);
  const echo = await start([JITI, CLIENTS, "echo"]);
  try {
    // So that the code for all lines is compiled, and the mailboxes have been read.
    for (const { url } of [ours, echo]) await play(url, 64, 500, null);
    const lines: EnvironmentLine[] = [];
    for (const [sessions, pace] of [...SESSIONS.map((count) => [count, null] as const), [512, PACE] as const]) {
      const before = usageOf(ours.process);
      const played = await play(ours.url, sessions, episodes, pace);
      const after = usageOf(ours.process);
      const cpuMsPerStep = (after.cpuMs - before.cpuMs) / (3 * episodes);
      const measured = { cpuMsPerStep, megabytesBefore: before.megabytes, megabytesAfter: after.megabytes };
      const echoed = await play(echo.url, sessions, episodes, pace);
      lines.push({ what, sessions, pace, ours: { ...played, ...measured }, echo: echoed });
    }
    return lines;
  } finally {
    for (const { process: child } of [ours, echo]) {
      child.kill("SIGINT");
      await once(child, "exit");
    }
  }
}

/** Starts a program that prints its URL first. */
async function start(args: readonly string[]): Promise<{ readonly url: string; readonly process: ChildProcess }> {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  for (let text = ""; ; ) {
    const [chunk] = (await once(child.stdout, "data")) as [Buffer];
    text += chunk.toString();
    const [url] = /http:\/\/[\w.]+:\d+/.exec(text) ?? [];
    if (url !== undefined) return { url, process: child };
  }
}

/** In a separate process. */
async function play(url: string, sessions: number, episodes: number, pace: number | null): Promise<Played> {
  const size = ["--sessions", String(sessions), "--episodes", String(episodes)];
  const args = [JITI, CLIENTS, url, ...size, "--pace", String(pace ?? 0)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Played;
}

/** CPU time of a process, if /proc is available. */
function usageOf({ pid }: ChildProcess): { readonly cpuMs: number; readonly megabytes: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  const [, kilobytes = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
  return { cpuMs: ticks * 10, megabytes: Number(kilobytes) / 1_024 };
}

function tableOf(lines: readonly EnvironmentLine[]): string {
  const whole = (value: number) => Math.round(value).toLocaleString("en-US");
  const ms = ({ p50, p99 }: Quantiles) => `${p50.toFixed(1)} / ${p99.toFixed(1)}`;
  return table(
    [
      "episodes of 3 steps",
      "sessions",
      "episodes/s",
      "steps/s",
      "step, ms: p50 / p99",
      "CPU ms",
      "MB",
      "echo: steps/s",
      "p50 / p99",
    ],
    lines.map(({ what, sessions, pace, ours, echo }) => [
      pace === null ? what : `${what}, ${whole(pace)} steps/s requested`,
      String(sessions),
      whole(ours.episodesPerSecond),
      whole(ours.stepsPerSecond),
      ms(ours.step),
      ours.cpuMsPerStep.toFixed(2),
      `${whole(ours.megabytesBefore)} to ${whole(ours.megabytesAfter)}`,
      whole(echo.stepsPerSecond),
      ms(echo.step),
    ]),
  );
}
