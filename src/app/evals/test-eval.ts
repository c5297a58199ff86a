import { UserError } from "../../domain/errors.js";
import type { StoredEval } from "../../domain/evals/eval-definition.js";
import { isPass, type MeasuredOutcome } from "../../domain/evals/eval-outcome.js";
import type { Agreement, Contradiction, EvalTest, ThresholdName } from "../../domain/evals/eval-test.js";
import { questionKey } from "../../domain/evals/evaluated-trace.js";
import { sumCost } from "../../domain/runs/cost.js";
import { measureAgreement, type TestedTrace } from "../../evalgen/proof/measure-agreement.js";
import { FEW_OF_A_KIND, MIN_OF_A_KIND, rejectionsOf } from "../../evalgen/proof/thresholds.js";
import { type EvalBackends, runEvals } from "../../evalgen/run-evals.js";
import type { Half } from "../../evalgen/training-split.js";
import { quantile } from "../../statistics/quantile.js";
import type { Db } from "../../store/connection/open-store.js";
import { saveEvalTest } from "../../store/evals/eval-tests.js";
import { getEval } from "../../store/evals/evals.js";
import type { EffectiveLabel } from "../../store/evals/labels.js";
import type { AppContext } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { openEvalBackends, requireRunnable } from "./backends/eval-backends.js";
import { hashLabels, LOW_SELF_AGREEMENT, requireLabels, summarizeLabels } from "./label-counts.js";
import { type LabelledTrace, labelledPages } from "./labelled-pages.js";

export interface TestOptions {
  readonly name: string;
  readonly criterion: string;
  readonly thresholds: ThresholdName;
}

export interface TestedEval {
  readonly stored: StoredEval;
  readonly test: EvalTest;
}

/** So often read, the held-out half has itself become something that evals were chosen by. */
const MANY_READS = 5;

/** Measures an eval on the held-out half, and saves that it was read. */
export function testEval(
  { name, criterion, thresholds }: TestOptions,
  { settings, signal }: Pick<AppContext, "settings" | "signal">,
): Promise<TestedEval> {
  return withStore(settings, async (db) => {
    const stored = getEval(db, name);
    if (stored.definition.kind === "cases") {
      throw new UserError(
        "eval_untestable",
        `${stored.definition.name} holds cases of single tasks: there is nothing held out to test it on.`,
        "Use it as it is: art-e evals use.",
      );
    }
    await requireRunnable([stored.definition], settings);
    const half = await runOnHalf(
      db,
      stored,
      { criterion, half: "heldout", backends: openEvalBackends(settings) },
      signal,
    );
    const agreement = measureAgreement(half.tested, stored.id);
    requireOutcomes(stored, half, agreement, criterion);
    const { latencyMs, costUsdPerTrace, contradictions, labelsHash } = half;
    const measured = { agreement, latencyMs, costUsdPerTrace };
    const test = saveEvalTest(
      db,
      stored.id,
      {
        criterion,
        labelsHash,
        ...measured,
        thresholds,
        rejections: rejectionsOf(thresholds, measured),
        warnings: warningsOf(db, criterion, agreement.good, agreement.bad),
        contradictions,
      },
      new Date().toISOString(),
    );
    if (test.heldOutReads <= MANY_READS) return { stored, test };
    const warning = `the held-out half was read ${test.heldOutReads} times: what is chosen by it is no longer proved by it`;
    return { stored, test: { ...test, warnings: [...test.warnings, warning] } };
  });
}

interface HalfRun {
  readonly tested: readonly TestedTrace[];
  readonly contradictions: readonly Contradiction[];
  readonly latencyMs: EvalTest["latencyMs"];
  /** Null where a price is not known. */
  readonly costUsdPerTrace: number | null;
  readonly labelsHash: string;
}

/** Runs an eval over the labelled traces of one half. */
export async function runOnHalf(
  db: Db,
  { definition }: Pick<StoredEval, "definition">,
  { criterion, half, backends }: { readonly criterion: string; readonly half: Half; readonly backends: EvalBackends },
  signal: AbortSignal,
): Promise<HalfRun> {
  const tested: TestedTrace[] = [];
  const contradictions: Contradiction[] = [];
  const outcomes: MeasuredOutcome[] = [];
  const used: EffectiveLabel[] = [];
  for (const page of labelledPages(db, criterion, half)) {
    const traces = page.map(({ trace }) => trace);
    const ofPage = (await runEvals([definition], traces, backends, signal)).flat();
    for (const [i, outcome] of ofPage.entries()) {
      const labelled = page[i];
      if (labelled === undefined) continue;
      const { score, error } = outcome;
      tested.push({ question: questionKey(labelled.trace), bad: labelled.label.label === "bad", score, error });
      contradictions.push(...contradictionOf(labelled, outcome));
    }
    used.push(...page.map(({ label }) => label));
    outcomes.push(...ofPage);
  }
  const times = outcomes.map(({ ms }) => ms);
  const cost = sumCost(outcomes);
  return {
    tested,
    contradictions,
    latencyMs: { p50: quantile(times, 0.5) ?? 0, p95: quantile(times, 0.95) ?? 0 },
    costUsdPerTrace: cost === null || outcomes.length === 0 ? cost : cost / outcomes.length,
    labelsHash: hashLabels(used),
  };
}

function contradictionOf({ trace, label }: LabelledTrace, { score, reason }: MeasuredOutcome): Contradiction[] {
  const bad = label.label === "bad";
  if (score === null || isPass(score) !== bad) return [];
  const [runId, taskId] = "runId" in trace ? [trace.runId, trace.taskId] : [null, null];
  return [{ traceId: trace.traceId, runId, taskId, label: bad ? "bad" : "good", note: label.note, score, reason }];
}

/** Throws where too few traces are left to measure an eval by, and says whether labels or the eval are why. */
function requireOutcomes({ definition }: StoredEval, { tested }: HalfRun, agreement: Agreement, criterion: string) {
  const { good, bad, errors } = agreement;
  const isShort = Math.min(good, bad) < MIN_OF_A_KIND;
  const labelledBad = tested.filter((one) => one.bad).length;
  if (isShort && errors > 0 && Math.min(labelledBad, tested.length - labelledBad) >= MIN_OF_A_KIND) {
    const first = tested.find(({ error }) => error !== null)?.error;
    throw new UserError(
      "eval_failing",
      `${definition.name}@${definition.version} failed on ${errors} of ${tested.length} held-out traces: ${first}.`,
      "Mend it: art-e evals show --code prints it.",
    );
  }
  requireLabels("held-out", good, bad, criterion);
}

function warningsOf(db: Db, criterion: string, good: number, bad: number): string[] {
  const { value, n } = summarizeLabels(db, criterion).selfAgreement;
  return [
    ...(Math.min(good, bad) < FEW_OF_A_KIND
      ? [`there are ${good} good and ${bad} bad traces: with fewer than ${FEW_OF_A_KIND} of a kind, intervals are wide`]
      : []),
    ...(value !== null && value < LOW_SELF_AGREEMENT
      ? [
          `asked again, people gave the same label for ${Math.round(value * n)} of ${n} traces: no eval can agree better`,
        ]
      : []),
  ];
}
