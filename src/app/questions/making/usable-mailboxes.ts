import { UserError } from "../../../domain/errors.js";
import type { Email } from "../../../domain/mail/email.js";
import { usableMails } from "../../../questions/generation/usable-mail.js";
import { NamedCounts } from "../../../statistics/named-counts.js";
import type { Db } from "../../../store/connection/open-store.js";
import { listImportedInboxes } from "../../../store/import/owners.js";
import { type QuestionMailbox, requireInboxes } from "./question-mailbox.js";

/** The mails of one mailbox: those that questions are made of, and all. */
export interface UsableMailbox {
  readonly address: string;
  readonly usable: readonly Email[];
  readonly all: readonly Email[];
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
  const mailboxes = opened.map((mailbox) => {
    const all = mailbox.mails();
    const { usable, leftOut: reasons } = usableMails(all);
    leftOut.addAll(reasons);
    return { address: mailbox.address, usable, all };
  });
  const sum = (of: (mailbox: UsableMailbox) => number) => mailboxes.reduce((total, one) => total + of(one), 0);
  return {
    mailboxes,
    mails: {
      all: sum(({ all }) => all.length),
      usable: sum(({ usable }) => usable.length),
      leftOut: leftOut.sorted(),
    },
  };
}
