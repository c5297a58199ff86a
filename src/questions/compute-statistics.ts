import type { QuestionSet } from "../domain/tasks/question.js";
import type { QuestionStatistics, RealismBin } from "../domain/tasks/question-statistics.js";
import { meanOf } from "../statistics/mean.js";

const BINS = 10;

export function questionStatistics({ split, questions }: Pick<QuestionSet, "split" | "questions">): QuestionStatistics {
  const dates = questions.map((question) => question.query_date).sort();
  return {
    split,
    totalTasks: questions.length,
    uniqueInboxes: new Set(questions.map((question) => question.inbox_address)).size,
    averageRealism: meanOf(questions.map((question) => question.how_realistic)),
    averageMessageIds: meanOf(questions.map((question) => question.message_ids.length)),
    firstDate: dates[0] ?? null,
    lastDate: dates.at(-1) ?? null,
    realismHistogram: histogram(questions.map((question) => question.how_realistic)),
  };
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
