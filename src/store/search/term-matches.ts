import { isUnsegmentedAt } from "../tokenizer/bigrams.js";
import { foldText, isWordUnit } from "../tokenizer/fold.js";
import { stemOf as porterStemOf } from "../tokenizer/porter.js";

/** One word of a text that has the stem of a term. */
export interface TermMatch {
  readonly start: number;
  readonly end: number;
  /** Index of the term. */
  readonly term: number;
}

/** Words of late and their stems: the same few thousand stand in most mails. */
const stemCache = new Map<string, string>();
const MAX_CACHED_STEMS = 20_000;

/** A longer word, cut out of a text, may keep the whole text in memory (V8 copies only what is shorter than 13). */
const MAX_CACHED_CHARS = 12;

function stemOf(word: string): string {
  if (word.length > MAX_CACHED_CHARS) return porterStemOf(word);
  let stem = stemCache.get(word);
  if (stem === undefined) {
    stem = porterStemOf(word);
    if (stemCache.size >= MAX_CACHED_STEMS) stemCache.clear();
    stemCache.set(word, stem);
  }
  return stem;
}

/** Of the words with one stem the first: to the index they are the same. (A stem itself will not do: stemmed again, it may be another.) */
export function distinctTerms(words: readonly string[]): string[] {
  const byStem = new Map(words.map((word) => [stemOf(word), word] as const).reverse());
  return [...new Set(words)].filter((word) => byStem.get(stemOf(word)) === word);
}

/** Finds occurrences of terms in a text, in order: of all terms, or of some, by their indices. */
export type FindTermMatches = (text: string, among?: readonly number[]) => TermMatch[];

/** Finds one term in a folded text. */
type FindTerm = (folded: string, found: (start: number, end: number) => void) => void;

/**
 * Finds the words of a text that have the stem of one of the terms, each as the index's tokenizer reads it. One term
 * after the other is looked for: to say which ones a text can hold is what makes it fast.
 */
export function termMatcher(terms: readonly string[]): FindTermMatches {
  const finders = terms.map((term) => {
    const { text } = foldText(term);
    return isUnsegmentedAt(text, 0) ? findCharacters(text) : findWord(text);
  });
  const every = terms.map((_, term) => term);
  return (text, among = every) => {
    const found: TermMatch[] = [];
    const { text: folded, positions } = foldText(text);
    const at = (index: number) => (positions === null ? index : (positions[index] ?? index));
    for (const term of among) {
      finders[term]?.(folded, (start, end) => found.push({ start: at(start), end: at(end), term }));
    }
    return found.sort((a, b) => a.start - b.start);
  };
}

/** A pair of characters, or a single one, stands wherever it is written. */
function findCharacters(characters: string): FindTerm {
  return (folded, found) => {
    const { length } = characters;
    for (let start = folded.indexOf(characters); start !== -1; start = folded.indexOf(characters, start + length)) {
      found(start, start + length);
    }
  };
}

function findWord(word: string): FindTerm {
  const stem = stemOf(word);
  const prefixes = prefixesOf(stem);
  return (folded, found) => {
    for (const prefix of prefixes) {
      for (let start = folded.indexOf(prefix); start !== -1; ) {
        const end = endOfWord(folded, start + prefix.length);
        if (!isInWord(folded, start - 1)) {
          const candidate = folded.slice(start, end);
          // Most often it is the term itself: to look its stem up takes longer than to see that.
          if (candidate === word || stemOf(candidate) === stem) found(start, end);
        }
        start = folded.indexOf(prefix, end);
      }
    }
  };
}

function endOfWord(text: string, from: number): number {
  let end = from;
  while (end < text.length && isInWord(text, end)) end++;
  return end;
}

/** Where scripts without spaces begin, a word ends. */
function isInWord(text: string, index: number): boolean {
  const unit = index < 0 ? 0 : text.charCodeAt(index);
  return isWordUnit(unit) && (unit < 0x80 || !isUnsegmentedAt(text, index));
}

/** What every word with this stem begins with, one way or the other: stems end in `e`, `i`, `y` or `bl` (possibility) where the words need not. */
function prefixesOf(stem: string): string[] {
  // Of two letters one would be too little to begin with: `ai` is the stem of `ays`.
  if (stem.length <= 2) return (stem.endsWith("i") ? [stem, stem.replace(/i$/, "y")] : [stem]).map(textOf);
  return [textOf(stem.replace(/[eiy]$|(?<=b)l$/, ""))];
}

/** The whole characters of a stem, which is one character a byte; Porter may leave a part of the last one. */
function textOf(bytes: string): string {
  return Buffer.from(bytes, "latin1")
    .toString()
    .replace(/\ufffd+$/, "");
}
