import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DataEval, EvaluatedTrace } from "../src/evals/definition.js";
import { runDataEvals } from "../src/evals/run-evals/run-rules.js";
import { conditionOf, type EvalTemplate, TEMPLATES } from "../src/evals/templates.js";
import { openStore } from "../src/store/open-store.js";

/** Number of traces per second that evals process: the demo's traces, parsed from their text as from the database. */

const BIN = fileURLToPath(new URL("../bin/art-e.js", import.meta.url));

export interface EvalBenchLine {
  readonly what: string;
  readonly tracesPerSecond: number;
  /** CPU time, without the time when other processes used the core. */
  readonly tracesPerCpuSecond: number;
}

export function benchEvals(traces: number): EvalBenchLine[] {
  const texts = demoTraces();

  const sets: readonly (readonly [string, readonly EvalTemplate[]])[] = [
    ["reading traces alone", []],
    ["one rule (short_answer)", TEMPLATES.filter(({ name }) => name === "short_answer")],
    ["one rule (numbers_from_mail)", TEMPLATES.filter(({ name }) => name === "numbers_from_mail")],
    [`all ${TEMPLATES.length} templates`, TEMPLATES],
  ];
  return sets.map(([what, templates]) => measure(what, templates.map(definitionOf), texts, traces));
}

function measure(
  what: string,
  definitions: readonly DataEval[],
  texts: readonly string[],
  traces: number,
): EvalBenchLine {
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      const trace = JSON.parse(texts[i % texts.length] ?? "") as EvaluatedTrace;
      for (const { error } of runDataEvals(definitions, trace)) if (error !== null) throw new Error(error);
    }
  };
  // So that the code is compiled.
  run(texts.length);
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  run(traces);
  const { user, system } = process.cpuUsage(cpu);
  return {
    what,
    tracesPerSecond: (traces / (performance.now() - start)) * 1_000,
    tracesPerCpuSecond: (traces / (user + system)) * 1e6,
  };
}

function definitionOf(template: EvalTemplate): DataEval {
  const { name, criterion } = template;
  return {
    name,
    version: 1,
    kind: "rules",
    reference: false,
    criterion,
    pass: { all: [conditionOf(template, 10)] },
    origin: { by: "templates", seed: null, labels: null },
  } as DataEval;
}

export function demoTraces(): string[] {
  const folder = mkdtempSync(join(tmpdir(), "art-e-bench-"));
  try {
    execFileSync(process.execPath, [BIN, "demo", "--quiet"], { cwd: folder, stdio: "ignore" });
    const db = openStore(join(folder, "demo-output/demo.db"), { mustExist: true });
    const texts = db.prepare("SELECT trace FROM traces ORDER BY id").pluck().all() as string[];
    db.close();
    return texts;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
