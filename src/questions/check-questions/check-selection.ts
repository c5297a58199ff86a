// Checks a task about the future of a mailbox: its right emails are open on its day, and nothing that an agent can read
// contains the later emails that prove it.
import { endOfDay } from "../../mail/date-range.js";
import { firstReadable, type MailboxEmail } from "../../mail/mailbox-history.js";
import type { SelectionTask } from "../../tasks/question.js";
import { addDays } from "../../text/utc-day.js";
import { longestSharedPhrase, PHRASE_WORDS } from "../make-questions/usable-mail.js";
import type { QuestionCheck } from "../provenance.js";

/** Returns the check of tasks about one mailbox, whose emails are in the order of their dates. */
export function selectionChecker(emails: readonly MailboxEmail[]): (task: SelectionTask) => QuestionCheck {
  const byId = new Map(emails.flatMap((email) => email.ids.map((id) => [id, email] as const)));
  const readableFrom = firstReadable(emails);

  function problem({ question, query_date, select }: SelectionTask): string | null {
    const end = endOfDay(query_date);
    const last = endOfDay(addDays(query_date, select.reply_days));
    for (const { message_ids, evidence } of select.emails) {
      const absent = [...message_ids, ...evidence].find((id) => !byId.has(id));
      if (absent !== undefined) return `${absent} is not in the mailbox, or has no date`;
      const outside = message_ids.find((id) => !isBetween(byId.get(id), select.from, end));
      if (outside !== undefined) return `${outside} is not in the window of the task`;
      for (const id of evidence) {
        const later = byId.get(id) as MailboxEmail;
        if (!isBetween(later, end, last)) return `${id} is not later than the task, or too late`;
        if (readableFrom(later) < end) return `an agent can read the text of ${id} in an earlier email`;
        if (longestSharedPhrase(question, later.body) >= PHRASE_WORDS) return `the question repeats the text of ${id}`;
      }
    }
    return null;
  }

  return (task) => {
    const reason = problem(task);
    return { check: "gold", by: "rules", passed: reason === null, answer: null, reason: reason ?? "consistent" };
  };
}

function isBetween(email: MailboxEmail | undefined, first: string, end: string): boolean {
  return email !== undefined && email.date >= first && email.date < end;
}
