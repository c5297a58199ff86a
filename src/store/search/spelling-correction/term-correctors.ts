import { stemOf } from "../../tokenizer/porter.js";
import { editVariants } from "./edit-variants.js";

/** Proposes what may be meant by a word that is in no mail. */
export interface TermCorrector {
  readonly name: string;
  /** Of a word and the tokens of its query: terms (`termExpression`) to look up. */
  readonly candidates: (word: string, tokens: readonly string[]) => readonly string[];
}

/** Letters of the shorter part of a compound. */
const MIN_PART = 3;

/** Letters of a word whose spelling is corrected: it takes 53 lookups for each. */
const MAX_EDITED = 20;

/**
 * The first that finds any mail is followed. Compounds and beginnings have all letters that were typed, so they come
 * before what has others.
 */
export const TERM_CORRECTORS: readonly TermCorrector[] = [
  { name: "joined", candidates: joinWithNeighbours },
  { name: "split", candidates: splitInTwo },
  { name: "prefix", candidates: prefixOf },
  { name: "spelling", candidates: nearWords },
];

/** `trade mark` for "trademark": the word with the one before it, and with the one after it. */
function joinWithNeighbours(word: string, tokens: readonly string[]): string[] {
  return tokens.flatMap((token, i) => {
    if (token !== word) return [];
    const [before, after] = [tokens[i - 1], tokens[i + 1]];
    return [...(before === undefined ? [] : [before + word]), ...(after === undefined ? [] : [word + after])];
  });
}

/** `trademark` for "trade mark" and "trade-mark". */
function splitInTwo(word: string): string[] {
  const letters = [...word];
  const cuts = Math.max(0, letters.length + 1 - 2 * MIN_PART);
  return Array.from({ length: cuts }, (_, i) => {
    const first = letters.slice(0, i + MIN_PART).join("");
    return `${first} ${word.slice(first.length)}`;
  });
}

/** `config` for "configuration". The index holds stems, so that a word with another stem begins none of them. */
function prefixOf(word: string): string[] {
  return stemOf(word) === word ? [`${word}*`] : [];
}

/** `hanevold` for "hanvold". */
function nearWords(word: string): string[] {
  return [...word].length > MAX_EDITED ? [] : editVariants(word);
}
