/**
 * Words to FTS5 expressions. Any string is safe: only letters, digits and characters beyond ASCII reach
 * the expression, always inside double quotes, so no text can be read as an operator.
 */

/** Words FTS5's `ascii` tokenizer would make of a text: runs of ASCII letters and digits and of anything beyond ASCII. */
const TOKEN = /[a-z0-9\u0080-\uffff]+/g;

/** Too common to tell mails apart; left out of best match, never out of all-words. */
const STOP_WORDS = new Set(
  `a about after all also am an and any anyone are as at be because been before being between both but by can could
  did do does doing done down during each else ever every few find for from further get gets give given gives go goes going
  gone got had has have having he her here hers him his how i if in into is it its just let like ll m made make many me
  mention mentioned might more most much must my myself name named need no nor not now of off on once one only or
  other our out over own please re s same say said says she should so some such t take tell than that the their them
  then there these they thing this those through to told too under until up us ve very was we were what when where
  which while who whom whose why will with would yes you your`
    .split(/\s+/)
    .filter((word) => word !== ""),
);

/** A query longer than this is cut: FTS5 would take it, but no mail is found by its 65th word. */
const MAX_TERMS = 64;

/** What is read of a query at all, so that no text of any length holds the search up. */
export const MAX_QUERY_CHARS = 10_000;

export function tokenize(text: string): string[] {
  // As the index does: `CAFÉ` is `cafÉ` there, so that no other spelling of the query would find it.
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()).match(TOKEN) ?? [];
}

/** All tokens of a query, each once, as far as it is read. */
export function queryTokens(text: string): string[] {
  return [...new Set(phrasesOf(text).flatMap((phrase) => phrase.split(" ")))].slice(0, MAX_TERMS);
}

/** Tokens worth matching on, of those that `allWordsExpression` asks for: stop words and repeats out, unless nothing else is left. */
export function contentTokens(text: string): string[] {
  const tokens = [...new Set(phrasesOf(text).flatMap((phrase) => phrase.split(" ")))];
  const content = tokens.filter((token) => !STOP_WORDS.has(token));
  return (content.length > 0 ? content : tokens).slice(0, MAX_TERMS);
}

/** Every word must occur; `"quoted words"` and words joined by punctuation (`Q3-budget`) must stand together. Null: no words. */
export function allWordsExpression(text: string): string | null {
  const phrases = phrasesOf(text);
  return phrases.length === 0 ? null : phrases.map((phrase) => `"${phrase}"`).join(" AND ");
}

/** What must stand together, each once: tokens joined by a space. */
function phrasesOf(text: string): string[] {
  const phrases = new Set<string>();
  for (const [, quoted, word] of text.slice(0, MAX_QUERY_CHARS).matchAll(/"([^"]*)"|([^\s"]+)/g)) {
    const tokens = tokenize(quoted ?? word ?? "").slice(0, MAX_TERMS);
    if (tokens.length > 0) phrases.add(tokens.join(" "));
  }
  return [...phrases].slice(0, MAX_TERMS);
}

/** One word, in any of its forms. */
export function termExpression(term: string): string {
  return `"${term}"`;
}
