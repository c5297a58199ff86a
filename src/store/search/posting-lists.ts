import type { PositionRange } from "./date-range.js";
import { idf } from "./ranking/bm25f.js";

/** A term in more mails than this is common: it yields no candidates if rarer terms yield enough. */
const COMMON_TERM_MAILS = 1_000;

/** Length limit of a posting list: just enough to see that a term is common. */
export const POSTING_LIST_LIMIT = COMMON_TERM_MAILS + 1;

/** For each term the positions of the mails that hold it, newest first, up to `POSTING_LIST_LIMIT`. */
export type PostingLists = readonly (readonly number[])[];

/** The idf of each term. A common term's frequency is not known; a quarter of the mailbox is assumed. */
export function idfWeights(lists: PostingLists, mails: number): number[] {
  const documentFrequencies = lists.map((list) =>
    isRare(list) ? list.length : Math.max(COMMON_TERM_MAILS, mails / 4),
  );
  return lists.map((_, term) => idf({ mails, documentFrequencies: documentFrequencies }, term));
}

/** Whether the list is complete. */
export function isRare(list: readonly number[]): boolean {
  return list.length <= COMMON_TERM_MAILS;
}

/** The range of the mails that hold all rare terms. Restricting the all-words query to it is most of the speed. */
export function intersectionRange(lists: PostingLists, range: PositionRange): PositionRange {
  const [rarest, ...others] = lists.filter(isRare).sort((a, b) => a.length - b.length);
  if (rarest === undefined) return range;
  const shared = rarest.filter((position) => others.every((list) => hasPosting(list, position)));
  return { first: shared[0] ?? 1, last: shared.at(-1) ?? 0 };
}

/** Binary search in a list sorted newest first. */
export function hasPosting(list: readonly number[], position: number): boolean {
  return list[lowerBound(list, position)] === position;
}

/** Index of the first entry that is not below `position`. */
function lowerBound(list: readonly number[], position: number): number {
  let from = 0;
  let to = list.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((list[middle] as number) < position) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The terms that a mail holds; it may hold a common term if it is older than the end of its list, which is cut off. */
export function termsAt(lists: PostingLists, position: number): number[] {
  const terms: number[] = [];
  for (const [term, list] of lists.entries()) {
    const isBeyond = !isRare(list) && position > (list.at(-1) ?? 0);
    if (isBeyond || hasPosting(list, position)) terms.push(term);
  }
  return terms;
}
