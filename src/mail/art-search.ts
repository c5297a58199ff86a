import type BetterSqlite3 from "better-sqlite3";
import type { Db } from "../store/open-store.js";
import { Database } from "../store/sqlite.js";
import { foldText } from "../text/tokenizer.js";
import { type DateRange, openDateRanges } from "./date-range.js";
import { allWordsExpression, tokenize } from "./fts5-query.js";
import type { PositionSet } from "./mailbox-positions.js";
import { openSearchIndex } from "./search/postings.js";
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

/**
 * ART's search returns mail from or to an address that contains every keyword unstemmed, newest first. Our index
 * contains stems, so it yields a superset. An in-memory index with ART's tokenizer (SQLite's default) filters the
 * superset and provides the snippets. Equal words have equal stems, so every match is found.
 */
export function openArtSearch(db: Db): (query: ArtQuery) => ArtHit[] {
  const dateRanges = openDateRanges(db);
  const indexNow = openSearchIndex(db);
  const selectText = db.prepare(SEARCH_SQL.hit).raw();
  const selectMessageId = db.prepare(SEARCH_SQL.messageId).pluck();
  const matchExactly = openExactMatcher();
  return db.transaction(({ keywords, limit, period, namedId, fromIds, toIds }: ArtQuery) => {
    const words = allWordsExpression(keywords.map((keyword) => `"${keyword.replaceAll('"', " ")}"`).join(" "));
    if (words === null) return [];
    const expression = keywords.map((keyword) => `"${keyword.replaceAll('"', '""').replaceAll("\0", " ")}"`).join(" ");
    const written = keywords.flatMap(tokenize);
    const { mail, matching } = indexNow();
    const filters = [
      mail.withParty([namedId], "either"),
      ...(fromIds === null ? [] : [mail.withParty(fromIds, "sender")]),
      ...(toIds === null ? [] : [mail.withParty(toIds, "recipient")]),
    ];
    const { first, last } = dateRanges.positions(period);
    const hits: ArtHit[] = [];
    for (let from = first, look = FIRST_BATCH; hits.length < limit; look *= 2) {
      const positions = takeMembers(matching(words, { first: from, last }), filters, look);
      const mails = positions
        .map((position) => [position, selectText.get(position) as MailText] as const)
        .filter(([, [, subject, body]]) => containsAll(subject, body, written));
      const mailIds = new Map(mails.map(([position, [mailId]]) => [position, mailId]));
      for (const [position, snippet] of matchExactly(mails, expression).slice(0, limit - hits.length)) {
        hits.push({ messageId: selectMessageId.get(mailIds.get(position)) as string, snippet });
      }
      if (positions.length < look) break;
      from = (positions.at(-1) ?? last) + 1;
    }
    return hits;
  });
}

/** Number of emails in the first batch. Each further batch is twice as large. */
const FIRST_BATCH = 10;

type MailText = readonly [mailId: number, subject: string, body: string];

/** Returns the first `count` positions that pass all filters. No other statement can run during an iteration. */
function takeMembers(positions: Iterable<number>, filters: readonly PositionSet[], count: number): number[] {
  const members: number[] = [];
  for (const position of positions) {
    if (filters.some((filter) => !filter.has(position))) continue;
    members.push(position);
    if (members.length === count) break;
  }
  return members;
}

/**
 * Whether the text contains every word. This fast check excludes most emails that only contain other forms of the
 * words.
 */
function containsAll(subject: string, body: string, words: readonly string[]): boolean {
  const text = foldText(`${subject}\n${body}`).text;
  return words.every((word) => text.includes(word));
}

type PositionedMail = readonly [position: number, mail: MailText];

/** Filters emails by exact words and returns their snippets. The in-memory index is created on first use. */
function openExactMatcher(): (mails: readonly PositionedMail[], expression: string) => [number, string][] {
  let memory: { readonly [name in "begin" | "add" | "match" | "rollback"]: BetterSqlite3.Statement } | null = null;
  return (mails, expression) => {
    if (mails.length === 0) return [];
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
