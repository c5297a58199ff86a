import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { median } from "../quantiles.js";

/**
 * Startup times of short commands with the built program: the CPU time (user and system) of the process, which other
 * work on the machine hardly affects, and the elapsed time, compared with a Node process that does nothing.
 */

const ROOT = join(import.meta.dirname, "../..");
const BIN = join(ROOT, "bin/art-e.js");

const HELP_OF = [
  "run",
  "ask",
  "search",
  "report",
  "compare",
  "stats",
  "score",
  "gate",
  "serve",
  "export-results",
  "mcp",
];
const COMMANDS = [
  "--version",
  "--help",
  ...HELP_OF.map((name) => `${name} --help`),
  "runs list",
  "agents list",
  "doctor",
];

/** Writes the CPU time of a process, in µs, to its file descriptor 3 when it ends. */
const REPORT_CPU = `data:text/javascript,${encodeURIComponent(`
import { writeSync } from "node:fs";
process.on("exit", () => { const { user, system } = process.cpuUsage(); writeSync(3, String(user + system)); });
`)}`;

export interface StartTime {
  readonly command: string;
  /** Medians, in ms. */
  readonly cpuMs: number;
  readonly clockMs: number;
  /** CPU time relative to an empty Node process. */
  readonly ratio: number;
}

/** Measures each command `runs` times, alternating with the others. */
export async function benchStart(runs: number): Promise<StartTime[]> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-start-"));
  try {
    await measure(folder, [BIN, "import", join(ROOT, "fixtures/demo/maildir"), "--quiet"]);
    const lines = new Map([
      ["node -e 0", ["-e", "0"]],
      ...COMMANDS.map((command) => [`art-e ${command}`, [BIN, ...command.split(" ")]] as const),
    ]);
    const times = new Map<string, { cpuMs: number; clockMs: number }[]>();
    for (let run = 0; run < runs; run++) {
      for (const [command, args] of lines) {
        times.set(command, [...(times.get(command) ?? []), await measure(folder, args)]);
      }
    }
    const bare = median((times.get("node -e 0") ?? []).map(({ cpuMs }) => cpuMs));
    return [...times].map(([command, all]) => {
      const cpuMs = median(all.map((each) => each.cpuMs));
      return { command, cpuMs, clockMs: median(all.map((each) => each.clockMs)), ratio: cpuMs / bare };
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measure(cwd: string, args: readonly string[]): Promise<{ cpuMs: number; clockMs: number }> {
  const started = performance.now();
  const child = spawn(process.execPath, ["--import", REPORT_CPU, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd },
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const [written] = await Promise.all([text(child.stdio[3] as NodeJS.ReadableStream), once(child, "close")]);
  return { cpuMs: Number(written) / 1_000, clockMs: performance.now() - started };
}
