import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pLimit from "p-limit";
import type { AppContext } from "../src/platform/app-context.js";
import { GradingPool } from "../src/suites/grading/grading-pool.js";
import { applyOracleLine, type OracleLine, readOracle } from "../src/suites/oracle.js";
import { openSuiteFolder } from "../src/suites/suite-folder.js";
import { findSandboxedMachines } from "../src/suites/task/open-task.js";
import { readSuite } from "../src/suites/task/task-file.js";
import { runSetUp } from "../src/suites/task/task-setup.js";
import type { SuiteTask } from "../src/tasks/suite-task.js";
import { type Quantiles, quantiles } from "./quantiles.js";

/** The cost of a suite task without its agent: machine, setup and grading, compared with plain commands. */

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const DEMO = join(ROOT, "fixtures/suites/demo");
const PHASES = ["sandbox start", "setup", "agent's files", "grading", "end"] as const;

export interface SuiteBench {
  readonly tasks: number;
  readonly atOnce: number;
  readonly tasksPerSecond: number;
  /** Over all tasks, in milliseconds. */
  readonly phases: Readonly<Record<(typeof PHASES)[number], Quantiles>>;
}

export interface PlainLine {
  readonly what: string;
  readonly ms: Quantiles;
}

/** The demo suite's oracle lines, repeated. Every score is checked. */
export async function benchSuite(tasks: number, atOnce: number): Promise<SuiteBench> {
  const suite = openSuiteFolder(DEMO);
  const byId = new Map(readSuite(suite).tasks.map(({ task }) => [task.id, task]));
  const machines = await findSandboxedMachines(suite, { settings: { db: join(ROOT, "x") } } as unknown as AppContext);
  const ready: { line: OracleLine; task: SuiteTask }[] = [];
  for (const line of readOracle(join(DEMO, "oracle.jsonl"))) {
    const task = byId.get(line.uuid);
    if (task !== undefined && (await machines.findObstacle(task.snapshot, [])) === null) ready.push({ line, task });
  }
  const graders = new GradingPool({ suite, functions: undefined, accounts: { folder: null, env: {} } });
  const work = mkdtempSync(join(tmpdir(), "art-e-bench-suite-"));
  const times: Record<string, number[]> = Object.fromEntries(PHASES.map((name) => [name, []]));
  const one = async (i: number) => {
    const { line, task } = ready[i % ready.length] as (typeof ready)[number];
    const never = new AbortController().signal;
    let last = performance.now();
    const mark = (name: (typeof PHASES)[number]) => {
      times[name]?.push(performance.now() - last);
      last = performance.now();
    };
    const machine = await machines.open(task.snapshot, never);
    mark("sandbox start");
    const refusal = await runSetUp({ task, machine, options: { suiteRoot: suite.root }, signal: never });
    if (refusal !== null) throw new Error(refusal.reason);
    mark("setup");
    await applyOracleLine(line, task, DEMO, machine, never);
    mark("agent's files");
    const { score, reason } = await graders.evaluate(task, machine, join(work, String(i)), never);
    if (score !== line.expected_score) throw new Error(`${task.id} ${line.state}: ${score} (${reason})`);
    mark("grading");
    await machine.close();
    mark("end");
  };
  try {
    const limit = pLimit(atOnce);
    const begun = performance.now();
    await limit.map(
      Array.from({ length: tasks }, (_, i) => i),
      one,
    );
    const tasksPerSecond = (1_000 * tasks) / (performance.now() - begun);
    const phases = Object.fromEntries(PHASES.map((name) => [name, quantiles(times[name] ?? [])]));
    return { tasks, atOnce, tasksPerSecond, phases: phases as SuiteBench["phases"] };
  } finally {
    await graders.close();
    rmSync(work, { recursive: true, force: true });
  }
}

/** Sequentially. */
export async function benchPlain(times: number): Promise<PlainLine[]> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-bench-plain-"));
  const task = join(DEMO, "examples/terminal", readdirSync(join(DEMO, "examples/terminal"))[0] ?? "");
  const run = (file: string, ...args: string[]) => promisify(execFile)(file, args, { cwd: "/" });
  const bubblewrap = ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"];
  const plain: Readonly<Record<string, () => unknown>> = {
    "bwrap true": () => run("bwrap", ...bubblewrap, "true"),
    "cp of a task's files": () => cpSync(task, join(folder, "task"), { recursive: true }),
    "bash -c true": () => run("bash", "-c", "true"),
    "python3 -c pass": () => run("python3", "-c", "pass"),
  };
  try {
    const lines: PlainLine[] = [];
    for (const [what, once] of Object.entries(plain)) {
      const ms: number[] = [];
      for (let i = 0; i < times; i++) {
        const begun = performance.now();
        await once();
        ms.push(performance.now() - begun);
      }
      lines.push({ what, ms: quantiles(ms) });
    }
    return lines;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
