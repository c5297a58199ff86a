import { openDateRanges } from "../../src/mail/date-range.js";
import { termExpression, tokenize } from "../../src/mail/fts5-query.js";
import type { MailQuery } from "../../src/mail/search.js";
import type { Db } from "../../src/store/open-store.js";

const DAY_MS = 86_400_000;

/** The usual short list. art-e's longer list belongs to the search that is measured. */
const STOP_WORDS = new Set(
  `a about an and are as at be by did do does for from had has have how i in is it its of on or s t that the this to was
  were what when where which who will with`.split(/\s+/),
);

interface PlainBm25Options {
  /** Multiplies a score by up to 1.4 for emails shortly before the question. */
  readonly recency?: boolean;
  readonly stopWords?: boolean;
  readonly limit: number;
}

/**
 * FTS5's own bm25 over any word of a query in one mailbox. A repeated word counts twice. Returns the Message-IDs of the
 * best emails.
 */
export function openPlainBm25(
  db: Db,
  { recency = false, stopWords = true, limit }: PlainBm25Options,
): (query: MailQuery) => string[] {
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
    const typed = tokenize(words).filter((word) => stopWords || !STOP_WORDS.has(word));
    if (typed.length === 0) return [];
    const any = typed.map(termExpression).join(" OR ");
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
