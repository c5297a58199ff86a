import { UserError } from "../../domain/errors.js";
import { METRIC_ALIASES } from "../../domain/scores/metric-name.js";
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
  const unknown = asked.find((name) => !known.includes(name) && !name.startsWith("judge"));
  if (unknown === undefined) return;
  throw new UserError("metric_unknown", `There is no metric "${unknown}".`, `There are ${known.join(", ")}.`);
}
