import type { Db } from "./open.js";
import { PARTY } from "./parties.js";
import type { Positions } from "./period.js";

/** Whose mail, and when it was sent. Ids are those of the address book; null leaves a side open. */
export interface MailFilter {
  readonly inboxId: number | null;
  readonly fromIds: readonly number[] | null;
  readonly toIds: readonly number[] | null;
  readonly range: Positions;
}

export interface Candidates {
  /** Positions of mails that match an expression on subject and body, newest first. */
  newest(words: string, filter: MailFilter, limit: number): number[];
  /** Mails in the mailbox, or in the whole file, whatever their date. */
  mailsIn(inboxId: number | null): number;
}

export const CANDIDATES_SQL = {
  newest: "SELECT rowid FROM emails_fts WHERE emails_fts MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?",
  inInbox: "SELECT count(*) FROM emails_fts WHERE emails_fts MATCH ?",
} as const;

/** Asks the index which mails match. Nothing is ranked there: bm25() reads every mail of the file that holds a word. */
export function openCandidates(db: Db): Candidates {
  const newest = db.prepare(CANDIDATES_SQL.newest).pluck();
  const inInbox = db.prepare(CANDIDATES_SQL.inInbox).pluck();
  const all = db.prepare("SELECT count(*) FROM mail_order").pluck();
  const state = db.prepare("SELECT fingerprint FROM corpus_state").pluck();
  let sizes = new Map<number | null, number>();
  let sizesOf: unknown;
  return {
    newest: (words, filter, limit) =>
      filter.range.first > filter.range.last
        ? []
        : (newest.all(expression(words, filter), filter.range.first, filter.range.last, limit) as number[]),
    mailsIn(inboxId) {
      // Another process may import while this one runs.
      const fingerprint = state.get();
      if (fingerprint !== sizesOf) {
        sizes = new Map();
        sizesOf = fingerprint;
      }
      let size = sizes.get(inboxId);
      if (size === undefined) {
        size = (inboxId === null ? all.get() : inInbox.get(`parties : ${PARTY.in(inboxId)}`)) as number;
        sizes.set(inboxId, size);
      }
      return size;
    },
  };
}

/** What begins like a token of `parties`, whatever the stemmer would take off its end. */
const LIKE_A_PARTY = /\b(?:in|from|to)\d/;

/** The words in subject or body, narrowed by who the mail has to do with. */
function expression(words: string, { inboxId, fromIds, toIds }: MailFilter): string {
  const filters: string[] = [];
  if (inboxId !== null) filters.push(PARTY.in(inboxId));
  if (fromIds !== null) filters.push(`(${fromIds.map(PARTY.from).join(" OR ")})`);
  if (toIds !== null) filters.push(`(${toIds.map(PARTY.to).join(" OR ")})`);
  // Looking which column a word stands in takes time; it is needed only where it might be taken for a token of `parties`.
  const text = LIKE_A_PARTY.test(words) ? `{subject body} : (${words})` : `(${words})`;
  return [...filters.map((filter) => `parties : ${filter}`), text].join(" AND ");
}
