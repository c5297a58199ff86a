import type { MailQuery } from "../../../src/mail/search.js";
import { openDateRanges, PARTY, queryTokens, termExpression } from "../../../src/mail/search-query.js";
import type { Db } from "../../../src/store/open-store.js";

/** FTS5's own bm25 over any word of a query in one mailbox, stop words included: the Message-IDs of the best ten. */
export function openPlainBm25(db: Db): (query: MailQuery) => string[] {
  const dateRanges = openDateRanges(db);
  const best = db
    .prepare(
      `SELECT (SELECT min(message_id) FROM messages WHERE mail_id = o.mail_id)
       FROM emails_fts JOIN mail_order o ON o.position = emails_fts.rowid
       WHERE emails_fts MATCH ? AND emails_fts.rowid BETWEEN ? AND ?
       ORDER BY bm25(emails_fts, 1.0, 1.0, 0.0, 1.0) LIMIT 10`,
    )
    .pluck();
  return ({ words, inboxId, period }) => {
    const { first, last } = dateRanges.positions(period);
    const any = queryTokens(words).map(termExpression).join(" OR ");
    return best.all(`parties : ${PARTY.in(inboxId ?? 0)} AND {subject body} : (${any})`, first, last) as string[];
  };
}
