import { performance } from "node:perf_hooks";
import { UserError } from "../../domain/errors.js";
import type { StoredEval } from "../../domain/evals/eval-definition.js";
import { isPass } from "../../domain/evals/eval-outcome.js";
import type { Contradiction, EvalTest, ThresholdName } from "../../domain/evals/eval-test.js";
import { questionKey } from "../../domain/evals/evaluated-trace.js";
import { measureAgreement, type TestedTrace } from "../../evalgen/proof/measure-agreement.js";
import { FEW_OF_A_KIND, rejectionsOf } from "../../evalgen/proof/thresholds.js";
import { runEvals } from "../../evalgen/run-eval.js";
import { type Half, halfOf } from "../../evalgen/split.js";
import { quantile } from "../../statistics/quantile.js";
import type { Db } from "../../store/connection/open-store.js";
import { saveEvalTest } from "../../store/evals/eval-tests.js";
import { getEval } from "../../store/evals/evals.js";
import { type EffectiveLabel, iterateLabelled } from "../../store/evals/labels.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { hashLabels, LOW_SELF_AGREEMENT, requireLabels, summarizeLabels } from "./label-counts.js";

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
export function testEval({ name, criterion, thresholds }: TestOptions, settings: AppSettings): Promise<TestedEval> {
  return withStore(settings, (db) => {
    const stored = getEval(db, name);
    if (stored.definition.kind === "cases") {
      throw new UserError(
        "eval_untestable",
        `${stored.definition.name} holds cases of single tasks: there is nothing held out to test it on.`,
        "Use it as it is: art-e evals use.",
      );
    }
    const half = runOnHalf(db, stored, criterion, "heldout");
    const agreement = measureAgreement(half.tested, stored.id);
    requireLabels("held-out", agreement.good, agreement.bad, criterion);
    const { latencyMs, contradictions, labelsHash } = half;
    const measured = { agreement, latencyMs, costUsdPerTrace: 0 };
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
  readonly labelsHash: string;
}

/** Runs an eval over the labelled traces of one half. */
export function runOnHalf(db: Db, { definition }: StoredEval, criterion: string, half: Half): HalfRun {
  const tested: TestedTrace[] = [];
  const contradictions: Contradiction[] = [];
  const times: number[] = [];
  const used: EffectiveLabel[] = [];
  for (const { trace, label } of iterateLabelled(db, criterion)) {
    const question = questionKey(trace);
    if (halfOf(question) !== half) continue;
    used.push(label);
    const start = performance.now();
    const [outcome = { score: null, reason: "", error: "it gave nothing" }] = runEvals([definition], trace);
    times.push(performance.now() - start);
    const bad = label.label === "bad";
    tested.push({ question, bad, score: outcome.score, error: outcome.error });
    if (outcome.score === null || isPass(outcome.score) !== bad) continue;
    const { traceId } = trace;
    const [runId, taskId] = "runId" in trace ? [trace.runId, trace.taskId] : [null, null];
    contradictions.push({
      traceId,
      runId,
      taskId,
      label: bad ? "bad" : "good",
      note: label.note,
      score: outcome.score,
      reason: outcome.reason,
    });
  }
  const latencyMs = { p50: quantile(times, 0.5) ?? 0, p95: quantile(times, 0.95) ?? 0 };
  return { tested, contradictions, latencyMs, labelsHash: hashLabels(used) };
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
