import { openDateRanges } from "../../../src/mail/date-range.js";
import { contentTokens, queryTokens, termExpression } from "../../../src/mail/fts5-query.js";
import type { MailQuery } from "../../../src/mail/search.js";
import type { Db } from "../../../src/store/open-store.js";

const DAY_MS = 86_400_000;

interface PlainBm25Options {
  /** Multiplies a score by up to 1.4 for emails shortly before the question. */
  readonly recency?: boolean;
  readonly stopWords?: boolean;
  readonly limit: number;
}

/** FTS5's own bm25 over any word of a query in one mailbox. Returns the Message-IDs of the best emails. */
export function openPlainBm25(
  db: Db,
  { recency = false, stopWords = true, limit }: PlainBm25Options,
): (query: MailQuery) => string[] {
  const tokensOf = stopWords ? queryTokens : contentTokens;
  const dateRanges = openDateRanges(db);
  const scored = db.prepare(
    `SELECT (SELECT min(message_id) FROM messages WHERE mail_id = o.mail_id) AS messageId, o.date,
            -bm25(emails_fts) AS score
     FROM emails_fts JOIN mail_order o ON o.position = emails_fts.rowid
     WHERE emails_fts MATCH ? AND emails_fts.rowid BETWEEN ? AND ?
       AND o.position IN (SELECT position FROM mailboxes WHERE address_id = ?) ORDER BY emails_fts.rowid`,
  );
  return ({ words, inboxId, period, askedAt }) => {
    const { first, last } = dateRanges.positions(period);
    const any = tokensOf(words).map(termExpression).join(" OR ");
    const prior = (date: string | null) =>
      recency && askedAt !== null && date !== null
        ? 1 + 0.4 * Math.exp(-(Date.parse(askedAt) - Date.parse(date)) / DAY_MS / 120)
        : 1;
    return (scored.all(any, first, last, inboxId) as { messageId: string; date: string | null; score: number }[])
      .map(({ messageId, date, score }) => ({ messageId, score: score * prior(date) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, limit)
      .map(({ messageId }) => messageId);
  };
}
