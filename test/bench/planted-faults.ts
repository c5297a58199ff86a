import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLabelling } from "../../src/evals/labelling.js";
import { runDataEvals } from "../../src/evals/run-rules.js";
import { getEval, saveDraft } from "../../src/evals/store.js";
import { suggestEvals } from "../../src/evals/suggest.js";
import { conditionOf, TEMPLATES } from "../../src/evals/templates.js";
import { testEval } from "../../src/evals/test-eval.js";
import { UserError } from "../../src/platform/errors.js";
import type { Estimate } from "../../src/statistics/estimate.js";
import { seededRandom } from "../../src/statistics/intervals.js";
import { type Db, openStore } from "../../src/store/open-store.js";
import { listedMails, openedMail, type QuestionTrace } from "../../src/traces/trace.js";

/**
 * Whether evals find planted faults from labels as a user gives them: in the order of the queue, with some asked again,
 * and some given wrong. Chosen and accepted by the program, measured on a third of the traces that nobody labelled.
 */

/** What is planted, by the template that is made for it. */
const FAULTS: Readonly<Record<string, (trace: QuestionTrace) => Partial<QuestionTrace>>> = {
  numbers_from_mail: ({ answer }) => ({ answer: `${answer} In all 987,654.32.` }),
  sources_exist: () => ({ sources: ["<invented@nowhere>"] }),
  sources_were_read: (trace) => {
    const opened = new Set(trace.toolCalls.flatMap((call) => openedMail(call)?.message_id ?? []));
    const other = trace.toolCalls.flatMap(listedMails).find(({ message_id: id }) => !opened.has(id));
    return { sources: [other?.message_id ?? "<none@nowhere>"] };
  },
  has_source: () => ({ sources: [] }),
  answer_complete: ({ turns }) => ({
    turns: turns.map((turn, i) => (i === turns.length - 1 ? { ...turn, finishReason: "length" } : turn)),
  }),
  comes_to_an_end: () => ({ ending: "model_error", answer: null, sources: [] }),
  abstains_only_on_nothing: () => ({ ending: "dont_know", answer: "I don't know.", sources: [] }),
  no_repeated_call: ({ toolCalls }) => ({ toolCalls: [...toolCalls, ...toolCalls.slice(0, 1)] }),
  calls_parsable: ({ toolCalls }) => ({
    toolCalls: toolCalls.map((call, i) => (i === 0 ? { ...call, errorKind: "unparsable_call" } : call)),
  }),
  few_turns: ({ turns }) => ({ turns: [...turns, ...turns, ...turns, ...turns] }),
  low_latency: ({ durationMs }) => ({ durationMs: durationMs * 50 + 60_000 }),
  short_answer: ({ answer }) => ({ answer: `${answer} ${"and so on and on ".repeat(40)}` }),
};

const TRACES = 360;
const LABELS = 120;
const BAD = 0.3;

export interface PlantedLine {
  readonly noise: number;
  readonly sets: number;
  /** Sets in which the fault's own template was chosen, and its eval then accepted. */
  readonly chosen: number;
  readonly accepted: number;
  /** Of the chosen, against the truth of traces that were never labelled. */
  readonly tpr: number | null;
  readonly tnr: number | null;
}

export interface IntervalLine {
  readonly labels: number;
  readonly draws: number;
  /** Share of the draws whose interval holds the rate over all traces. */
  readonly tpr: number;
  readonly tnr: number;
}

export interface PlantedBench {
  readonly faults: readonly PlantedLine[];
  /** Faults that some set did not find. */
  readonly missed: readonly string[];
  /** Labels without a meaning: sets in which any template was chosen, and accepted. */
  readonly shuffled: { readonly sets: number; readonly chosen: number; readonly accepted: number };
  readonly intervals: readonly IntervalLine[];
}

