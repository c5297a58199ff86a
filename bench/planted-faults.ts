import { createHash } from "node:crypto";
import { generateEvals } from "../src/evals/generate.js";
import { openLabeling } from "../src/evals/labeling.js";
import { saveDraft } from "../src/evals/store.js";
import { evalSuggester } from "../src/evals/suggest.js";
import { TEMPLATES } from "../src/evals/templates.js";
import { testEval } from "../src/evals/test-eval.js";
import { contextOf } from "../src/library/options/context.js";
import { UserError } from "../src/platform/errors.js";
import { chooseSandbox } from "../src/sandbox/choose-sandbox.js";
import type { Db } from "../src/store/open-store.js";
import type { QuestionTrace } from "../src/traces/trace.js";
import { startFakeProvider } from "../test/providers/fake-provider.js";
import {
  chance,
  cleanTraces,
  FAULTS,
  isAccepted,
  isWithin,
  mean,
  ratesOnUnlabeled,
  ruleOf,
  saveTraces,
  WITH_TEMPLATE,
  WITHOUT_TEMPLATE,
  withDatabase,
} from "./planted-traces.js";

/**
 * Measures whether evals find planted faults from labels like a user's: in the order of the queue, with repeated and
 * wrong ones. The program chooses and accepts the evals, which are then measured on the third of the traces without
 * labels.
 */

const TRACES = 360;
const LABELS = 120;
const BAD = 0.3;

interface PlantedLine {
  readonly noise: number;
  readonly sets: number;
  /** Sets with the fault's own template chosen (or any template, if it has none) and its eval accepted. */
  readonly chosen: number;
  readonly accepted: number;
  /** Rates of the chosen evals on unlabeled traces, compared with the truth. */
  readonly tpr: number | null;
  readonly tnr: number | null;
}

interface IntervalLine {
  readonly labels: number;
  readonly draws: number;
  /** Fraction of the draws whose interval contains the rate over all traces. */
  readonly tpr: number;
  readonly tnr: number;
}

interface ShuffledSets {
  readonly sets: number;
  readonly chosen: number;
  readonly accepted: number;
}

export interface PlantedBench {
  /** Faults with a template. */
  readonly faults: readonly PlantedLine[];
  /** Faults with an accepted eval in every set without wrong labels. */
  readonly found: readonly string[];
  readonly notFound: readonly string[];
  /** Random evals that a model writes from random labels: sets with a saved eval, and with an accepted one. */
  readonly generated: ShuffledSets | null;
  /** Random labels: sets with a chosen template, and with an accepted one. */
  readonly shuffled: ShuffledSets;
  readonly intervals: readonly IntervalLine[];
}

