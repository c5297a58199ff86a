// Finds the words of an email that match a query, for snippets and explanations.
import { simplifiedChinese } from "../../text/plain-letters.js";
import { stemOf as porterStemOf } from "../../text/porter.js";
import { foldText, isUnsegmentedAt, isWordUnit } from "../../text/tokenizer.js";

/** A word with the stem of a query term. */
export interface TermMatch {
  readonly start: number;
  readonly end: number;
  readonly term: number;
}

/** Finds the matches of all terms in text order. Pass indices to search for only some of the terms. */
type FindTermMatches = (text: string, among?: readonly number[]) => TermMatch[];

/** Finds the matches of one term in a folded text. */
type FindTerm = (folded: string, onMatch: (start: number, end: number) => void) => void;

const WIDTH = 240;

/**
 * ASCII, because U+2026 would make V8 use two bytes per character for every string that includes the snippet, even the
 * trace.
 */
const ELLIPSIS = "...";

/** White space except single spaces. */
const WHITE_SPACE = /\s{2,}|[^\S ]/g;

/** Split surrogate pairs at the ends of truncated text. */
const HALF_PAIRS = /^[\udc00-\udfff]|[\ud800-\udbff]$/g;

/**
 * Returns the window of `body` (about 240 characters, white space collapsed) with the most distinct terms, or the start
 * of the body if nothing matches. Call it only for hits. It replaces FTS5's snippet(), which is slower than the search
 * itself.
 */
export function snippet(body: string, words: readonly TermMatch[]): string {
  const window = bestWindow(words);
  return window === null
    ? excerpt(body, 0)
    : excerpt(body, Math.max(0, window.start - Math.max(20, (WIDTH - window.length) / 2)));
}

function bestWindow(occurrences: readonly TermMatch[]): { start: number; length: number } | null {
  let best: { start: number; length: number; terms: number } | null = null;
  const counts = new Map<number, number>();
  let first = 0;
  for (const last of occurrences) {
    counts.set(last.term, (counts.get(last.term) ?? 0) + 1);
    for (
      let head = occurrences[first];
      head !== undefined && last.end - head.start > WIDTH;
      head = occurrences[++first]
    ) {
      const remaining = (counts.get(head.term) ?? 0) - 1;
      if (remaining === 0) counts.delete(head.term);
      else counts.set(head.term, remaining);
    }
    const start = occurrences[first]?.start ?? last.start;
    if (best === null || counts.size > best.terms) best = { start, length: last.end - start, terms: counts.size };
  }
  return best;
}

function excerpt(body: string, from: number): string {
  // Start and end at word boundaries, never inside a surrogate pair.
  const start = from === 0 ? 0 : from + Math.max(0, body.slice(from, from + 30).search(/\s/) + 1);
  const text = body
    .slice(start, start + WIDTH * 2)
    .replace(WHITE_SPACE, " ")
    .trim();
  const space = text.lastIndexOf(" ", WIDTH);
  // Matches start in the first half, so the excerpt can only end at a space after it.
  const end = text.length <= WIDTH ? text.length : space > WIDTH / 2 ? space : WIDTH;
  const more = end < text.length || start + WIDTH * 2 < body.length;
  return `${start > 0 ? `${ELLIPSIS} ` : ""}${text.slice(0, end).replace(HALF_PAIRS, "")}${more ? ` ${ELLIPSIS}` : ""}`;
}

/** Cached stems. Most emails share the same few thousand words. */
const stemCache = new Map<string, string>();
const MAX_CACHED_STEMS = 20_000;

/**
 * Longer words are not cached, because V8 copies only slices shorter than 13 characters. Longer slices keep the whole
 * text in memory.
 */
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

/** Returns the first word for each stem. Returns words, not stems, because stemming a stem again can change it. */
export function distinctTerms(words: readonly string[]): string[] {
  const byStem = new Map(words.map((word) => [stemOf(word), word] as const).reverse());
  return [...new Set(words)].filter((word) => byStem.get(stemOf(word)) === word);
}