/** `texts`: traces of the demo, as JSON. `seeds`: label sets of each fault. */
export async function benchPlantedFaults(texts: readonly string[], seeds: number): Promise<PlantedBench> {
  const base = texts.map((text) => JSON.parse(text) as QuestionTrace).filter(isClean);
  const faults: PlantedLine[] = [];
  const missed = new Set<string>();
  for (const noise of [0, 0.05, 0.1]) {
    const sets = await inTurn(Object.keys(FAULTS), seeds, async (fault, seed) => {
      const set = await plantedSet(base, fault, noise, seed);
      if (!set.accepted) missed.add(fault);
      return set;
    });
    const chosen = sets.filter((one) => one.chosen);
    faults.push({
      noise,
      sets: sets.length,
      chosen: chosen.length,
      accepted: chosen.filter(({ accepted }) => accepted).length,
      tpr: mean(chosen.flatMap(({ tpr }) => tpr ?? [])),
      tnr: mean(chosen.flatMap(({ tnr }) => tnr ?? [])),
    });
  }
  const shuffled = await inTurn(Object.keys(FAULTS), seeds, (fault, seed) => plantedSet(base, fault, 0.5, seed));
  return {
    faults,
    missed: [...missed],
    shuffled: {
      sets: shuffled.length,
      chosen: shuffled.filter(({ any }) => any).length,
      accepted: shuffled.filter(({ anyAccepted }) => anyAccepted).length,
    },
    intervals: await intervalLines(base, 20 * seeds),
  };
}

async function inTurn<T>(names: readonly string[], seeds: number, make: (name: string, seed: number) => Promise<T>) {
  const made: T[] = [];
  for (const name of names) for (let seed = 1; seed <= seeds; seed++) made.push(await make(name, seed));
  return made;
}

/** A trace that no template with a fixed bound fails. */
function isClean(trace: QuestionTrace): boolean {
  const rules = TEMPLATES.filter(({ name, bound }) => bound !== "cut" && name in FAULTS).map(ruleOf);
  return runDataEvals(rules, trace).every(({ score }) => score === 1) && trace.sources.length > 0;
}

function ruleOf(template: (typeof TEMPLATES)[number]) {
  const { name, criterion } = template;
  const origin = { by: "person", seed: null, labels: null, parent: null } as const;
  const pass = { all: [conditionOf(template, 0)] };
  return { name, version: 1, kind: "rules", reference: false, criterion, pass, origin } as const;
}

/** One database with traces of which some are bad, labelled in the order of the queue. */
async function plantedSet(base: readonly QuestionTrace[], fault: string, noise: number, seed: number) {
  return withDatabase(async (db, settings) => {
    const random = chance(seed);
    const bad = new Map<string, boolean>();
    saveTraces(db, base, TRACES, (trace, id) => {
      const isBad = random() < BAD;
      bad.set(id, isBad);
      return isBad ? { ...trace, ...FAULTS[fault]?.(trace) } : trace;
    });
    await label(db, bad, { labels: LABELS, noise, seed });
    const outcome = { chosen: false, accepted: false, any: false, anyAccepted: false };
    const none = { ...outcome, tpr: null, tnr: null };
    try {
      const { evals } = await suggestEvals({ criterion: "overall", seed, name: "together", cases: false }, settings);
      const names = evals.map(({ stored }) => stored.definition.name);
      const accepted = new Map<string, boolean>();
      for (const name of names) accepted.set(name, await isAccepted(name, settings));
      const chosen = names.includes(fault);
      const any = names.length > 0;
      const found = {
        chosen,
        any,
        accepted: accepted.get(fault) === true,
        anyAccepted: [...accepted.values()].includes(true),
      };
      return chosen ? { ...found, ...truthOf(db, fault, bad) } : { ...none, ...found };
    } catch (error) {
      if (error instanceof UserError && error.code === "labels_few") return none;
      throw error;
    }
  });
}

