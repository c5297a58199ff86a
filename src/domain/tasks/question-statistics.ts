import type { Split } from "./question.js";

export interface QuestionStatistics {
  readonly split: Split;
  readonly totalTasks: number;
  readonly uniqueInboxes: number;
  /** Null without tasks, as are all averages and dates. */
  readonly averageRealism: number | null;
  readonly averageMessageIds: number | null;
  /** Of `query_date`, `YYYY-MM-DD`. */
  readonly firstDate: string | null;
  readonly lastDate: string | null;
  readonly realismHistogram: readonly RealismBin[];
}

/** Questions with `from <= how_realistic < to`; the last bin includes 1. */
export interface RealismBin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}