/**
 * Returns a function that finds the words that share a stem with one of the terms, tokenized like the index. A two-word
 * term matches if both words are adjacent, and a term that ends in `*` matches as a prefix. Terms are searched
 * separately, so that the caller can exclude terms that the text cannot contain. This accounts for most of the speed.
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
    const matches: TermMatch[] = [];
    const { text: folded, positions } = foldText(text);
    const at = (index: number) => (positions === null ? index : (positions[index] ?? index));
    for (const term of among) {
      finders[term]?.(folded, (start, end) => matches.push({ start: at(start), end: at(end), term }));
    }
    return matches.sort((a, b) => a.start - b.start);
  };
}

/** Characters of scripts without spaces match at any position, and in simplified Chinese as in traditional. */
function findCharacters(characters: string): FindTerm {
  const simplified = simplifiedChinese(characters);
  return (folded, onMatch) => {
    const text = simplifiedChinese(folded);
    const { length } = simplified;
    for (let start = text.indexOf(simplified); start !== -1; start = text.indexOf(simplified, start + length)) {
      onMatch(start, start + length);
    }
  };
}

function findWord(word: string): FindTerm {
  const stem = stemOf(word);
  const prefixes = prefixesOf(stem);
  return (folded, onMatch) => {
    for (const prefix of prefixes) {
      for (let start = folded.indexOf(prefix); start !== -1; ) {
        let end = start + prefix.length;
        if (!isInWord(folded, start - 1)) {
          end = endOfWord(folded, end);
          const candidate = folded.slice(start, end);
          // Comparing with the term itself is faster than a stem lookup and is usually enough.
          if (candidate === word || stemOf(candidate) === stem) onMatch(start, end);
        }
        start = folded.indexOf(prefix, end);
      }
    }
  };
}

function findPrefix(prefix: string): FindTerm {
  return (folded, onMatch) => {
    for (let start = folded.indexOf(prefix); start !== -1; ) {
      const end = endOfWord(folded, start + prefix.length);
      if (!isInWord(folded, start - 1)) onMatch(start, end);
      start = folded.indexOf(prefix, end);
    }
  };
}

/** Finds two words with only separators between them. */
function findPair(first: string, second: string): FindTerm {
  const findFirst = findWord(first);
  const stem = stemOf(second);
  return (folded, onMatch) =>
    findFirst(folded, (start, endOfFirst) => {
      let next = endOfFirst;
      while (next < folded.length && !isWordUnit(folded.charCodeAt(next))) next++;
      const end = endOfWord(folded, next);
      if (stemOf(folded.slice(next, end)) === stem) onMatch(start, end);
    });
}

function endOfWord(text: string, from: number): number {
  let end = from;
  while (end < text.length && isInWord(text, end)) end++;
  return end;
}

/** A word also ends at the start of a script without spaces. */
function isInWord(text: string, index: number): boolean {
  const unit = index < 0 ? 0 : text.charCodeAt(index);
  return isWordUnit(unit) && (unit < 0x80 || !isUnsegmentedAt(text, index));
}

/**
 * Returns prefixes that cover all words with this stem. A final `e`, `i`, `y`, or `l` after `b` (possibility) might not
 * occur in the word.
 */
function prefixesOf(stem: string): string[] {
  // A one-letter prefix would be too short: `ai` is the stem of `ays`.
  if (stem.length <= 2) return (stem.endsWith("i") ? [stem, stem.replace(/i$/, "y")] : [stem]).map(decodeText);
  return [decodeText(stem.replace(/[eiy]$|(?<=b)l$/, ""))];
}

/** Decodes a stem (one character per byte). The stemmer might have truncated its last UTF-8 sequence. */
function decodeText(bytes: string): string {
  return Buffer.from(bytes, "latin1")
    .toString()
    .replace(/\ufffd+$/, "");
}
