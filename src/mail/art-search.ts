import type BetterSqlite3 from "better-sqlite3";
import type { Db } from "../store/open-store.js";
import { Database } from "../store/sqlite.js";
import { SEARCH_SQL } from "./search.js";
import { openPostings } from "./search-postings.js";
import { allWordsExpression, type DateRange, openDateRanges } from "./search-query.js";

export interface ArtQuery {
  readonly keywords: readonly string[];
  /** Address ids: sender or recipient; sender; recipient. */
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

/** Mails in the first batch; each further one is twice as large, up to `MAX_BATCH`. */
const FIRST_BATCH = 20;
const MAX_BATCH = 500;

const ART_SQL = {
  table: "CREATE VIRTUAL TABLE mail USING fts5(subject, body)",
  add: "INSERT INTO mail (rowid, subject, body) VALUES (?, ?, ?)",
  match: "SELECT rowid, snippet(mail, -1, '<b>', '</b>', ' ... ', 15) FROM mail WHERE mail MATCH ? ORDER BY rowid",
  clear: "DELETE FROM mail",
} as const;

/**
 * ART's search: mail from or to the address with every keyword unstemmed, newest first. Our index holds stems, so it
 * yields a superset, which an in-memory index with ART's tokenizer (SQLite's default) filters and cuts snippets from.
 * Equal words have equal stems, so none is missed.
 */
export function openArtSearch(db: Db): (query: ArtQuery) => ArtHit[] {
  const dateRanges = openDateRanges(db);
  const postingsFor = openPostings(db);
  const selectText = db.prepare(SEARCH_SQL.ranked).raw();
  const selectMessageId = db.prepare(SEARCH_SQL.listed).raw();
  const matchExactly = openExactMatcher();
  return db.transaction(({ keywords, limit, period, ...parties }: ArtQuery) => {
    const words = allWordsExpression(keywords.map((keyword) => `"${keyword.replaceAll('"', " ")}"`).join(" "));
    if (words === null) return [];
    const expression = keywords.map((keyword) => `"${keyword.replaceAll('"', '""').replaceAll("\0", " ")}"`).join(" ");
    const range = dateRanges.positions(period);
    const postings = postingsFor({ ...parties, inboxId: null, range });
    const hits: ArtHit[] = [];
    let first = range.first;
    for (let look = FIRST_BATCH; hits.length < limit; look = Math.min(look * 2, MAX_BATCH)) {
      const positions = postings.newestMatching(words, { first, last: range.last }, look);
      const mails = positions.map(
        (position) => [position, selectText.get(postings.mailAt(position)) as [number, string, string]] as const,
      );
      for (const [position, snippet] of matchExactly(mails, expression)) {
        if (hits.length === limit) break;
        const [messageId] = selectMessageId.get(postings.mailAt(position)) as [string];
        hits.push({ messageId, snippet });
      }
      if (positions.length < look) break;
      first = (positions.at(-1) ?? range.last) + 1;
    }
    return hits;
  });
}

type Mail = readonly [position: number, mail: readonly [id: number, subject: string, body: string]];

/** Filters mails by the exact words and cuts their snippets. The in-memory index is created on first use. */
function openExactMatcher(): (mails: readonly Mail[], expression: string) => [number, string][] {
  let statements: { [name in "add" | "match" | "clear"]: BetterSqlite3.Statement } | null = null;
  return (mails, expression) => {
    if (mails.length === 0) return [];
    if (statements === null) {
      const memory = new Database(":memory:");
      memory.exec(ART_SQL.table);
      const { add, match, clear } = ART_SQL;
      statements = { add: memory.prepare(add), match: memory.prepare(match).raw(), clear: memory.prepare(clear) };
    }
    try {
      for (const [position, [, subject, body]] of mails) statements.add.run(position, subject, body);
      return statements.match.all(expression) as [number, string][];
    } finally {
      statements.clear.run();
    }
  };
}
