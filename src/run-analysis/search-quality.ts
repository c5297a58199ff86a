import type { SameMail } from "../domain/scores/score.js";
import type { Question } from "../domain/tasks/question.js";
import { meanOf } from "../statistics/mean.js";
import { quantile } from "../statistics/quantile.js";

/** The Message-IDs that a search returns for a question, best first. */
export type SearchForQuestion = (question: Question) => readonly string[];

export interface SearchQuality {
  /** Questions with at least one gold mail; the figures are over these. */
  readonly questions: number;
  /** Share of the questions with a gold mail among the first k. */
  readonly recallAt1: number | null;
  readonly recallAt5: number | null;
  readonly recallAt10: number | null;
  /** Mean of 1 / rank of the first gold mail, 0 where none is among the first ten. */
  readonly mrrAt10: number | null;
  readonly latencyMs: { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null };
  /** Ids of the questions whose gold mail is not among the first ten. */
  readonly missed: readonly number[];
}

const DEPTH = 10;

/** Runs the search for each question that has gold mail. Copies count as the gold mail. */
export function measureSearch(
  questions: readonly Question[],
  search: SearchForQuestion,
  sameMail: SameMail,
): SearchQuality {
  const asked = questions.filter((question) => question.message_ids.length > 0);
  const times: number[] = [];
  const ranks = asked.map((question) => {
    const started = performance.now();
    const found = search(question).slice(0, DEPTH);
    times.push(performance.now() - started);
    const gold = new Set(question.message_ids.map(sameMail));
    return found.findIndex((id) => gold.has(sameMail(id))) + 1;
  });
  const share = (depth: number) => meanOf(ranks.map((rank) => (rank > 0 && rank <= depth ? 1 : 0)));
  return {
    questions: asked.length,
    recallAt1: share(1),
    recallAt5: share(5),
    recallAt10: share(DEPTH),
    mrrAt10: meanOf(ranks.map((rank) => (rank > 0 ? 1 / rank : 0))),
    latencyMs: { p50: quantile(times, 0.5), p95: quantile(times, 0.95), p99: quantile(times, 0.99) },
    missed: asked.filter((_, i) => ranks[i] === 0).map((question) => question.id),
  };
}
