import type { ChatTrace } from "../../domain/runs/chat.js";
import { endOfDay } from "../../store/search/date-range.js";
import { findReadableMail, type Mailbox } from "../../tools/open-mailbox.js";

/** A mail that an answer names as its source; null where the mailbox has no such mail. */
export interface CitedMail {
  readonly messageId: string;
  readonly mail: { readonly subject: string; readonly sender: string; readonly date: string | null } | null;
}

/** The mails that an answer names, looked up as its agent could. */
export function citedMails({ sources, inbox, queryDate }: ChatTrace, mailbox: Mailbox): CitedMail[] {
  const context = {
    inbox,
    cutoff: queryDate === null ? null : endOfDay(queryDate),
    signal: new AbortController().signal,
  };
  return sources.map((messageId) => {
    const found = findReadableMail(messageId, context, mailbox);
    if (!found.ok) return { messageId, mail: null };
    const { subject, sender, date } = found.mail;
    return { messageId: found.mail.messageId, mail: { subject, sender, date } };
  });
}
