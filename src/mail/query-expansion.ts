import { foldText } from "../text/tokenizer.js";

/** Query expansion: the numbers and compounds of a query in the other spellings that the index contains. */

/** `(713) 853-0101`, `713.853.0101` */
const TELEPHONE = /(?<!\d)\(?(\d{3})\)?[-. ]{0,2}(\d{3})[-. ](\d{4})(?!\d)/g;
const GROUPED_NUMBER = /(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d)/g;

/** Writes the grouped numbers of a query as one word: `73,500` as `73500`. */
export function joinNumbers(query: string): string {
  return query.replace(TELEPHONE, "$1$2$3").replace(GROUPED_NUMBER, (number) => number.replaceAll(",", ""));
}

/** The phrases that the index contains for a number with separators: `73 500`, `713 853 0101`. */
export function numberPhrases(word: string): string[] {
  if (!/^\d{4,12}$/.test(word)) return [];
  const groups = word.replace(/\B(?=(?:\d{3})+$)/g, " ");
  const telephone = /^(\d{3})?(\d{3})(\d{4})$/.exec(word)?.slice(1).filter(Boolean).join(" ");
  return [groups, ...(telephone === undefined ? [] : [telephone])];
}

/** The joined forms of the compounds that have a word as a part: `cutoff` for `cut` in `cut-off`. */
export function joinedCompounds(query: string): ReadonlyMap<string, readonly string[]> {
  const joined = new Map<string, string[]>();
  for (const [compound] of foldText(query).text.matchAll(/(?<![\p{L}\p{N}])\p{L}+(?:-\p{L}+)+(?![\p{L}\p{N}])/gu)) {
    const parts = compound.split("-");
    for (const part of parts) joined.set(part, [...(joined.get(part) ?? []), parts.join("")]);
  }
  return joined;
}
