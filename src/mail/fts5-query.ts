// Builds FTS5 expressions. Any input string is safe: only the letters and digits recognized by the index tokenizer
// reach the expression, always in double quotes, so nothing is parsed as an operator.
import { MAIL_WORDS, STOP_WORDS } from "../text/stop-words.js";
import {
  foldText,
  isUnsegmentedAt,
  type Piece,
  piecesOf,
  runTokens,
  bigramsOf as unsegmentedBigrams,
} from "../text/tokenizer.js";

/** Maximum number of terms per query. FTS5 would accept more, but a 65th word does not help. */
const MAX_TERMS = 64;

const MAX_PHRASES = 8;

/** Maximum number of query characters to read, so that long texts do not slow down the search. */
export const MAX_QUERY_CHARS = 10_000;

/** Returns the words of a text, and character pairs for scripts without spaces. */
export function tokenize(text: string): string[] {
  return [...piecesOf(foldText(text).text)].flatMap(termsOf);
}

export function queryTokens(text: string): string[] {
  return [...new Set(phrasesOf(text).flat().flatMap(termsOf))].slice(0, MAX_TERMS);
}

/**
 * Returns the distinct tokens of `allWordsExpression` except stop words and words about mail, or all tokens if nothing
 * else is left.
 */
export function contentTokens(text: string): string[] {
  const tokens = [...new Set(phrasesOf(text).flat().flatMap(termsOf))];
  const content = tokens.filter((token) => !STOP_WORDS.has(token) && !MAIL_WORDS.has(token));
  return (content.length > 0 ? content : tokens).slice(0, MAX_TERMS);
}

/**
 * Builds an expression that requires every word. `"quoted words"` and words joined by punctuation (`Q3-budget`) become
 * phrases. Returns null if the text contains no words.
 */
export function allWordsExpression(text: string): string | null {
  const phrases = phrasesOf(text);
  return phrases.length === 0 ? null : [...new Set(phrases.map(phraseExpression))].join(" AND ");
}

/** Returns the `"quoted words"` of a query as terms, except single words. */
export function quotedPhrases(text: string): string[] {
  const phrases = [...text.slice(0, MAX_QUERY_CHARS).matchAll(/"([^"]*)"/g)].map(([, quoted = ""]) =>
    tokenize(quoted).slice(0, MAX_TERMS).join(" "),
  );
  return [...new Set(phrases.filter((phrase) => phrase.includes(" ")))].slice(0, MAX_PHRASES);
}

/** Returns the pieces of each distinct phrase. */
function phrasesOf(text: string): Piece[][] {
  const phrases = new Map<string, Piece[]>();
  for (const [, quoted, word] of text.slice(0, MAX_QUERY_CHARS).matchAll(/"([^"]*)"|([^\s"]+)/g)) {
    const pieces = [...piecesOf(foldText(quoted ?? word ?? "").text)].slice(0, MAX_TERMS);
    if (pieces.length > 0) phrases.set(pieces.map((piece) => piece.text).join(" "), pieces);
    if (phrases.size === MAX_TERMS) break;
  }
  return [...phrases.values()];
}

function termsOf({ text, isUnsegmented }: Piece): string[] {
  return isUnsegmented ? unsegmentedBigrams(text) : [text];
}

function phraseExpression(pieces: readonly Piece[]): string {
  const last = pieces.at(-1);
  const before = pieces.slice(0, -1).flatMap(({ text, isUnsegmented }) => (isUnsegmented ? runTokens(text) : [text]));
  const phrase = last === undefined ? before : [...before, ...termsOf(last)];
  return termExpression(phrase.join(" "));
}

/**
 * Returns the expression for a term. A single word matches all words with its stem, and several words match as a
 * phrase. A single character of a script without spaces matches any pair that starts with it, and `config*` matches all
 * words with that prefix.
 */
export function termExpression(term: string): string {
  const words = term.replace(/\*$/, "");
  const last = words.slice(words.lastIndexOf(" ") + 1);
  const isSingle = isUnsegmentedAt(last, 0) && [...last].length === 1;
  return isSingle || words !== term ? `"${words}" *` : `"${words}"`;
}
