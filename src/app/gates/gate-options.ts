import { UserError } from "../../domain/errors.js";
import { isEvalScore } from "../../domain/evals/score-names.js";
import { METRIC_ALIASES, scorerOfMetric } from "../../domain/scores/metric-name.js";
import { scaleOf, scaleText } from "../../domain/scores/score-scale.js";
import { SCORES } from "../../scoring/scorers.js";

/** What a run must reach, and files about it. */
export interface GateOptions {
  readonly failUnder?: readonly { readonly metric: string; readonly limit: number }[] | undefined;
  /** A run or a results file. */
  readonly baseline?: string | undefined;
  readonly noWorseThan?: number | undefined;
  readonly metric?: string | undefined;
  readonly junit?: string | undefined;
}

/**
 * Refuses contradictions and unknown metrics before anything is spent. Which scores the judge gives is not known yet.
 */
export function checkGateOptions({ failUnder = [], baseline, noWorseThan, metric, junit }: GateOptions): void {
  const without =
    baseline === undefined && noWorseThan !== undefined
      ? "--no-worse-than goes with --baseline"
      : baseline === undefined && junit === undefined && metric !== undefined
        ? "--metric goes with --baseline or --junit"
        : null;
  if (without !== null) throw new UserError("flags_contradict", `${without}.`, "Give both, or leave it out.");
  const known = [...Object.keys(METRIC_ALIASES), ...Object.keys(SCORES)];
  const asked = [...failUnder.map((threshold) => threshold.metric), ...(metric === undefined ? [] : [metric])];
  const unknown = asked.find((name) => !known.includes(name) && !name.startsWith("judge") && !isEvalScore(name));
  if (unknown !== undefined) {
    throw new UserError("metric_unknown", `There is no metric "${unknown}".`, `There are ${known.join(", ")}.`);
  }
  refuseImpossible(failUnder);
  if (noWorseThan !== undefined) refuseIdleMargin(noWorseThan, metric ?? "accuracy");
}

/** A limit that no run can miss, or none can reach, is a typing error. */
function refuseImpossible(thresholds: NonNullable<GateOptions["failUnder"]>): void {
  for (const { metric, limit } of thresholds) {
    const scale = scaleOfMetric(metric);
    if (limit >= scale.min && limit <= scale.max) continue;
    throw new UserError(
      "threshold_impossible",
      `--fail-under ${metric}=${limit}: ${metric} is ${scaleText(scale)}.`,
      scale.max === 1 && limit > 1 && limit <= 100 ? `Write ${limit / 100} for ${limit} %.` : "Give a limit within it.",
    );
  }
}

function refuseIdleMargin(margin: number, metric: string): void {
  const scale = scaleOfMetric(metric);
  if (margin < scale.max - scale.min) return;
  throw new UserError(
    "threshold_impossible",
    `--no-worse-than ${margin}: ${metric} is ${scaleText(scale)}, so nothing could ever be worse by more.`,
    "Give a smaller one, such as 0.02.",
  );
}

/** Of an eval, whose scores are not in the table, and of `accuracy`, whichever it is: 0 to 1. */
function scaleOfMetric(metric: string): ReturnType<typeof scaleOf> {
  return scaleOf(SCORES[scorerOfMetric(metric)] ?? { kind: "rate" });
}
