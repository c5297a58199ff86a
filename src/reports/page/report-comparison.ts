import type { MetricComparison } from "../../domain/scores/metric-comparison.js";

/** A run of a report against the report's first. */
export interface ReportComparison {
  /** Its index in the report. */
  readonly candidate: number;
  readonly questions: { readonly common: number; readonly onlyBaseline: number; readonly onlyCandidate: number };
  /** Of runs over suites: tasks that are not graded, and so in no comparison of scores. Null: of questions. */
  readonly ungraded: { readonly baseline: number; readonly candidate: number } | null;
  /** What makes them incomparable, in words; empty where nothing does. */
  readonly incomparable: readonly string[];
  /** Settings in which they differ. */
  readonly settings: readonly string[];
  /** The score that the verdict is about; null: they have none in common. */
  readonly headline: string | null;
  /** Scores, then cost, time and turns; none where they are not comparable. */
  readonly metrics: readonly MetricComparison[];
  /**
   * By score, a letter for each task of the first run, in the order in which they appear: w won, l lost, t tied, `-`
   * where one of the two has no value.
   */
  readonly outcomes: Readonly<Record<string, string>>;
}
