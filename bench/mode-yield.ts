import { adviseModes } from "../src/error-analysis/advise-modes.js";
import { isDataEval } from "../src/evals/definition.js";
import { runDataEvals } from "../src/evals/run-evals/run-rules.js";
import { getEval } from "../src/evals/store.js";
import { testEval } from "../src/evals/test-eval.js";
import { contextOf } from "../src/library/options/context.js";
import type { AppSettings } from "../src/platform/app-context.js";
import { UserError } from "../src/platform/errors.js";
import type { Db } from "../src/store/open-store.js";
import { table } from "../src/text/format.js";
import { openRowWriter, toResultRow } from "../src/traces/result-writer.js";
import { finished, saveRun } from "../test/traces/saved-runs.js";
import { codePass, notesOf, RUN } from "./coding-pass.js";
import { chance, type TrueRates, withDatabase } from "./planted-traces.js";
import { drawModes, type Prevalence, plant, type Random, WORLDS, type World } from "./planted-worlds.js";

/**
 * Measures how many failure modes one coding pass turns into evals, in worlds that the method was not tuned on. The
 * true rates come from new traces of the same world.
 */

interface YieldCondition {
  /** Probability that a note is wrong. */
  readonly errors: number;
  readonly enriched: boolean;
}

const CONDITIONS: readonly YieldCondition[] = [0, 0.05].flatMap((errors) => [
  { errors, enriched: false },
  { errors, enriched: true },
]);

/** True rates that an eval should have, and that a misleading one does not have. */
const WANTED = 0.85;
const MISLEADING = 0.78;
const FRESH_BAD = 300;
const FRESH_OTHERS = 600;

interface ModeYield {
  readonly mode: string;
  readonly rate: number;
  readonly hasTemplate: boolean;
  readonly labeledBad: number;
  /** Rates of every accepted eval on new traces. */
  readonly accepted: readonly TrueRates[];
  /** Why no eval was accepted. */
  readonly reason: string;
}

/** One run with its coding pass, and what each of its modes yields. */
function yieldOfRun(
  world: World,
  prevalence: Prevalence,
  { errors, enriched }: YieldCondition,
  seed: number,
): Promise<readonly ModeYield[]> {
  return withDatabase(async (db, settings) => {
    const random = chance(seed);
    const modes = drawModes(world, prevalence, random);
    const modeOf = saveRunOf(db, world, modes, random);
    const person = notesOf(modeOf, errors, random);
    await codePass(db, {
      ...{ enriched, again: "nobody", modeOf, seed },
      ...{ notes: person(), repeated: person(), notesAgain: person() },
    });
    const { advice } = await adviseModes({ seed }, settings);
    const results: ModeYield[] = [];
    for (const [mode, rate] of modes) {
      const one = advice.find((some) => some.mode.name === mode);
      const templates = one?.kind === "template" ? one.templates.filter(({ version }) => version !== null) : [];
      const tests = await Promise.all(
        templates.map(({ name, version }) => testOf(`${name}@${version}`, mode, settings)),
      );
      const accepted = tests.flatMap(({ name, reason }) =>
        reason === null ? [ratesOnNewTraces(db, name, world, modes, mode, chance(seed + 500_000))] : [],
      );
      const reason =
        tests.map((test) => test.reason)[0] ?? (one?.kind === "labels" ? one.why : (one?.kind ?? "no label"));
      const hasTemplate = world.modes[mode]?.hasTemplate === true;
      results.push({ mode, rate, hasTemplate, labeledBad: one?.mode.traces ?? 0, accepted, reason });
    }
    return results;
  });
}

async function testOf(name: string, criterion: string, settings: AppSettings) {
  try {
    const { test } = await testEval({ name, criterion, thresholds: "usable" }, contextOf(settings));
    return { name, reason: test.rejections[0] ?? null };
  } catch (error) {
    if (error instanceof UserError) return { name, reason: error.message };
    throw error;
  }
}

function drawMode(modes: readonly (readonly [string, number])[], random: Random): string | null {
  let left = random();
  for (const [mode, rate] of modes) {
    left -= rate;
    if (left < 0) return mode;
  }
  return null;
}

function saveRunOf(db: Db, world: World, modes: readonly (readonly [string, number])[], random: Random) {
  saveRun(db, RUN);
  const save = openRowWriter(db);
  const modeOf = new Map<string, string | null>();
  db.exec("BEGIN");
  for (let i = 0; i < world.traces; i++) {
    const traceId = `planted_${String(i).padStart(4, "0")}`;
    const mode = drawMode(modes, random);
    modeOf.set(traceId, mode);
    const trace = { ...plant(world, world.good(random, i), mode, random), traceId, runId: RUN, taskId: i };
    const score = world.score(mode !== null, random);
    const { result } = finished(RUN, i, score, traceId);
    const row = { ...result, question: trace.task.question, agentAnswer: trace.answer ?? "", ending: trace.ending };
    save(toResultRow({ ...trace, scores: { semanticScore: { value: score } } }, row));
  }
  db.exec("COMMIT");
  return modeOf;
}

