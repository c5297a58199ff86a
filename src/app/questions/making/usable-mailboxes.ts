import { UserError } from "../../../domain/errors.js";
import type { Email } from "../../../domain/mail/email.js";
import type { MailHeading } from "../../../questions/generation/mail-batches.js";
import { usableMails } from "../../../questions/generation/usable-mail.js";
import { NamedCounts } from "../../../statistics/named-counts.js";
import type { Db } from "../../../store/connection/open-store.js";
import { listImportedInboxes } from "../../../store/import/owners.js";
import { type QuestionMailbox, requireInboxes } from "./question-mailbox.js";

/** One mailbox with what questions are made of. Bodies are read when they are needed: those of all take gigabytes. */
export interface UsableMailbox {
  readonly address: string;
  readonly usable: readonly MailHeading[];
  /** All mails of the mailbox, newest first. */
  readAll(): readonly Email[];
  read(mails: readonly MailHeading[]): readonly Email[];
}

export interface MailCounts {
  readonly all: number;
  readonly usable: number;
  /** By the reason. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** The addresses asked for, or all that are imported. Throws a UserError for unknown ones and where there is none. */
export function chooseInboxes(db: Db, asked: readonly string[]): readonly string[] {
  const inboxes = [...new Set(asked.map((inbox) => inbox.trim().toLowerCase()))];
  requireInboxes(db, inboxes);
  const all = inboxes.length > 0 ? inboxes : [...listImportedInboxes(db)].sort();
  if (all.length > 0) return all;
  throw new UserError("corpus_empty", `There is no mailbox in ${db.name}.`, "Import one first: art-e import SOURCE.");
}

/** Mailboxes with the mails that questions can be made of, and how many are left out for which reason. */
export function readMailboxes(opened: readonly QuestionMailbox[]): {
  readonly mailboxes: readonly UsableMailbox[];
  readonly mails: MailCounts;
} {
  const leftOut = new NamedCounts();
  const counts = { all: 0, usable: 0 };
  const mailboxes = opened.map((mailbox): UsableMailbox => {
    const all = mailbox.mails();
    const { usable, leftOut: reasons } = usableMails(all);
    leftOut.addAll(reasons);
    counts.all += all.length;
    counts.usable += usable.length;
    return {
      address: mailbox.address,
      usable: usable.map(({ messageId, subject, date }) => ({ messageId, subject, date })),
      readAll: () => mailbox.mails(),
      read: (mails) => mails.flatMap(({ messageId }) => mailbox.get(messageId)?.mail ?? []),
    };
  });
  return { mailboxes, mails: { ...counts, leftOut: leftOut.sorted() } };
}
