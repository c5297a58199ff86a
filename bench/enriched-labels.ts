import type { EvalDraft } from "../src/evals/definition.js";
import { iterateLabeled } from "../src/evals/effective-labels.js";
import { openLabeling } from "../src/evals/labeling.js";
import { saveDraft } from "../src/evals/store.js";
import { TEMPLATES } from "../src/evals/templates.js";
import { simulateLabelSets } from "../test/evals/simulated-label-sets.js";
import { judged } from "../test/scoring/judged-trace.js";
import { chance, cleanTraces, isAccepted, mean, ruleOf, saveTraces, withDatabase } from "./planted-traces.js";

/**
 * Measures whether 120 labels of 360 traces suffice to accept a perfect eval if 10% of the traces are bad, and how many
 * enriched labels a good judge needs.
 */

const TRACES = 360;
const LABELS = 120;
const BAD = 0.1;

/** The judge calls these fractions of the bad and of the good traces wrong. */
const CALLED_WRONG = { bad: 0.7, good: 0.15 };

const FOOTER = "As far as I recall.";

/** What shows the fault before a person labels: a template that the bad traces fail, or a judge that is often wrong. */
type Signal = "template" | "judge";

export interface EnrichedLine {
  readonly signal: Signal;
  readonly draw: "random" | "enriched";
  /** Fraction of wrong labels. */
  readonly errors: number;
  readonly sets: number;
  /** Mean number of labels per half. */
  readonly good: number;
  readonly bad: number;
  /** Fraction of the sets whose halves both have enough labels of each kind. */
  readonly enough: number;
  /** Fraction of the sets in which the perfect eval is accepted. */
  readonly accepted: number;
}

export async function benchEnrichedLabels(texts: readonly string[], sets: number): Promise<EnrichedLine[]> {
  const base = cleanTraces(texts);
  const lines: EnrichedLine[] = [];
  for (const errors of [0, 0.05])
    for (const signal of ["template", "judge"] as const)
      for (const draw of ["random", "enriched"] as const) {
        const results = [];
        for (let seed = 1; seed <= sets; seed++) results.push(await labelSet(base, { signal, draw, errors, seed }));
        lines.push({
          signal,
          draw,
          errors,
          sets,
          good: mean(results.map(({ good }) => good)) ?? 0,
          bad: mean(results.map(({ bad }) => bad)) ?? 0,
          enough: mean(results.map(({ fewest }) => Number(fewest >= ENOUGH))) ?? 0,
          accepted: mean(results.map(({ accepted }) => Number(accepted))) ?? 0,
        });
      }
  return lines;
}

/** Minimum number of labels of a kind in a half. */
const ENOUGH = 7;

async function labelSet(
  base: ReturnType<typeof cleanTraces>,
  { signal, draw, errors, seed }: Pick<EnrichedLine, "signal" | "draw" | "errors"> & { readonly seed: number },
) {
  return withDatabase(async (db, settings) => {
    const random = chance(seed);
    const bad = new Set<string>();
    saveTraces(db, base, TRACES, (trace, id) => {
      const isBad = random() < BAD;
      if (isBad) bad.add(id);
      if (signal === "template") return isBad ? { ...trace, sources: [] } : trace;
      const isCalledWrong = random() < CALLED_WRONG[isBad ? "bad" : "good"];
      const answer = isBad ? `${trace.answer} ${FOOTER}` : trace.answer;
      return { ...trace, answer, judge: judged(isCalledWrong ? "wrong" : "correct") };
    });
    const options = { run: null, criterion: "overall", seed, annotator: null, enriched: draw === "enriched" };
    const { queue, save } = await openLabeling(db, options);
    let given = 0;
    db.exec("BEGIN");
    for (const item of queue) {
      if (!item.isRepeat && given++ === LABELS) break;
      save(item, bad.has(item.traceId) !== random() < errors ? "bad" : "good", null);
    }
    db.exec("COMMIT");
    const { name } = saveDraft(db, perfectEval(signal), "2026-01-01T00:00:00.000Z").stored.definition;
    const accepted = await isAccepted(name, "overall", settings);
    const counts = (["training", "heldout"] as const).flatMap((half) => {
      const labels = [...iterateLabeled(db, "overall", half)].map(({ label }) => label.label);
      return [labels.filter((label) => label === "good").length, labels.filter((label) => label === "bad").length];
    });
    const [good = 0, bads = 0, heldGood = 0, heldBad = 0] = counts;
    return { accepted, fewest: Math.min(...counts), good: (good + heldGood) / 2, bad: (bads + heldBad) / 2 };
  });
}

/** An eval that fails exactly the bad traces. */
function perfectEval(signal: Signal): EvalDraft {
  const template = TEMPLATES.find(({ name }) => name === "has_source");
  if (template === undefined) throw new Error("unknown template has_source");
  const { version: _, pass, ...rule } = ruleOf(template);
  if (signal === "template") return { ...rule, pass };
  return { ...rule, name: "sure", kind: "assertions", answer: { all: [{ lacks: FOOTER }] } };
}

export interface JudgeAcceptance {
  /** Fraction of bad traces. */
  readonly bad: number;
  readonly labels: number;
  readonly sets: number;
  readonly accepted: number;
}

/** Right about 95% of the good and of the bad traces. Traces that it fails are drawn six times as often. */
const GOOD_JUDGE = { truePositive: 0.95, trueNegative: 0.95, doubt: 5, signal: 0 };

export function benchGoodJudge(sets: number): JudgeAcceptance[] {
  return [0.05, 0.1, 0.3].flatMap((bad) =>
    [100, 200].map((labels) => {
      const { accepted } = simulateLabelSets({ ...GOOD_JUDGE, bad, labels }, sets);
      return { bad, labels, sets, accepted: accepted / sets };
    }),
  );
}
