import { HEADLINE_SCORERS } from "../../domain/runs/headline-score.js";
import type { ComparableRun } from "../../domain/scores/comparison.js";
import type { ReportComparison } from "../../reports/page/report-comparison.js";
import { scorersAmong } from "../../run-analysis/choose-metrics.js";
import { compareRuns } from "../../run-analysis/compare-runs.js";
import { pairOutcomes } from "../../run-analysis/pair-questions.js";
import { sharedMetrics, sharedScores } from "../../run-analysis/shared-scores.js";

/** Each run of a report against the first. Runs that are not comparable have the reasons and no figures. */
export function compareReportRuns(runs: readonly ComparableRun[]): ReportComparison[] {
  const [baseline, ...candidates] = runs;
  if (baseline === undefined) return [];
  return candidates.map((candidate, i) => toComparison(baseline, candidate, i + 1));
}

function toComparison(baseline: ComparableRun, candidate: ComparableRun, index: number): ReportComparison {
  const shared = sharedScores(baseline.head.scores, candidate.head.scores);
  const scorers = scorersAmong(sharedMetrics(shared), shared);
  const { questions, ungraded, incomparable, settings, metrics } = compareRuns(baseline, candidate, scorers, 0);
  const isComparable = incomparable.length === 0 && questions.common > 0;
  const scores = isComparable ? metrics.filter(({ metric }) => scorers.includes(metric)) : [];
  return {
    ...{ candidate: index, questions, ungraded, incomparable, settings },
    headline:
      HEADLINE_SCORERS.find((name) => scores.some(({ metric }) => metric === name)) ?? scores[0]?.metric ?? null,
    metrics: isComparable ? metrics : [],
    outcomes: Object.fromEntries(scores.map((each) => [each.metric, pairOutcomes(each, baseline, candidate)])),
  };
}