async function isAccepted(name: string, settings: Parameters<typeof suggestEvals>[1]): Promise<boolean> {
  try {
    const { signal } = new AbortController();
    const { test } = await testEval({ name, criterion: "overall", thresholds: "usable" }, { settings, signal });
    return test.rejections.length === 0;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

/** Over the traces that nobody labelled. */
function truthOf(db: Db, name: string, bad: ReadonlyMap<string, boolean>) {
  const { definition } = getEval(db, name);
  if (definition.kind !== "rules") throw new Error("templates are rules");
  const rows = db
    .prepare("SELECT trace FROM traces WHERE id NOT IN (SELECT trace_id FROM eval_labels) ORDER BY id LIMIT ?")
    .pluck()
    .all(TRACES / 3) as string[];
  const told = rows.map((row) => {
    const trace = JSON.parse(row) as QuestionTrace;
    return { passed: runDataEvals([definition], trace)[0]?.score === 1, isBad: bad.get(trace.traceId) === true };
  });
  const rate = (isBad: boolean, passed: boolean) => {
    const some = told.filter((one) => one.isBad === isBad);
    return some.length === 0 ? null : some.filter((one) => one.passed === passed).length / some.length;
  };
  return { tpr: rate(false, true), tnr: rate(true, false) };
}

/** An eval that errs (has_source, against another truth), measured by more and more labels. */
async function intervalLines(base: readonly QuestionTrace[], draws: number): Promise<IntervalLine[]> {
  const lines: IntervalLine[] = [];
  for (const labels of [120, 240, 480, 960]) {
    const holds = { tpr: 0, tnr: 0, n: 0 };
    await withDatabase(async (db, settings) => {
      const random = chance(labels);
      const bad = new Map<string, boolean>();
      const counts = { good: 0, goodPassed: 0, bad: 0, badFailed: 0 };
      saveTraces(db, base, 960, (trace, id) => {
        const isBad = random() < BAD;
        const passes = random() < (isBad ? 0.26 : 0.87);
        bad.set(id, isBad);
        counts[isBad ? "bad" : "good"]++;
        if (isBad && !passes) counts.badFailed++;
        if (!isBad && passes) counts.goodPassed++;
        return passes ? trace : { ...trace, sources: [] };
      });
      const template = TEMPLATES.find(({ name }) => name === "has_source");
      if (template === undefined) throw new Error("there is such a template");
      saveDraft(db, ruleOf(template), "2026-01-01T00:00:00.000Z");
      const truth = { tpr: counts.goodPassed / counts.good, tnr: counts.badFailed / counts.bad };
      for (let seed = 1; seed <= draws; seed++) {
        // As if nothing had been labelled before: halves stay for good otherwise.
        for (const name of ["eval_labels", "eval_traces", "eval_questions", "eval_tests"])
          db.exec(`DELETE FROM ${name}`);
        await label(db, bad, { labels, noise: 0, seed });
        const { signal } = new AbortController();
        const options = { name: "has_source", criterion: "overall", thresholds: "usable" } as const;
        const { agreement } = (await testEval(options, { settings, signal })).test;
        holds.n++;
        holds.tpr += Number(isWithin(agreement.truePositiveRate, truth.tpr));
        holds.tnr += Number(isWithin(agreement.trueNegativeRate, truth.tnr));
      }
    });
    lines.push({ labels, draws: holds.n, tpr: holds.tpr / holds.n, tnr: holds.tnr / holds.n });
  }
  return lines;
}

function isWithin({ low, high }: Estimate, value: number): boolean {
  return (low ?? 0) <= value && value <= (high ?? 1);
}

/** Labels the first traces of the queue, wrong with the chance `noise`, those that are asked again too. */
async function label(
  db: Db,
  bad: ReadonlyMap<string, boolean>,
  { labels, noise, seed }: { readonly labels: number; readonly noise: number; readonly seed: number },
): Promise<void> {
  const random = chance(seed + 7_777);
  const labelling = await openLabelling(db, { run: null, criterion: "overall", seed, annotator: null, hard: false });
  let given = 0;
  db.exec("BEGIN");
  for (const item of labelling.queue) {
    if (!item.isRepeat && given++ === labels) break;
    const isBad = (bad.get(item.traceId) === true) !== random() < noise;
    labelling.save(item, isBad ? "bad" : "good", null);
  }
  db.exec("COMMIT");
}

/** Traces of chats, each of a question of its own. */
function saveTraces(
  db: Db,
  base: readonly QuestionTrace[],
  count: number,
  change: (trace: QuestionTrace, id: string) => QuestionTrace,
): void {
  const add = db.prepare(
    "INSERT INTO traces (id, agent_id, session_id, started_at, ending, trace) VALUES (?, 'a', 's', '2026-01-01', ?, ?)",
  );
  db.transaction(() => {
    for (let i = 0; i < count; i++) {
      const traceId = `planted_${String(i).padStart(4, "0")}`;
      const one = base[i % base.length] as QuestionTrace;
      const question = `${one.task.question} (${i})`;
      const trace = change({ ...one, traceId, task: { ...one.task, question, message_ids: [] } }, traceId);
      add.run(traceId, trace.ending, JSON.stringify(trace));
    }
  })();
}

async function withDatabase<T>(use: (db: Db, settings: Parameters<typeof suggestEvals>[1]) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-planted-"));
  const path = join(folder, "evals.db");
  const db = openStore(path, { mustExist: false });
  try {
    return await use(db, { db: path, cacheDir: folder, verbose: false, env: {} });
  } finally {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function chance(seed: number): () => number {
  const random = seededRandom(seed);
  return () => random(1_000_000) / 1_000_000;
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
