import type { ReportComparison } from "../page/report-comparison.js";
import type { ReportHead } from "../page/report-data.js";

type ReportFigures = Omit<ReportHead, "traces" | "comparisons"> & {
  readonly comparisons: readonly Omit<ReportComparison, "outcomes">[];
};

/** The figures of a report as JSON, without what only its page reads. */
export function reportFigures({ traces: _, comparisons, ...figures }: ReportHead): ReportFigures {
  return { ...figures, comparisons: comparisons.map(({ outcomes: __, ...comparison }) => comparison) };
}
