// ART's search: all words unstemmed, newest first, so that published figures can be compared.
import type BetterSqlite3 from "better-sqlite3";
import { compact } from "../platform/optional-values.js";
import type { Db } from "../store/open-store.js";
import { Database } from "../store/sqlite.js";
import { foldText, isUnsegmentedAt, isWordUnit } from "../text/tokenizer.js";
import { type DateRange, openDateRanges, type PositionRange } from "./date-range.js";
import { queryTokens, tokenize } from "./fts5-query.js";
import type { TermPostings } from "./search/fts5-postings.js";
import type { PositionSet } from "./search/mailbox-positions.js";
import { openSearchIndex } from "./search/postings.js";
import { hasPosition, within } from "./search/ranking.js";
import { SEARCH_SQL } from "./search.js";

export interface ArtQuery {
  readonly keywords: readonly string[];
  /** Address id of the sender or recipient. */
  readonly namedId: number;
  readonly fromIds: readonly number[] | null;
  readonly toIds: readonly number[] | null;
  readonly period: DateRange;
  readonly limit: number;
}

export interface ArtHit {
  readonly messageId: string;
  readonly snippet: string;
}

type MailText = readonly [mailId: number, subject: string, body: string];

interface KeywordPart {
  readonly text: string;
  /** False for keywords in scripts without spaces, because words are not separated in such text either. */
  readonly isWord: boolean;
}

/**
 * ART's search returns mail from or to an address that contains every keyword unstemmed, newest first. Our index
 * contains stems, so it yields a superset. An in-memory index with ART's tokenizer (SQLite's default) filters the
 * superset and provides the snippets. Equal words have equal stems, so no match is missed.
 */
export function openArtSearch(db: Db): (query: ArtQuery) => ArtHit[] {
  const dateRanges = openDateRanges(db);
  const indexNow = openSearchIndex(db);
  const selectText = db.prepare(SEARCH_SQL.hit).raw();
  const selectMessageId = db.prepare(SEARCH_SQL.messageId).pluck();
  const matchExactly = openExactMatcher();
  return db.transaction(({ keywords, limit, period, namedId, fromIds, toIds }: ArtQuery) => {
    const words = keywords.flatMap(keywordParts);
    if (words.length === 0) return [];
    const expression = keywords.map((keyword) => `"${keyword.replaceAll('"', '""').replaceAll("\0", " ")}"`).join(" ");
    const { mail, postingsOf } = indexNow();
    const sets = compact([
      mail.withParty([namedId], "either"),
      fromIds !== null && mail.withParty(fromIds, "sender"),
      toIds !== null && mail.withParty(toIds, "recipient"),
    ]);
    const lists = queryTokens(keywords.join(" ")).map((word) => postingsOf(word, namedId));
    const candidates = inAll(lists, sets, dateRanges.positions(period));
    const hits: ArtHit[] = [];
    let next = 0;
    while (hits.length < limit && next < candidates.length) {
      // Indexing an email takes longer than anything else here, so index no more emails than there are hits missing.
      const mails = new Map<number, MailText>();
      while (mails.size < limit - hits.length && next < candidates.length) {
        const position = candidates[next++] as number;
        const text = selectText.get(position) as MailText;
        if (containsAll(text, words)) mails.set(position, text);
      }
      for (const [position, snippet] of matchExactly(mails, expression)) {
        const [mailId] = mails.get(position) as MailText;
        hits.push({ messageId: selectMessageId.get(mailId) as string, snippet });
      }
    }
    return hits;
  });
}

/** Returns the positions within the range that are in all lists and all sets. */
function inAll(lists: readonly TermPostings[], sets: readonly PositionSet[], range: PositionRange): Int32Array {
  const [shortest, ...others] = lists.toSorted((a, b) => a.rowids.length - b.rowids.length);
  return within(shortest?.rowids ?? new Int32Array(), range).filter(
    (position) => sets.every((set) => set.has(position)) && others.every((list) => hasPosition(list, position)),
  );
}

function keywordParts(keyword: string): KeywordPart[] {
  const parts = tokenize(keyword);
  const isWord = !parts.some((part) => isUnsegmentedAt(part, 0));
  return parts.map((text) => ({ text, isWord }));
}

/** Whether an email contains every word. Excludes most emails that only contain other forms of the words. */
function containsAll([, subject, body]: MailText, words: readonly KeywordPart[]): boolean {
  const { text } = foldText(`${subject}\n${body}`);
  return words.every((word) => (word.isWord ? containsWord(text, word.text) : text.includes(word.text)));
}

function containsWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const isStart = at === 0 || !isWordUnit(text.charCodeAt(at - 1));
    const end = at + word.length;
    if (isStart && (end === text.length || !isWordUnit(text.charCodeAt(end)))) return true;
  }
  return false;
}

/** Filters emails by exact words and returns their snippets. The in-memory index is created on first use. */
function openExactMatcher(): (mails: ReadonlyMap<number, MailText>, expression: string) => [number, string][] {
  let memory: { readonly [name in "begin" | "add" | "match" | "rollback"]: BetterSqlite3.Statement } | null = null;
  return (mails, expression) => {
    if (mails.size === 0) return [];
    memory ??= openMemoryIndex();
    memory.begin.run();
    try {
      for (const [position, [, subject, body]] of mails) memory.add.run(position, subject, body);
      return memory.match.all(expression) as [number, string][];
    } finally {
      memory.rollback.run();
    }
  };
}

function openMemoryIndex() {
  const db = new Database(":memory:");
  db.exec("CREATE VIRTUAL TABLE mail USING fts5(subject, body)");
  return {
    begin: db.prepare("BEGIN"),
    add: db.prepare("INSERT INTO mail (rowid, subject, body) VALUES (?, ?, ?)"),
    match: db
      .prepare(
        "SELECT rowid, snippet(mail, -1, '<b>', '</b>', ' ... ', 15) FROM mail WHERE mail MATCH ? ORDER BY rowid",
      )
      .raw(),
    rollback: db.prepare("ROLLBACK"),
  };
}
