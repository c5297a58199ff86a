import { MAIL_WORDS, STOP_WORDS } from "../../domain/mail/stop-words.js";
import { bigramsOf, isUnsegmentedAt, type Piece, piecesOf, runTokens } from "../tokenizer/bigrams.js";
import { foldText } from "../tokenizer/fold.js";

/**
 * Builds FTS5 expressions. Any string is safe: only letters and digits, as the index's tokenizer reads them, reach
 * the expression, always in double quotes, so nothing is read as an operator.
 */

/** Longer queries are cut: FTS5 would accept them, but a 65th word does not help. */
const MAX_TERMS = 64;

/** Characters of a query that are read, so that long texts do not slow the search down. */
export const MAX_QUERY_CHARS = 10_000;

/** Words, and character pairs of scripts without spaces. */
export function tokenize(text: string): string[] {
  return [...piecesOf(foldText(text).text)].flatMap(termsOf);
}

/** The distinct tokens of a query. */
export function queryTokens(text: string): string[] {
  return [...new Set(phrasesOf(text).flat().flatMap(termsOf))].slice(0, MAX_TERMS);
}

/** The distinct tokens of `allWordsExpression` without stop words and words about mail; all if no others are left. */
export function contentTokens(text: string): string[] {
  const tokens = [...new Set(phrasesOf(text).flat().flatMap(termsOf))];
  const content = tokens.filter((token) => !STOP_WORDS.has(token) && !MAIL_WORDS.has(token));
  return (content.length > 0 ? content : tokens).slice(0, MAX_TERMS);
}

/**
 * Every word must occur; `"quoted words"` and words joined by punctuation (`Q3-budget`) as phrases. Null: no words.
 */
export function allWordsExpression(text: string): string | null {
  const phrases = phrasesOf(text);
  return phrases.length === 0 ? null : [...new Set(phrases.map(phraseExpression))].join(" AND ");
}

/** The pieces of each phrase. */
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
  return isUnsegmented ? bigramsOf(text) : [text];
}

function phraseExpression(pieces: readonly Piece[]): string {
  const last = pieces.at(-1);
  const before = pieces.slice(0, -1).flatMap(({ text, isUnsegmented }) => (isUnsegmented ? runTokens(text) : [text]));
  const phrase = last === undefined ? before : [...before, ...termsOf(last)];
  return termExpression(phrase.join(" "));
}

/**
 * One word by its stem, several as a phrase, or a character pair; a single character matches as the first of any pair,
 * and `config*` all words that begin so.
 */
export function termExpression(term: string): string {
  const words = term.replace(/\*$/, "");
  const last = words.slice(words.lastIndexOf(" ") + 1);
  const isSingle = isUnsegmentedAt(last, 0) && [...last].length === 1;
  return isSingle || words !== term ? `"${words}" *` : `"${words}"`;
}
