import type { QuestionSet, Split } from "../domain/tasks/question.js";

export interface QuestionStatistics {
  readonly split: Split;
  readonly totalTasks: number;
  readonly uniqueInboxes: number;
  /** Averages and dates are null without tasks. */
  readonly averageRealism: number | null;
  readonly averageMessageIds: number | null;
  /** Of `query_date`, `YYYY-MM-DD`. */
  readonly firstDate: string | null;
  readonly lastDate: string | null;
  readonly realismHistogram: readonly RealismBin[];
}

/** Questions with `from <= how_realistic < to`; the last bin holds 1 as well. */
export interface RealismBin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

const BINS = 10;

export function questionStatistics({ split, questions }: Pick<QuestionSet, "split" | "questions">): QuestionStatistics {
  const dates = questions.map((question) => question.query_date).sort();
  return {
    split,
    totalTasks: questions.length,
    uniqueInboxes: new Set(questions.map((question) => question.inbox_address)).size,
    averageRealism: mean(questions.map((question) => question.how_realistic)),
    averageMessageIds: mean(questions.map((question) => question.message_ids.length)),
    firstDate: dates[0] ?? null,
    lastDate: dates.at(-1) ?? null,
    realismHistogram: histogram(questions.map((question) => question.how_realistic)),
  };
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function histogram(values: readonly number[]): RealismBin[] {
  // i / 10 equals the literals 0.1, 0.2, ...; i * 0.1 does not.
  const bounds = Array.from({ length: BINS + 1 }, (_, i) => i / BINS);
  return bounds.slice(0, BINS).map((from, i) => {
    const to = bounds[i + 1] ?? 1;
    const isLast = i === BINS - 1;
    return { from, to, count: values.filter((value) => value >= from && (value < to || isLast)).length };
  });
}
