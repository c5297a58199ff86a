import { insertTopK } from "../../platform/top-k.js";
import { isRare, type PostingLists } from "./posting-lists.js";

/** Best matches are chosen from so many mails, or as many as are wanted: those whose words weigh most. */
const MIN_CANDIDATES = 30;

/** A mail that may be among the best, with the weight of the terms it holds: no score is above `MAX_PER_WEIGHT` times that. */
export interface Candidate {
  readonly position: number;
  readonly weight: number;
}

/** The mails whose terms weigh most, at least `wanted` where there are as many. */
export function generateCandidates(lists: PostingLists, weights: readonly number[], wanted: number): Candidate[] {
  // Where the rare words name too few to fill the list, the common ones name candidates too.
  const rare = lists.filter(isRare);
  const enough = rare.some((list) => list.length >= wanted) || new Set(rare.flat()).size >= wanted;
  const generatesCandidates = (list: readonly number[]) => isRare(list) || !enough;
  // A common term may be held by mails that its list, cut off, does not name.
  const unlistedWeight = lists.reduce((sum, list, term) => sum + (isRare(list) ? 0 : (weights[term] ?? 0)), 0);
  const limit = Math.max(MIN_CANDIDATES, wanted);
  const heaviest: Candidate[] = [];
  mergePostings(
    lists.filter(generatesCandidates),
    weights.filter((_, term) => generatesCandidates(lists[term] ?? [])),
    (position, weight) => {
      const lightest = heaviest[limit - 1];
      // Of equals the newest stay first, as they come first.
      if (lightest === undefined || weight > lightest.weight)
        insertTopK(heaviest, { position, weight }, limit, isHeavier);
    },
  );
  return heaviest.map(({ position, weight }) => ({ position, weight: weight + unlistedWeight }));
}

function isHeavier(a: Candidate, b: Candidate): boolean {
  return a.weight > b.weight;
}

/** Visits the positions of all lists, newest first as they are, each once with the weights of its lists together. */
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
