// Threads: the emails of one conversation. Imports assign them (threads/assign-threads).
import type { Db } from "../store/open-store.js";
import { openMailLookup, type StoredMail } from "./mail-lookup.js";

export type ThreadMail = Omit<StoredMail, "body">;

export interface Threads {
  /**
   * Returns the id of the email's thread, or null if it is the only email in its thread. Agents must not see it: it is
   * null until a later email continues the thread.
   */
  idOf(mailId: number): number | null;
  /**
   * Returns the emails in the email's thread, oldest first and including the email itself, that are in a mailbox and
   * were sent before the cutoff (ISO 8601, exclusive). It is the rule of `MailLookup.isVisible`.
   */
  visible(mailId: number, inboxId: number | "all", cutoff: string | null): readonly ThreadMail[];
}

export const THREAD_SQL = {
  "thread of an email": "SELECT thread_id FROM mail_threads WHERE mail_id = ?",
  "emails of a thread": `SELECT (SELECT min(message_id) FROM messages x WHERE x.mail_id = o.mail_id) AS messageId
FROM mail_threads t JOIN mail_order o ON o.mail_id = t.mail_id WHERE t.thread_id = ?
ORDER BY o.date IS NULL, o.position DESC`,
  "message of an email": "SELECT min(message_id) FROM messages WHERE mail_id = ?",
} as const;

export function openThreads(db: Db): Threads {
  const threadOf = db.prepare(THREAD_SQL["thread of an email"]).pluck();
  const messageIdsIn = db.prepare(THREAD_SQL["emails of a thread"]).pluck();
  const messageIdOf = db.prepare(THREAD_SQL["message of an email"]).pluck();
  const mails = openMailLookup(db);

  function visibleMails(mailId: number, inboxId: number | "all", cutoff: string | null): StoredMail[] {
    const threadId = threadOf.get(mailId) as number | undefined;
    const ids = threadId === undefined ? [messageIdOf.get(mailId)] : messageIdsIn.all(threadId);
    return ids.flatMap((id) => {
      const mail = typeof id === "string" ? mails.get(id) : null;
      return mail !== null && mails.isVisible(mail, inboxId, cutoff) ? [mail] : [];
    });
  }

  return {
    idOf: (mailId) => (threadOf.get(mailId) as number | undefined) ?? null,
    visible: (...of) => visibleMails(...of).map(({ body: _, ...mail }) => mail),
  };
}
