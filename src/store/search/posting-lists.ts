import { idf } from "./bm25f.js";
import type { PositionRange } from "./date-range.js";

/** A word that more of the searched mails hold than this names no candidates, where rarer words name enough. */
const COMMON_TERM_MAILS = 1_000;

/** The mails that hold a word are listed up to here, newest first: enough to see that it is common. */
export const POSTING_LIST_LIMIT = COMMON_TERM_MAILS + 1;

/** Of each term the positions of the mails that hold it, newest first; up to `COUNTED_TO`. */
export type PostingLists = readonly (readonly number[])[];

/** How much each term says, by the share of the mails searched that hold it. A common one was counted up to `COMMON` only. */
export function idfWeights(lists: PostingLists, mails: number): number[] {
  const documentFrequencies = lists.map((list) =>
    isRare(list) ? list.length : Math.max(COMMON_TERM_MAILS, mails / 4),
  );
  return lists.map((_, term) => idf({ mails, documentFrequencies: documentFrequencies }, term));
}

/** Whether the list names every mail that holds the term. */
export function isRare(list: readonly number[]): boolean {
  return list.length <= COMMON_TERM_MAILS;
}

/** Where a mail with every word can lie: within the mails that hold all the rare words. Looking there only is most of the speed. */
export function intersectionRange(lists: PostingLists, range: PositionRange): PositionRange {
  const [rarest, ...others] = lists.filter(isRare).sort((a, b) => a.length - b.length);
  if (rarest === undefined) return range;
  const shared = rarest.filter((position) => others.every((list) => hasPosting(list, position)));
  return { first: shared[0] ?? 1, last: shared.at(-1) ?? 0 };
}

/** Whether a list of positions, newest first, has this one. */
export function hasPosting(list: readonly number[], position: number): boolean {
  return list[lowerBound(list, position)] === position;
}

/** Those of a list that lie in a range. */
export function postingsWithin(list: readonly number[], { first, last }: PositionRange): readonly number[] {
  const isWhole = first <= (list[0] ?? first) && last >= (list.at(-1) ?? last);
  return isWhole ? list : list.slice(lowerBound(list, first), lowerBound(list, last + 1));
}

/** Of the first entry that is not below `position`. */
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

/** The terms that a mail holds, or may hold: a list that was cut off does not tell. */
export function termsAt(lists: PostingLists, position: number): number[] {
  const terms: number[] = [];
  for (const [term, list] of lists.entries()) if (!isRare(list) || hasPosting(list, position)) terms.push(term);
  return terms;
}
