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

/** The index leaves longer ones as they are (FTS5_PORTER_MAX_TOKEN). */
const LONGEST_STEMMED = 64;

function stemOf(word: string): string {
  if (word.length > LONGEST_STEMMED) return word;
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

/** Finds occurrences of terms in a text, in order: of all terms, or of some, by their indices. */
export type FindOccurrences = (text: string, among?: readonly number[]) => Occurrence[];

/**
 * Finds the words of a text that have the stem of one of the terms; letters beyond ASCII are part of words, as in the
 * index. One term after the other is looked for: to say which ones a text can hold is what makes it fast.
 */
export function occurrenceFinder(terms: readonly string[]): FindOccurrences {
  const words = terms.map(fold);
  const stems = words.map(stemOf);
  const beginnings = stems.map(beginningsOf);
  const every = terms.map((_, term) => term);
  return (text, among = every) => {
    const found: Occurrence[] = [];
    const folded = fold(text);
    for (const term of among) {
      for (const beginning of beginnings[term] ?? []) {
        for (let start = folded.indexOf(beginning); start !== -1; ) {
          const end = endOfWord(folded, start + beginning.length);
          if (!isInWord(folded, start - 1)) {
            const word = folded.slice(start, end);
            // Most often it is the term itself: to look its stem up takes longer than to see that.
            if (word === words[term] || stemOf(word) === stems[term]) found.push({ start, end, term });
          }
          start = folded.indexOf(beginning, end);
        }
      }
    }
    return found.sort((a, b) => a.start - b.start);
  };
}

/** In lower case, of the same length: of one letter alone the small form is longer than the capital. */
function fold(text: string): string {
  return (text.includes("İ") ? text.replaceAll("İ", "i") : text).toLowerCase();
}

function endOfWord(text: string, from: number): number {
  let end = from;
  while (end < text.length && isInWord(text, end)) end++;
  return end;
}

function isInWord(text: string, index: number): boolean {
  const code = index < 0 ? 0 : text.charCodeAt(index);
  return (code >= 48 && code <= 57) || (code >= 97 && code <= 122) || code >= 0x80;
}

/** What every word with this stem begins with, one way or the other: stems end in `e`, `i`, `y` or `bl` (possibility) where the words need not. */
function beginningsOf(stem: string): string[] {
  // Of two letters one would be too little to begin with: `ai` is the stem of `ays`.
  if (stem.length <= 2) return stem.endsWith("i") ? [stem, stem.replace(/i$/, "y")] : [stem];
  return [stem.replace(/[eiy]$|(?<=b)l$/, "")];
}