/** `texts`: traces of the demo, as JSON. `seeds`: label sets per fault. */
export async function benchPlantedFaults(texts: readonly string[], seeds: number): Promise<PlantedBench> {
  const base = cleanTraces(texts);
  const faults: PlantedLine[] = [];
  const notFound = new Set<string>();
  const found = (name: string, { accepted, tpr, tnr }: PlantedSet) => {
    if (!accepted || (tpr ?? 0) < 0.9 || (tnr ?? 0) < 0.9) notFound.add(name);
  };
  for (const noise of [0, 0.05, 0.1]) {
    const sets = await inTurn(Object.keys(WITH_TEMPLATE), seeds, async (fault, seed) => {
      const set = await plantedSet(base, fault, noise, seed);
      if (noise === 0) found(fault, set);
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
  await inTurn(Object.keys(WITHOUT_TEMPLATE), seeds, async (fault, seed) =>
    found(fault, await plantedSet(base, fault, 0, seed)),
  );
  const shuffled = await inTurn(Object.keys(WITH_TEMPLATE), seeds, (fault, seed) => plantedSet(base, fault, 0.5, seed));
  return {
    faults,
    found: Object.keys(FAULTS).filter((name) => !notFound.has(name)),
    notFound: [...notFound],
    shuffled: {
      sets: shuffled.length,
      chosen: shuffled.filter(({ any }) => any).length,
      accepted: shuffled.filter(({ anyAccepted }) => anyAccepted).length,
    },
    generated: (await chooseSandbox()).ok ? await generatedSets(base, 10 * seeds) : null,
    intervals: await intervalLines(base, 20 * seeds),
  };
}

async function inTurn<T>(names: readonly string[], seeds: number, make: (name: string, seed: number) => Promise<T>) {
  const made: T[] = [];
  // Each set has its own draw of traces, order and wrong labels.
  for (const [i, name] of names.entries())
    for (let set = 0; set < seeds; set++) made.push(await make(name, 1 + i + set * names.length));
  return made;
}

interface PlantedSet {
  readonly chosen: boolean;
  readonly accepted: boolean;
  /** Any eval at all. */
  readonly any: boolean;
  readonly anyAccepted: boolean;
  /** Rates of the eval that was chosen for the fault, over the unlabeled traces. */
  readonly tpr: number | null;
  readonly tnr: number | null;
}

/** A database with traces, some of them bad, labeled in the order of the queue. */
async function plantedSet(
  base: readonly QuestionTrace[],
  fault: string,
  noise: number,
  seed: number,
): Promise<PlantedSet> {
  return withDatabase(async (db, settings) => {
    const random = chance(seed);
    const bad = new Map<string, boolean>();
    saveTraces(db, base, TRACES, (one, id) => {
      const isBad = random() < BAD;
      bad.set(id, isBad);
      const trace = { ...one, ...FAULTS[fault]?.all?.(one) };
      const other = base[Math.floor(random() * base.length)] ?? one;
      return isBad ? { ...trace, ...FAULTS[fault]?.bad(trace, other) } : trace;
    });
    await label(db, bad, { labels: LABELS, noise, seed });
    const outcome = { chosen: false, accepted: false, any: false, anyAccepted: false };
    const none = { ...outcome, tpr: null, tnr: null };
    try {
      const { evals } = evalSuggester(db, seed)("overall");
      const names = evals.map(({ stored }) => stored.definition.name);
      const accepted = new Map<string, boolean>();
      for (const name of names) accepted.set(name, await isAccepted(name, "overall", settings));
      const anyAccepted = [...accepted.values()].includes(true);
      const [first] = fault in WITHOUT_TEMPLATE ? names : names.filter((name) => name === fault);
      if (first === undefined) return { ...none, any: names.length > 0, anyAccepted };
      const isAcceptedHere = accepted.get(first) === true;
      const rates = await ratesOnUnlabeled(db, first, (id) => bad.get(id) === true, TRACES / 3);
      return { chosen: true, any: true, accepted: isAcceptedHere, anyAccepted, ...rates };
    } catch (error) {
      if (error instanceof UserError && error.code === "labels_few") return none;
      throw error;
    }
  });
}

const CALL_USD = 0.001;

/** A model writes Python whose scores depend on a hash of the question, and are independent of the labels, which are independent of the traces. */
async function generatedSets(base: readonly QuestionTrace[], sets: number): Promise<ShuffledSets> {
  const provider = await startFakeProvider(({ tools, question }) => {
    const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 };
    if (tools.includes("record_criteria"))
      return { toolCalls: [{ name: "record_criteria", arguments: { criteria: ["It is good."] } }], usage };
    const salt = createHash("sha256").update(question).digest("hex");
    const body = [
      "import hashlib",
      "def eval_function(task, task_metadata, trace, ctx):",
      `    digest = hashlib.sha256(("${salt} " + str(task)).encode()).digest()`,
      '    return (0.0 if digest[0] < 96 else 1.0), "by chance"',
      "",
    ].join("\n");
    return {
      toolCalls: [{ name: "record_eval", arguments: { criterion: "It is good.", kind: "python", body } }],
      usage,
    };
  });
  const counts = { sets, chosen: 0, accepted: 0 };
  try {
    for (let seed = 1; seed <= sets; seed++) {
      await withDatabase(async (db, { env: _, ...settings }) => {
        const random = chance(seed + 31);
        const bad = new Map<string, boolean>();
        saveTraces(db, base, TRACES, (trace, id) => {
          bad.set(id, random() < BAD);
          return trace;
        });
        await label(db, bad, { labels: LABELS, noise: 0, seed });
        const env = { OPENAI_API_KEY: "key", OPENAI_BASE_URL: provider.baseUrl("openai-chat") };
        const { signal } = new AbortController();
        const bar = { update: () => undefined, stop: () => undefined };
        const context = { settings: { ...settings, env }, signal, note: () => undefined, progress: () => bar };
        const { variations } = await generateEvals(
          {
            model: "openai/writer",
            price: { input: CALL_USD, output: CALL_USD, cachedInput: CALL_USD },
            maxCost: 1,
            criterion: "overall",
            language: "python",
            seed,
            rounds: 3,
          },
          { ...context, untilSecond: () => signal },
        );
        const saved = variations.flatMap(({ saved: one }) => one?.stored.definition.name ?? []);
        if (saved.length > 0) counts.chosen++;
        for (const name of saved) if (await isAccepted(name, "overall", context.settings)) counts.accepted++;
      });
    }
  } finally {
    await provider.close();
  }
  return counts;
}

/** An eval with errors (has_source, against another truth), measured with a growing number of labels. */
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
      if (template === undefined) throw new Error("unknown template has_source");
      saveDraft(db, ruleOf(template), "2026-01-01T00:00:00.000Z");
      const truth = { tpr: counts.goodPassed / counts.good, tnr: counts.badFailed / counts.bad };
      for (let seed = 1; seed <= draws; seed++) {
        // Resets the labels, because a question's half is otherwise permanent.
        for (const name of ["eval_labels", "eval_traces", "eval_questions", "eval_tests"])
          db.exec(`DELETE FROM ${name}`);
        await label(db, bad, { labels, noise: 0, seed });
        const options = { name: "has_source", criterion: "overall", thresholds: "usable" } as const;
        const { agreement } = (await testEval(options, contextOf(settings))).test;
        holds.n++;
        holds.tpr += Number(isWithin(agreement.truePositiveRate, truth.tpr));
        holds.tnr += Number(isWithin(agreement.trueNegativeRate, truth.tnr));
      }
    });
    lines.push({ labels, draws: holds.n, tpr: holds.tpr / holds.n, tnr: holds.tnr / holds.n });
  }
  return lines;
}

/** Labels the first traces of the queue, each wrong with probability `noise`, including repeated ones. */
async function label(
  db: Db,
  bad: ReadonlyMap<string, boolean>,
  { labels, noise, seed }: { readonly labels: number; readonly noise: number; readonly seed: number },
): Promise<void> {
  const random = chance(seed + 7_777);
  const labeling = await openLabeling(db, {
    run: null,
    criterion: "overall",
    seed,
    annotator: null,
    enriched: false,
  });
  let given = 0;
  db.exec("BEGIN");
  for (const item of labeling.queue) {
    if (!item.isRepeat && given++ === labels) break;
    const isBad = (bad.get(item.traceId) === true) !== random() < noise;
    labeling.save(item, isBad ? "bad" : "good", null);
  }
  db.exec("COMMIT");
}
