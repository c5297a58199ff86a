import { isUnsegmentedAt } from "../tokenizer/bigrams.js";
import { foldText, isWordUnit } from "../tokenizer/fold.js";
import { stemOf as porterStemOf } from "../tokenizer/porter.js";

/** A word with the stem of a query term. */
export interface TermMatch {
  readonly start: number;
  readonly end: number;
  /** Index of the term. */
  readonly term: number;
}

/** Stems by word: the same few thousand words make up most mails. */
const stemCache = new Map<string, string>();
const MAX_CACHED_STEMS = 20_000;

/** A longer slice would keep its whole text in memory: V8 copies only strings shorter than 13. */
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

/** The first word of each stem. Not the stem itself: stemming it again may give another. */
export function distinctTerms(words: readonly string[]): string[] {
  const byStem = new Map(words.map((word) => [stemOf(word), word] as const).reverse());
  return [...new Set(words)].filter((word) => byStem.get(stemOf(word)) === word);
}

/** Finds the matches of all terms, or of those with the given indices, in text order. */
export type FindTermMatches = (text: string, among?: readonly number[]) => TermMatch[];

/** Finds one term in a folded text. */
type FindTerm = (folded: string, found: (start: number, end: number) => void) => void;

/**
 * Finds the words of a text that share a stem with one of the terms, tokenized like the index; both words of a term of
 * two, where they stand together; and the words that begin with a term that ends in `*`. Terms are searched one by one,
 * so that the caller can exclude those that the text cannot hold, which is most of the speed.
 */
export function termMatcher(terms: readonly string[]): FindTermMatches {
  const finders = terms.map((term) => {
    const { text } = foldText(term.replace(/\*$/, ""));
    if (isUnsegmentedAt(text, 0)) return findCharacters(text);
    if (term.endsWith("*")) return findPrefix(text);
    const [first = "", second] = text.split(" ");
    return second === undefined ? findWord(first) : findPair(first, second);
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

/** Characters of scripts without spaces match anywhere. */
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
          // Comparing with the term itself is faster than a stem lookup, and mostly suffices.
          if (candidate === word || stemOf(candidate) === stem) found(start, end);
        }
        start = folded.indexOf(prefix, end);
      }
    }
  };
}

/** Words that begin so. */
function findPrefix(prefix: string): FindTerm {
  return (folded, found) => {
    for (let start = folded.indexOf(prefix); start !== -1; ) {
      const end = endOfWord(folded, start + prefix.length);
      if (!isInWord(folded, start - 1)) found(start, end);
      start = folded.indexOf(prefix, end);
    }
  };
}

/** Two words with nothing but separators between them. */
function findPair(first: string, second: string): FindTerm {
  const findFirst = findWord(first);
  const stem = stemOf(second);
  return (folded, found) =>
    findFirst(folded, (start, endOfFirst) => {
      let next = endOfFirst;
      while (next < folded.length && !isWordUnit(folded.charCodeAt(next))) next++;
      const end = endOfWord(folded, next);
      if (stemOf(folded.slice(next, end)) === stem) found(start, end);
    });
}

function endOfWord(text: string, from: number): number {
  let end = from;
  while (end < text.length && isInWord(text, end)) end++;
  return end;
}

/** A word also ends where a script without spaces begins. */
function isInWord(text: string, index: number): boolean {
  const unit = index < 0 ? 0 : text.charCodeAt(index);
  return isWordUnit(unit) && (unit < 0x80 || !isUnsegmentedAt(text, index));
}

/**
 * Prefixes of all words with this stem: a final `e`, `i`, `y`, or `l` after `b` (possibility), may not be in the
 * word.
 */
function prefixesOf(stem: string): string[] {
  // A prefix of one letter would be too short: `ai` is the stem of `ays`.
  if (stem.length <= 2) return (stem.endsWith("i") ? [stem, stem.replace(/i$/, "y")] : [stem]).map(textOf);
  return [textOf(stem.replace(/[eiy]$|(?<=b)l$/, ""))];
}

/** Decodes a stem (one character per byte); Porter may have cut its last UTF-8 sequence. */
function textOf(bytes: string): string {
  return Buffer.from(bytes, "latin1")
    .toString()
    .replace(/\ufffd+$/, "");
}
