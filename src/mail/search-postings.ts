import { LRUCache } from "lru-cache";
import type { Db } from "../store/open-store.js";
import { isUnsegmentedAt } from "../text/tokenizer.js";
import { openFts5Postings, type TermPostings } from "./fts5-postings.js";
import { openSearchableMail, type PositionSet, type SearchableMail } from "./mailbox-positions.js";
import { type PositionRange, termExpression } from "./search-query.js";
import { mergePostings, once } from "./search-ranking.js";

/** better-sqlite3 binds numbers as reals, and of those FTS5 takes no range: it would read each match before it. */
export const rowidBetween = (rowid: string) => `${rowid} BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)`;

export const POSTINGS_SQL = {
  matchingText: `SELECT rowid FROM emails_fts WHERE emails_fts MATCH ? AND ${rowidBetween("rowid")} ORDER BY rowid`,
  isInText: "SELECT 1 FROM emails_fts WHERE emails_fts MATCH ? LIMIT 1",
  isInWords: "SELECT 1 FROM mail_words WHERE mail_words MATCH ? LIMIT 1",
  matchingWords: "SELECT rowid FROM mail_words WHERE mail_words MATCH ? ORDER BY rowid",
} as const;

/** The searchable index as of the last import. */
export interface SearchIndex {
  readonly mail: SearchableMail;
  /** Emails of the mailbox (null: of all mail) that contain a term (`termExpression`), and how often. */
  postingsOf(term: string, mailboxId: number | null): TermPostings;
  /** Emails of the mailbox that contain any of several words, or of several words together in their text. */
  postingsOfAny(spellings: readonly string[], mailboxId: number | null): TermPostings;
  /** Whether any email of the file contains a term. */
  isIndexed(term: string): boolean;
  /** Positions whose subject and body match an FTS5 expression, newest first. */
  matching(expression: string, range: PositionRange): Iterable<number>;
  /** The value computed for the key since the last import, or the result of `compute`. */
  remember<Value extends object>(key: string, compute: () => Value): Value;
}

const NO_POSTINGS: TermPostings = { rowids: new Int32Array(), counts: new Uint16Array() };

/** Columns of mail_words. */
const NAMES = 0;
const BIGRAMS = 1;

/** Positions in all remembered lists together, six bytes each. */
const MAX_KEPT_POSITIONS = 1_000_000;

/** Search results, some 5 KB each. */
const MAX_KEPT_RESULTS = 250;

/** Returns the index of the present mail. Another process can import mail between two calls. */
export function openSearchIndex(db: Db): () => SearchIndex {
  // An import of display names alone rewrites the index, and leaves the fingerprint as it is.
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
    // An email with scripts without spaces has all of its words there, also those that stand next to such a script.
    const inBigrams = words.read(word, mailbox, BIGRAMS);
    const inText = isUnsegmentedAt(word, 0) ? inBigrams : mergePostings(text.read(word, mailbox), inBigrams, Math.max);
    // A name counts once, however many people of an email have it.
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
      return isInText.get(expression) !== undefined || isInWords.get(expression) !== undefined;
    },
    remember<Value extends object>(key: string, compute: () => Value) {
      const value = (results.get(key) as Value | undefined) ?? compute();
      results.set(key, value);
      return value;
    },
  };
}

/** Whether a term is one token of the index: not a phrase, nor the beginning of words. */
function isOneWord(term: string): boolean {
  return termExpression(term) === `"${term}"` && !term.includes(" ");
}
