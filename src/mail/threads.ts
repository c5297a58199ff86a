// Threads: the emails of one conversation, and those that answer an email. Imports assign them: threads/assign-threads.
import type { Db } from "../store/open-store.js";
import { openAddressBook } from "./address-book.js";
import { ownText } from "./email.js";
import { openMailLookup, type StoredMail } from "./mail-lookup.js";
import { beginningOf, repeatsText } from "./threads/repeated-text.js";
import { subjectKey } from "./threads/subject-key.js";

export type ThreadMail = Omit<StoredMail, "body">;

interface Reply extends ThreadMail {
  /** Whether it quotes the answered email's own text. */
  readonly quotes: boolean;
}

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
  /**
   * Returns the visible emails that answer an email, oldest first. An answer is a later email in the thread, sent from
   * another address with the email in its mailbox. It is addressed to the email's sender, or it quotes the email
   * without forwarding it.
   */
  repliesTo(mailId: number, inboxId: number | "all", cutoff: string | null): readonly Reply[];
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
  const addresses = openAddressBook(db);

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
    repliesTo(mailId, inboxId, cutoff) {
      // The email itself need not be in the mailbox that is searched for answers.
      const all = visibleMails(mailId, "all", null);
      const answered = all.find((mail) => mail.mailId === mailId);
      if (answered === undefined) return [];
      const beginning = beginningOf(ownText(answered.body));
      const later = all.slice(all.indexOf(answered) + 1);
      return later.flatMap(({ body, ...mail }) => {
        if (mail.sender === answered.sender || !mails.isVisible(mail, inboxId, cutoff)) return [];
        const senderId = addresses.idOf(mail.sender);
        if (senderId === null || !mails.isInInbox(mailId, senderId)) return [];
        const quotes = beginning !== null && repeatsText(body, beginning);
        const isAddressed = [...mail.to, ...mail.cc, ...mail.bcc].includes(answered.sender);
        return isAddressed || (quotes && !subjectKey(mail.subject).isForwarded) ? [{ ...mail, quotes }] : [];
      });
    },
  };
}
