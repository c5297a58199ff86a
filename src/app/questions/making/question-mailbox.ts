import { UserError } from "../../../domain/errors.js";
import type { Email } from "../../../domain/mail/email.js";
import { didYouMean } from "../../../platform/nearest-names.js";
import type { Db } from "../../../store/connection/open-store.js";
import { listImportedInboxes } from "../../../store/import/owners.js";
import { openMailboxListing } from "../../../store/search/mailbox-listing.js";
import { type Mailbox, openMailbox } from "../../../tools/open-mailbox.js";
import { questionQuery } from "../../mailbox/question-query.js";

/** One mailbox, as questions about it are made and checked. */
export interface QuestionMailbox {
  readonly address: string;
  /** All its mails, newest first. */
  mails(): Email[];
  /** By any of its Message-IDs; null: no such mail in the corpus. */
  get(messageId: string): { readonly mail: Email; readonly isInInbox: boolean } | null;
  /** The best matches of a question among the mail up to its day. Copies are one mail. */
  bestMatches(question: string, day: string, limit: number): Email[];
  /** One id for all Message-IDs of a mail. */
  canonicalId(messageId: string): string;
}

/** Opens mailboxes of one database by their addresses. */
export function questionMailboxes(db: Db): (address: string) => QuestionMailbox {
  const mailbox = openMailbox(db);
  return (address) => openQuestionMailbox(db, mailbox, address);
}

function openQuestionMailbox(db: Db, { search, mails, addresses }: Mailbox, address: string): QuestionMailbox {
  const inboxId = addresses.idOf(address);
  const get: QuestionMailbox["get"] = (messageId) => {
    const mail = mails.get(messageId);
    if (mail === null) return null;
    return { mail, isInInbox: inboxId !== null && mails.isInInbox(mail.mailId, inboxId) };
  };
  const known = (ids: readonly string[]) => ids.flatMap((id) => mails.get(id) ?? []);
  return {
    address,
    get,
    mails: () =>
      known(
        openMailboxListing(db, address, null)
          .list(null, Number.MAX_SAFE_INTEGER)
          .map(({ messageId }) => messageId),
      ),
    bestMatches: (question, day, limit) =>
      known(
        search
          .bestFirst({
            ...questionQuery({ question, inbox_address: address, query_date: day }, addresses),
            limit,
          })
          .hits.map(({ messageId }) => messageId),
      ),
    canonicalId: (id) => mails.canonicalId(id),
  };
}

/** Refuses an address whose mailbox is not imported. */
export function requireInboxes(db: Db, inboxes: readonly string[]): void {
  const imported = listImportedInboxes(db);
  const missing = inboxes.find((inbox) => !imported.has(inbox));
  if (missing === undefined) return;
  throw new UserError(
    "inbox_missing",
    `The mailbox ${missing} is not imported.`,
    `${didYouMean(missing, imported)}Imported: ${[...imported].sort().slice(0, 8).join(", ") || "none"}.`,
  );
}
