import type { Positions } from "./period.js";
import { idf } from "./rank.js";

/** A word that more of the searched mails hold than this names no candidates, where rarer words name enough. */
const COMMON = 1_000;

/** The mails that hold a word are listed up to here, newest first: enough to see that it is common. */
export const COUNTED_TO = COMMON + 1;

/** Best matches are chosen from so many mails, or as many as are wanted: those whose words weigh most. */
const BEST_MATCH_RANKED = 30;

/** How much each term says, by the share of the mails searched that hold it. A common one was counted up to `COMMON` only. */
export function weigh(lists: readonly (readonly number[])[], mails: number): number[] {
  const holding = lists.map((list) => (isRare(list) ? list.length : Math.max(COMMON, mails / 4)));
  return lists.map((_, term) => idf({ mails, holding }, term));
}

function isRare(list: readonly number[]): boolean {
  return list.length <= COMMON;
}

/** Where a mail with every word can lie: within the mails that hold all the rare words. Looking there only is most of the speed. */
export function spanOfAll(lists: readonly (readonly number[])[], range: Positions): Positions {
  const [rarest, ...others] = lists.filter(isRare).sort((a, b) => a.length - b.length);
  if (rarest === undefined) return range;
  const shared = rarest.filter((position) => others.every((list) => holds(list, position)));
  return { first: shared[0] ?? 1, last: shared.at(-1) ?? 0 };
}

/** Whether a list of positions, newest first, has this one. */
export function holds(list: readonly number[], position: number): boolean {
  let from = 0;
  let to = list.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((list[middle] as number) < position) from = middle + 1;
    else to = middle;
  }
  return list[from] === position;
}

/** A mail that may be among the best, with the weight of the terms it holds: no score is above `MAX_PER_WEIGHT` times that. */
export interface Nominee {
  readonly position: number;
  readonly weight: number;
}

/** The mails whose terms weigh most, at least `wanted` where there are as many. */
export function nominate(lists: readonly (readonly number[])[], weights: readonly number[], wanted: number): Nominee[] {
  // Where the rare words name too few to fill the list, the common ones name candidates too.
  const rare = lists.filter(isRare);
  const enough = rare.some((list) => list.length >= wanted) || new Set(rare.flat()).size >= wanted;
  const isNaming = (list: readonly number[]) => isRare(list) || !enough;
  // A common term may be held by mails that its list, cut off, does not name.
  const unlisted = lists.reduce((sum, list, term) => sum + (isRare(list) ? 0 : (weights[term] ?? 0)), 0);
  const named = merge(
    lists.filter(isNaming),
    weights.filter((_, term) => isNaming(lists[term] ?? [])),
  );
  const ranked = Math.max(BEST_MATCH_RANKED, wanted);
  // Only what weighs as much as the last that is ranked needs an order; of equals the newest stay first.
  const least = named.weights.slice().sort().at(-ranked) ?? 0;
  const heaviest: Nominee[] = [];
  for (const [i, weight] of named.weights.entries()) {
    if (weight >= least) heaviest.push({ position: named.positions[i] as number, weight: weight + unlisted });
  }
  return heaviest.sort((a, b) => b.weight - a.weight).slice(0, ranked);
}

/** The positions of all lists, newest first as they are, each once with the weights of its lists together. */
function merge(
  lists: readonly (readonly number[])[],
  listWeights: readonly number[],
): { positions: Float64Array; weights: Float64Array } {
  const most = lists.reduce((sum, list) => sum + list.length, 0);
  const positions = new Float64Array(most);
  const weights = new Float64Array(most);
  const heads = new Uint32Array(lists.length);
  for (let merged = 0; ; merged++) {
    let position = Number.POSITIVE_INFINITY;
    for (let i = 0; i < lists.length; i++) {
      const head = lists[i]?.[heads[i] ?? 0];
      if (head !== undefined && head < position) position = head;
    }
    if (position === Number.POSITIVE_INFINITY) {
      return { positions: positions.subarray(0, merged), weights: weights.subarray(0, merged) };
    }
    let weight = 0;
    for (let i = 0; i < lists.length; i++) {
      if (lists[i]?.[heads[i] ?? 0] !== position) continue;
      weight += listWeights[i] ?? 0;
      heads[i] = (heads[i] ?? 0) + 1;
    }
    positions[merged] = position;
    weights[merged] = weight;
  }
}
