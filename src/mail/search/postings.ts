// The searchable index as of the last import, reopened when another process imports.
import { LRUCache } from "lru-cache";
import type { Db } from "../../store/open-store.js";
import { isUnsegmentedAt } from "../../text/tokenizer.js";
import type { PositionRange } from "../date-range.js";
import { termExpression } from "../fts5-query.js";
import { openFts5Postings, type TermPostings } from "./fts5-postings.js";
import { openSearchableMail, type PositionSet, type SearchableMail } from "./mailbox-positions.js";
import { mergePostings, once } from "./ranking.js";

/** The searchable index as of the last import. */
export interface SearchIndex {
  readonly mail: SearchableMail;
  /**
   * Emails in the mailbox that contain a term (`termExpression`), with counts. Covers all mail if the mailbox is null.
   */
  postingsOf(term: string, mailboxId: number | null): TermPostings;
  /** Emails in the mailbox that contain any of the words, or any of the phrases in their text. */
  postingsOfAny(spellings: readonly string[], mailboxId: number | null): TermPostings;
  /** Whether any email in the database contains a term. */
  isIndexed(term: string): boolean;
  /** Positions of emails whose subject or body matches an FTS5 expression, newest first. */
  matching(expression: string, range: PositionRange): Iterable<number>;
  /** Returns the cached value for a key, or calls `compute`. An import clears the cache. */
  remember<Value extends object>(key: string, compute: () => Value): Value;
}

/** better-sqlite3 binds numbers as reals. FTS5 ignores a range of reals and would read every match before the range. */
const rowidBetween = (rowid: string) => `${rowid} BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)`;

export const POSTINGS_SQL = {
  matchingText: `SELECT rowid FROM emails_fts WHERE emails_fts MATCH ? AND ${rowidBetween("rowid")} ORDER BY rowid`,
  isInText: "SELECT 1 FROM emails_fts WHERE emails_fts MATCH ? LIMIT 1",
  isInWords: "SELECT 1 FROM mail_words WHERE mail_words MATCH ? LIMIT 1",
  matchingWords: "SELECT rowid FROM mail_words WHERE mail_words MATCH ? ORDER BY rowid",
} as const;

const NO_POSTINGS: TermPostings = { rowids: new Int32Array(), counts: new Uint16Array() };

/** Columns of mail_words. */
const NAMES = 0;
const BIGRAMS = 1;

/**
 * Maximum total number of positions in all cached lists, at six bytes each. With a quarter of this limit, an agent that
 * works in a mailbox of 35,000 emails reads most lists again, and its searches take twice as long.
 */
const MAX_KEPT_POSITIONS = 4_000_000;

/**
 * Maximum number of words that are remembered as indexed or not. At 500,000 emails, this cache lowers the p95 of
 * searches with two or three words from 1.4 to 0.9 ms: possible spellings of unknown words are not looked up again.
 */
const MAX_KEPT_WORDS = 10_000;

/** Maximum number of cached search results, at about 5 KB each. */
const MAX_KEPT_RESULTS = 250;

/** Returns a function that returns the current index. Another process can import mail between two calls. */
export function openSearchIndex(db: Db): () => SearchIndex {
  // An import that only adds display names rewrites the index but does not change the fingerprint.
  const readVersion = db.prepare("SELECT fingerprint || updated_at FROM corpus_state").pluck();
  let current: { readonly version: unknown; readonly index: SearchIndex } | null = null;
  return () => {
    const version = readVersion.get();
    if (current === null || current.version !== version) current = { version, index: openIndex(db) };
    return current.index;
  };
}

function openIndex(db: Db): SearchIndex {
  const mail = openSearchableMail(db);
  const text = openFts5Postings(db, "emails_fts");
  const words = openFts5Postings(db, "mail_words");
  const matchingText = db.prepare(POSTINGS_SQL.matchingText).pluck();
  const matchingWords = db.prepare(POSTINGS_SQL.matchingWords).pluck();
  const isInText = db.prepare(POSTINGS_SQL.isInText);
  const isInWords = db.prepare(POSTINGS_SQL.isInWords);
  const results = new LRUCache<string, object>({ max: MAX_KEPT_RESULTS });
  const indexed = new LRUCache<string, boolean>({ max: MAX_KEPT_WORDS });
  const lists = new LRUCache<string, TermPostings>({
    maxSize: MAX_KEPT_POSITIONS,
    sizeCalculation: ({ rowids }) => rowids.length + 20,
  });
  const matching = (expression: string, { first, last }: PositionRange) =>
    (first > last ? [] : matchingText.iterate(expression, first, last)) as Iterable<number>;

  const readMatches = (term: string, mailbox: PositionSet): TermPostings => {
    const expression = termExpression(term);
    const ofText = matchingText.all(expression, 0, Number.MAX_SAFE_INTEGER) as number[];
    const ofWords = matchingWords.all(expression) as number[];
    const members = (rowids: readonly number[]) => Int32Array.from(rowids.filter((rowid) => mailbox.has(rowid)));
    return once(mergePostings(once(members(ofText)), once(members(ofWords))).rowids);
  };
  const readWord = (word: string, mailbox: PositionSet): TermPostings => {
    // If an email uses scripts without spaces, this column contains all its words, including words next to such a
    // script.
    const inBigrams = words.read(word, mailbox, BIGRAMS);
    const inText = isUnsegmentedAt(word, 0) ? inBigrams : mergePostings(text.read(word, mailbox), inBigrams, Math.max);
    // A name counts only once, even if several people in an email share it.
    return mergePostings(inText, once(words.read(word, mailbox, NAMES).rowids));
  };

  const readSpellings = (spellings: readonly string[], mailbox: PositionSet): TermPostings => {
    const phrases = spellings.filter((spelling) => spelling.includes(" ")).map(termExpression);
    const rowids =
      phrases.length === 0 ? [] : (matchingText.all(phrases.join(" OR "), 0, Number.MAX_SAFE_INTEGER) as number[]);
    const together = once(Int32Array.from(rowids.filter((rowid) => mailbox.has(rowid))));
    const words = spellings.filter((spelling) => !spelling.includes(" "));
    return words.reduce((sum, word) => mergePostings(sum, readWord(word, mailbox), Math.max), together);
  };
  const rememberList = (key: string, read: () => TermPostings) => {
    const list = lists.get(key) ?? read();
    lists.set(key, list);
    return list;
  };

  return {
    mail,
    matching,
    postingsOf: (term, mailboxId) =>
      rememberList(`${mailboxId} ${term}`, () =>
        (isOneWord(term) ? readWord : readMatches)(term, mail.mailbox(mailboxId)),
      ),
    postingsOfAny: (spellings, mailboxId) =>
      spellings.length === 0
        ? NO_POSTINGS
        : rememberList(`${mailboxId} ${spellings.join("|")}`, () => readSpellings(spellings, mail.mailbox(mailboxId))),
    isIndexed(term) {
      const expression = termExpression(term);
      const found =
        indexed.get(expression) ?? (isInText.get(expression) !== undefined || isInWords.get(expression) !== undefined);
      indexed.set(expression, found);
      return found;
    },
    remember<Value extends object>(key: string, compute: () => Value) {
      const value = (results.get(key) as Value | undefined) ?? compute();
      results.set(key, value);
      return value;
    },
  };
}

/** Whether a term is a single index token, not a phrase or a prefix. */
function isOneWord(term: string): boolean {
  return termExpression(term) === `"${term}"` && !term.includes(" ");
}
