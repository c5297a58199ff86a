// The rules for open emails: which emails of a mailbox nobody has answered by a day, and which later email answers one.
// They see one list of emails and no database.
import { groupBy } from "../platform/group-by.js";
import type { MadeKind } from "../tasks/selection.js";
import { counted } from "../text/format.js";
import { addDays } from "../text/utc-day.js";
import { endOfDay } from "./date-range.js";
import { ownText, recipientsOf } from "./email.js";
import { isAnswer, type MailboxEmail } from "./mailbox-history.js";
import { isNewsletter } from "./newsletters.js";

/** An email that nobody has answered by a day. */
interface OpenEmail {
  readonly email: MailboxEmail;
  /** The later email that answers it, or null if there is none until the end of the period. */
  readonly answer: MailboxEmail | null;
}

/** The emails of a window, and the period after it in which evidence counts. */
export interface TaskDay {
  readonly day: string;
  readonly windowDays: number;
  readonly replyDays: number;
}

/** Maximum number of open emails in a task. */
export const MAX_OPEN = 50;

/** Days that `kind` looks back, and days in which the evidence counts. */
export const SELECTION_PERIODS: Readonly<Record<MadeKind, Pick<TaskDay, "windowDays" | "replyDays">>> = {
  "needs-reply": { windowDays: 7, replyDays: 7 },
  "waiting-for": { windowDays: 14, replyDays: 14 },
};

/** Decides for each email of one mailbox whether it is open on a day, and what closes it. */
export class OpenEmails {
  private readonly threads: ReadonlyMap<number, readonly MailboxEmail[]>;
  private readonly candidates = new Map<MadeKind, readonly MailboxEmail[]>();

  /** @param emails of the mailbox, oldest first */
  constructor(
    private readonly owner: string,
    private readonly emails: readonly MailboxEmail[],
  ) {
    this.threads = groupBy(emails, ({ threadId }) => threadId);
  }

  /** Returns the emails of the window that are open at the end of the day, oldest first. */
  open(kind: MadeKind, { day, windowDays, replyDays }: TaskDay): readonly OpenEmail[] {
    const from = addDays(day, 1 - windowDays);
    const end = endOfDay(day);
    const last = endOfDay(addDays(day, replyDays));
    return this.candidatesFor(kind).flatMap((email) => {
      if (email.date < from || email.date >= end) return [];
      const later = this.laterThan(email);
      // An email is no longer open if its sender wrote again in the thread: the newer email is the open one.
      const isClosed = later.some((each) => each.date < end && (isAnswer(each, email) || continues(each, email)));
      if (isClosed) return [];
      const answer = later.find((each) => {
        const isByOwner = kind !== "needs-reply" || each.sender === this.owner;
        return each.date >= end && each.date < last && isByOwner && isAnswer(each, email);
      });
      return [{ email, answer: answer ?? null }];
    });
  }

  private laterThan(email: MailboxEmail): readonly MailboxEmail[] {
    const thread = this.threads.get(email.threadId) ?? [];
    return thread.slice(thread.indexOf(email) + 1);
  }

  private candidatesFor(kind: MadeKind): readonly MailboxEmail[] {
    const known = this.candidates.get(kind);
    if (known !== undefined) return known;
    const { owner } = this;
    const isCandidate = (email: MailboxEmail) =>
      !isNewsletter(email) &&
      (kind === "needs-reply"
        ? email.sender !== owner && recipientsOf(email).includes(owner)
        : email.sender === owner && recipientsOf(email).some((address) => address !== owner) && asksSomething(email));
    const candidates = this.emails.filter(isCandidate);
    this.candidates.set(kind, candidates);
    return candidates;
  }
}

/** Whether the sender of an email writes again, with a new text, to somebody who received it. */
function continues(later: MailboxEmail, email: MailboxEmail): boolean {
  if (later.sender !== email.sender || later.date <= email.date) return false;
  if (ownText(later.body) === ownText(email.body)) return false;
  const recipients = recipientsOf(email);
  return recipientsOf(later).some((address) => address !== email.sender && recipients.includes(address));
}

const REQUEST =
  /\b(?:please|could you|can you|would you|will you|let me know|let us know|do you|are you|have you|did you|i need|we need|need you to)\b/i;

/** A question mark behind a word. Tables contain others, such as `N?S` and `???/MPCO`. */
const QUESTION_MARK = /\?(?![?\p{L}\p{N}/])/u;

/** Whether the sender's own text asks for something, with a question mark outside of a URL or words of a request. */
export function asksSomething(email: Pick<MailboxEmail, "body">): boolean {
  return requestIn(email) !== null;
}

function requestIn({ body }: Pick<MailboxEmail, "body">): "question" | "request" | null {
  const text = ownText(body).replace(/https?:\S+/g, "");
  if (QUESTION_MARK.test(text)) return "question";
  return REQUEST.test(text) ? "request" : null;
}

/**
 * Returns why an open email is listed, in words, without what all of a kind share: nobody has answered them, and they
 * are not newsletters or notices.
 */
export function reasonsToList(kind: MadeKind, owner: string, email: MailboxEmail): readonly string[] {
  const request = requestIn(email);
  return [
    kind === "needs-reply" ? addressing(owner, email) : sending(owner, email),
    ...(request === null ? [] : [request === "question" ? "asks a question" : "contains a request"]),
  ];
}

function addressing(owner: string, email: MailboxEmail): string {
  const others = recipientsWithout(owner, email).length;
  const field = email.to.includes(owner) ? "addressed" : email.cc.includes(owner) ? "copied (Cc)" : "copied (Bcc)";
  return others === 0 ? `${field} to you alone` : `${field} to you and ${counted(others, "other")}`;
}

function sending(owner: string, email: MailboxEmail): string {
  const [first, ...others] = recipientsWithout(owner, email);
  return others.length === 0 ? `sent to ${first} alone` : `sent to ${first} and ${counted(others.length, "other")}`;
}

function recipientsWithout(owner: string, email: MailboxEmail): readonly string[] {
  return [...new Set(recipientsOf(email))].filter((address) => address !== owner);
}