function ratesOnNewTraces(
  db: Db,
  name: string,
  world: World,
  modes: readonly (readonly [string, number])[],
  mode: string,
  random: Random,
): TrueRates {
  const { definition } = getEval(db, name);
  if (!isDataEval(definition)) throw new Error(`${name} needs more than data`);
  const others = modes.filter(([other]) => other !== mode);
  const counts = { bad: { n: 0, passed: 0 }, good: { n: 0, passed: 0 } };
  for (let i = 0; i < FRESH_BAD + FRESH_OTHERS; i++) {
    const isBad = i < FRESH_BAD;
    const planted = plant(world, world.good(random, 10_000 + i), isBad ? mode : drawMode(others, random), random);
    const score = runDataEvals([definition], planted)[0]?.score ?? null;
    if (score === null) continue;
    counts[isBad ? "bad" : "good"].n++;
    counts[isBad ? "bad" : "good"].passed += score;
  }
  const { bad, good } = counts;
  return { tpr: good.n === 0 ? null : good.passed / good.n, tnr: bad.n === 0 ? null : 1 - bad.passed / bad.n };
}

interface YieldLine extends YieldCondition {
  readonly world: string;
  /** Fraction of the traces with the mode. */
  readonly rate: number;
  readonly modes: number;
  readonly labeledBad: number;
  /** Fraction of the modes with a template that have an accepted eval with true rates of at least 0.85. */
  readonly found: number;
  /** Number of accepted evals, and of those with a true rate below 0.78, also for modes without a template. */
  readonly accepted: number;
  readonly misleading: number;
  readonly reasons: Readonly<Record<string, number>>;
}

/** Returns one line per condition, world and rate, the worst first. `runs`: runs per world and prevalence. */
async function benchYield(worlds: readonly World[], runs: number) {
  const lines: YieldLine[] = [];
  for (const condition of CONDITIONS) {
    for (const world of worlds) {
      const all: ModeYield[] = [];
      for (const prevalence of world.prevalences)
        for (let i = 0; i < runs; i++) all.push(...(await yieldOfRun(world, prevalence, condition, world.seed + i)));
      const rates = new Set(world.prevalences.flatMap(({ withTemplate }) => withTemplate));
      for (const rate of rates) lines.push(lineOf(world.name, rate, condition, all));
    }
  }
  return lines.toSorted((a, b) => a.found - b.found);
}

function lineOf(world: string, rate: number, condition: YieldCondition, all: readonly ModeYield[]): YieldLine {
  const some = all.filter((one) => one.rate === rate && one.hasTemplate);
  const isRight = ({ tpr, tnr }: TrueRates, least: number) => (tpr ?? 0) >= least && (tnr ?? 0) >= least;
  const found = some.filter(({ accepted }) => accepted.some((rates) => isRight(rates, WANTED)));
  const accepted = all.filter((one) => one.rate === rate || !one.hasTemplate).flatMap((one) => one.accepted);
  const reasons: Record<string, number> = {};
  for (const one of some.filter((mode) => !found.includes(mode))) {
    const key = one.accepted.length > 0 ? "accepted, but wrong" : one.reason.replace(/\d[\d.]*/g, "N").slice(0, 90);
    reasons[key] = (reasons[key] ?? 0) + 1;
  }
  return {
    ...condition,
    ...{ world, rate, modes: some.length, reasons },
    labeledBad: some.reduce((sum, one) => sum + one.labeledBad, 0) / some.length,
    found: found.length / some.length,
    accepted: accepted.length,
    misleading: accepted.filter((rates) => !isRight(rates, MISLEADING)).length,
  };
}

/** Prints the worlds, or the one with this name, the worst first. The numbers of runs and modes are in the table. */
export async function printYield(runs: number, name: string | undefined, asJson: boolean): Promise<void> {
  const worlds = WORLDS.filter((world) => name === undefined || world.name === name);
  if (worlds.length === 0) throw new Error(`--part: expected ${WORLDS.map((world) => world.name).join(", ")}`);
  const lines = await benchYield(worlds, runs);
  if (asJson) return console.log(JSON.stringify(lines, null, 2));
  const rows = lines.map(({ world, rate, enriched, errors, ...line }) => [
    world,
    `${Math.round(rate * 100)}%`,
    enriched ? "enriched" : "random",
    `${Math.round(errors * 100)}%`,
    String(line.modes),
    line.labeledBad.toFixed(1),
    line.found.toFixed(2),
    `${line.misleading} of ${line.accepted}`,
  ]);
  const head = ["world", "rate", "draw", "wrong notes", "modes", "bad", "found", "misleading"];
  console.log(`${runs} runs per world, prevalence and condition.\n\n${table(head, rows)}`);
}
