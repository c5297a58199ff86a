// Measures how well the search finds the gold emails of questions.
import { questionQuery } from "../mail/mail-lookup.js";
import type { AppContext } from "../platform/app-context.js";
import type { SameMail } from "../scoring/scorer-entry.js";
import type { Estimate } from "../statistics/estimate.js";
import { ClusteredMean } from "../statistics/intervals.js";
import { quantile } from "../statistics/quantile.js";
import { withStore } from "../store/open-store.js";
import type { Question } from "../tasks/question.js";
import { openMailbox } from "../tools/mailbox.js";
import { checkMailboxes } from "./check-mailboxes.js";
import { loadDataset, noteKnownBad, type QuestionOptions, requireAnswers, select } from "./dataset.js";

interface MeasuredSearch {
  readonly quality: SearchQuality;
  /** Origin of the questions. */
  readonly source: string;
}

export type SearchForQuestion = (question: Question) => readonly string[];

export interface GoldRank {
  readonly id: number;
  /** Rank of the first gold email, from 1, or null if it is not among the first ten. */
  readonly rank: number | null;
}

/**
 * `recallAtN` is the fraction of questions with a gold email among the first N matches. `mrrAt10` is the mean
 * reciprocal rank of the first gold email, which is 0 if that email is not among the first ten.
 */
type SearchMetric = "recallAt1" | "recallAt5" | "recallAt10" | "mrrAt10";

export interface SearchQuality extends Readonly<Record<SearchMetric, number | null>> {
  /** Number of questions with at least one gold email, the denominator of the metrics. */
  readonly questions: number;
  /** The metrics with their 95% intervals. */
  readonly estimates: Readonly<Record<SearchMetric, Estimate>>;
  readonly latencyMs: { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null };
  /** Ids of the questions without a gold email among the first ten matches. */
  readonly missed: readonly number[];
  /** The rank for every question, for paired comparisons of two versions. */
  readonly ranks: readonly GoldRank[];
}

/** Measures how well email_search finds the gold emails if the query is the question itself. */
export function measureMailSearch(options: QuestionOptions, context: AppContext): Promise<MeasuredSearch> {
  return withStore(context.settings, async (db) => {
    const set = await loadDataset(options, context);
    noteKnownBad(set, options, context);
    const questions = select(set, options);
    requireAnswers(questions, "art-e eval-search");
    checkMailboxes(db, questions);
    const { search, mails, addresses } = openMailbox(db);
    const quality = measureSearch(
      questions,
      (question) => search.bestFirst(questionQuery(question, addresses)).hits.map((hit) => hit.messageId),
      (id) => mails.canonicalId(id),
    );
    return { quality, source: set.source };
  });
}

const DEPTH = 10;

/** Runs the search for each question with gold mail. A copy counts as the gold email. */
export function measureSearch(
  questions: readonly Question[],
  search: SearchForQuestion,
  sameMail: SameMail,
): SearchQuality {
  const measurable = questions.filter((question) => question.message_ids.length > 0);
  const times: number[] = [];
  const ranks = measurable.map((question): GoldRank => {
    const started = performance.now();
    const hits = search(question).slice(0, DEPTH);
    times.push(performance.now() - started);
    const gold = new Set(question.message_ids.map(sameMail));
    const index = hits.findIndex((id) => gold.has(sameMail(id)));
    return { id: question.id, rank: index === -1 ? null : index + 1 };
  });
  const estimates = {
    recallAt1: recallAt(1, ranks),
    recallAt5: recallAt(5, ranks),
    recallAt10: recallAt(DEPTH, ranks),
    mrrAt10: clusterPerQuestion(ranks.map(reciprocalRank)).mean({ min: 0, max: 1 }),
  };
  return {
    questions: measurable.length,
    recallAt1: estimates.recallAt1.value,
    recallAt5: estimates.recallAt5.value,
    recallAt10: estimates.recallAt10.value,
    mrrAt10: estimates.mrrAt10.value,
    estimates,
    latencyMs: { p50: quantile(times, 0.5), p95: quantile(times, 0.95), p99: quantile(times, 0.99) },
    missed: ranks.filter(({ rank }) => rank === null).map(({ id }) => id),
    ranks,
  };
}

/** Returns 1 / rank, or 0 if the gold email is not among the first ten. */
export function reciprocalRank({ rank }: GoldRank): number {
  return rank === null ? 0 : 1 / rank;
}

function recallAt(depth: number, ranks: readonly GoldRank[]): Estimate {
  return clusterPerQuestion(ranks.map(({ rank }) => (rank !== null && rank <= depth ? 1 : 0))).rate();
}

function clusterPerQuestion(values: readonly number[]): ClusteredMean {
  const mean = new ClusteredMean();
  for (const value of values) mean.add(1, value);
  return mean;
}
