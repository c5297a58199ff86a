import { insertTopK } from "../../platform/top-k.js";
import { hasPosting, isRare, type PostingLists } from "./posting-lists.js";
import type { ImpliedTerms } from "./ranking/implied-terms.js";

/** At least so many candidates are ranked for the best matches. */
const MIN_CANDIDATES = 60;

/**
 * A mail to rank, with the summed idf weight of the terms it may hold or a signal implies. BM25 upper bound: score <=
 * `BM25_TF_UPPER_BOUND` * weight.
 */
export interface Candidate {
  readonly position: number;
  readonly weight: number;
}

/** The mails with the greatest weight, at least `wanted` if there are so many. */
export function generateCandidates(
  lists: PostingLists,
  weights: readonly number[],
  wanted: number,
  implied: readonly ImpliedTerms[],
): Candidate[] {
  // If the rare terms yield too few candidates, the common ones are merged too.
  const rare = lists.filter(isRare);
  const enough = rare.some((list) => list.length >= wanted) || new Set(rare.flat()).size >= wanted;
  const generatesCandidates = (list: readonly number[]) => isRare(list) || !enough;
  // The cut-off list of a common term lacks mails that may hold it.
  const unlistedWeight = lists.reduce((sum, list, term) => sum + (isRare(list) ? 0 : (weights[term] ?? 0)), 0);
  const impliedWeight = (position: number) => {
    const inRange = implied.filter(({ range }) => range.first <= position && position <= range.last);
    if (inRange.length === 0) return 0;
    return [...new Set(inRange.flatMap(({ terms }) => terms))]
      .filter((term) => generatesCandidates(lists[term] ?? []) && !hasPosting(lists[term] ?? [], position))
      .reduce((sum, term) => sum + (weights[term] ?? 0), 0);
  };
  const limit = Math.max(MIN_CANDIDATES, wanted);
  const heaviest: Candidate[] = [];
  mergePostings(
    lists.filter(generatesCandidates),
    weights.filter((_, term) => generatesCandidates(lists[term] ?? [])),
    (position, held) => {
      const weight = held + impliedWeight(position);
      const lightest = heaviest[limit - 1];
      // Positions come newest first, so of equal weights the newest stays first.
      if (lightest === undefined || weight > lightest.weight)
        insertTopK(heaviest, { position, weight }, limit, isHeavier);
    },
  );
  return heaviest.map(({ position, weight }) => ({ position, weight: weight + unlistedWeight }));
}

function isHeavier(a: Candidate, b: Candidate): boolean {
  return a.weight > b.weight;
}

/** K-way merge: visits each position once, newest first, with the sum of the weights of its lists. */
function mergePostings(
  lists: PostingLists,
  listWeights: readonly number[],
  visit: (position: number, weight: number) => void,
): void {
  const read = new Uint32Array(lists.length);
  const heads = Float64Array.from(lists, (list) => list[0] ?? Number.POSITIVE_INFINITY);
  for (;;) {
    let position = Number.POSITIVE_INFINITY;
    for (const head of heads) if (head < position) position = head;
    if (position === Number.POSITIVE_INFINITY) return;
    let weight = 0;
    for (let i = 0; i < heads.length; i++) {
      if (heads[i] !== position) continue;
      weight += listWeights[i] ?? 0;
      read[i] = (read[i] ?? 0) + 1;
      heads[i] = lists[i]?.[read[i] ?? 0] ?? Number.POSITIVE_INFINITY;
    }
    visit(position, weight);
  }
}
