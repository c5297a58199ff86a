import { stemmer } from "stemmer";

/** One word of a text that has the stem of a term. */
export interface Occurrence {
  readonly start: number;
  readonly end: number;
  /** Index of the term. */
  readonly term: number;
}

/** Words of late and their stems: the same few thousand stand in most mails. */
const stems = new Map<string, string>();
const MOST_STEMS = 20_000;

/** A longer word, cut out of a text, may keep the whole text in memory (V8 copies only what is shorter than 13). */
const LONGEST_KEPT = 12;

function stemOf(word: string): string {
  if (word.length > LONGEST_KEPT) return stemmer(word);
  let stem = stems.get(word);
  if (stem === undefined) {
    stem = stemmer(word);
    if (stems.size >= MOST_STEMS) stems.clear();
    stems.set(word, stem);
  }
  return stem;
}

/** Of the words with one stem the first: to the index they are the same. (A stem itself will not do: stemmed again, it may be another.) */
export function distinctTerms(words: readonly string[]): string[] {
  const byStem = new Map(words.map((word) => [stemOf(word), word] as const).reverse());
  return [...new Set(words)].filter((word) => byStem.get(stemOf(word)) === word);
}

/** Letters, digits and all beyond ASCII, said as what they are not: so the pattern, made for one search, compiles in half the time. */
const REST_OF_WORD = "[^\\0-/:-@\\[-`{-\\x7f]*";

/**
 * Finds the words of a text that have the stem of one of the terms, in order; letters beyond ASCII are part of words, as
 * in the index.
 */
export function occurrenceFinder(terms: readonly string[]): (text: string) => Occurrence[] {
  if (terms.length === 0) return () => [];
  const termOf = new Map(terms.map((term, i) => [stemOf(term), i]));
  const prefixes = [...termOf.keys()].map(prefixOf).sort((a, b) => b.length - a.length);
  // To the end of the word, so that what begins inside one is passed over whole. To look back in the pattern is slower.
  const pattern = new RegExp(`(?:${prefixes.join("|")})${REST_OF_WORD}`, "gi");
  // A word is stemmed once, however often it stands in however many texts.
  const known = new Map<string, number | undefined>();
  return (text) => {
    const found: Occurrence[] = [];
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const { 0: word, index } = match;
      if (isInWord(text, index - 1)) continue;
      let term = known.get(word);
      if (term === undefined && !known.has(word)) {
        term = termOf.get(stemOf(word.toLowerCase()));
        known.set(word, term);
      }
      if (term !== undefined) found.push({ start: index, end: index + word.length, term });
    }
    return found;
  };
}

function isInWord(text: string, index: number): boolean {
  const code = index < 0 ? 0 : text.charCodeAt(index);
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code >= 0x80;
}

/** What every word with this stem begins with, as a pattern: stems end in `e`, `i`, `y` or `bl` (possibility) where the words need not. */
function prefixOf(stem: string): string {
  // Of two letters one would be too little to begin with: `ai` is the stem of `ays`.
  return stem.length > 2 ? stem.replace(/[eiy]$|(?<=b)l$/, "") : stem.replace(/i$/, "[iy]");
}
