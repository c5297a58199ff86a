// The kinds of tasks that ask for actions. Each makes one task from the emails of a mailbox, with a goal that follows
// from the emails by a rule that the task states. A task never depends on an opinion.
import { type Email, recipientsOf } from "../../mail/email.js";
import { plainSubject } from "../../mail/subject.js";
import { NO_GOAL } from "../../scoring/goal-match.js";
import type { Goal, OutgoingEmail, WantedEmail } from "../../tasks/mailbox-changes.js";

/** A mailbox on the day of a task. */
export interface ActionMailbox {
  readonly owner: string;
  /** The emails up to the end of that day, oldest first, without copies. */
  readonly emails: readonly DatedEmail[];
  /** A question that exactly one of the emails answers, or null if there is none. */
  readonly fact: Fact | null;
  /** Returns a number from 0 to `below` - 1. */
  readonly random: (below: number) => number;
}

export type DatedEmail = Email & { readonly date: string };

export interface Fact {
  readonly question: string;
  readonly answer: string;
  readonly messageId: string;
}

interface ActionDraft {
  readonly instruction: string;
  readonly goal: Goal;
  readonly drafts?: readonly OutgoingEmail[];
}

export type ActionKind = (mailbox: ActionMailbox) => ActionDraft | null;

/** A goal changes at most this many emails, so that a task needs a few searches and not hundreds. */
const MAX_EMAILS = 12;

/** The first emails with addresses are from 1971. */
const EMAIL_BEGAN = "1971";

const LABELS = [
  "Budget",
  "Follow up",
  "Important",
  "Later",
  "Legal",
  "Personal",
  "Project",
  "Reference",
  "Review",
  "Travel",
];
const FOLDERS = ["archive", "Clients", "Contracts", "Done", "Meetings", "Old mail", "Projects", "Reports"];
const PHRASES = [
  "I will call you on Monday",
  "Thank you, I have everything I need",
  "Please go ahead without me",
  "I cannot make it that day",
  "Let us talk about this next week",
  "That works for me",
];

export const ACTION_KINDS = {
  "label-sender": (mailbox) => {
    const found = senderMonth(mailbox);
    if (found === null) return null;
    const label = pick(LABELS, mailbox);
    return {
      instruction: `Label every email from ${found.sender} of ${found.month} with "${label}".`,
      goal: marking(found.emails, { labels: [label] }),
    };
  },

  "move-sender": (mailbox) => {
    const found = senderMonth(mailbox);
    if (found === null) return null;
    const folder = pick(FOLDERS, mailbox);
    return {
      instruction: `Move all emails that ${found.sender} sent in ${found.month} to the folder "${folder}".`,
      goal: marking(found.emails, { folder }),
    };
  },

  "move-conversation": (mailbox) => {
    const found = conversation(mailbox);
    if (found === null) return null;
    const folder = pick(FOLDERS, mailbox);
    return {
      instruction: `Move the conversation "${found.subject}" to the folder "${folder}": all emails with this subject, also those with Re: or Fw: before it.`,
      goal: marking(found.emails, { folder }),
    };
  },

  "flag-subject-word": (mailbox) => {
    const found = subjectWord(mailbox);
    if (found === null) return null;
    return {
      instruction: `Flag every email whose subject contains the word "${found.word}".`,
      goal: marking(found.emails, { flagged: true }),
    };
  },

  "unread-day": (mailbox) => {
    const received = mailbox.emails.filter((email) => isReceived(email, mailbox.owner));
    const found = group(received, mailbox, ({ date }) => date.slice(0, 10));
    if (found === null) return null;
    return {
      instruction: `Mark all emails that I received on ${dayText(found.key)} as unread. My own emails stay as they are.`,
      goal: marking(found.emails, { unread: true }),
    };
  },

  "label-domain": (mailbox) => {
    const others = mailbox.emails.filter(({ sender }) => sender !== mailbox.owner && sender.includes("@"));
    const found = group(others, mailbox, ({ sender, date }) => `${domainOf(sender)} ${date.slice(0, 7)}`);
    if (found === null) return null;
    const [domain = "", month = ""] = found.key.split(" ");
    const label = pick(LABELS, mailbox);
    return {
      instruction: `Label all emails of ${monthText(month)} whose sender has an address at ${domain} with "${label}".`,
      goal: marking(found.emails, { labels: [label] }),
    };
  },

  "label-recipient": (mailbox) => {
    const { owner } = mailbox;
    const own = mailbox.emails.filter(({ sender, to }) => sender === owner && to.length === 1 && to[0] !== owner);
    const found = group(own, mailbox, ({ to, date }) => `${to[0]} ${date.slice(0, 7)}`);
    if (found === null) return null;
    const [recipient = "", month = ""] = found.key.split(" ");
    const inMonth = mailbox.emails.filter(
      (email) => email.sender === owner && email.date.startsWith(month) && recipientsOf(email).includes(recipient),
    );
    if (inMonth.length > MAX_EMAILS) return null;
    const label = pick(LABELS, mailbox);
    return {
      instruction: `Label every email that I sent to ${recipient} in ${monthText(month)}, also as a copy, with "${label}".`,
      goal: marking(inMonth, { labels: [label] }),
    };
  },

  "flag-unanswered": (mailbox) => {
    const { owner } = mailbox;
    const received = mailbox.emails.filter((email) => isReceived(email, owner) && plainSubject(email.subject) !== "");
    const found = group(received, mailbox, ({ sender, date }) => `${sender} ${date.slice(0, 7)}`);
    if (found === null) return null;
    const unanswered = found.emails.filter((email) => !isAnswered(email, mailbox));
    const [sender = "", month = ""] = found.key.split(" ");
    const all = mailbox.emails.filter((email) => email.sender === sender && email.date.startsWith(month));
    // Every email of the sender must be one that the rule can decide.
    if (all.length !== found.emails.length || unanswered.length === 0) return null;
    return {
      instruction: `Flag every email that ${sender} sent me in ${monthText(month)} and that I have not answered. An email is answered if I later sent ${sender} an email with the same subject, with or without Re:.`,
      goal: marking(unanswered, { flagged: true }),
    };
  },

  "draft-fact": (mailbox) => {
    const { fact } = mailbox;
    const recipient = correspondent(mailbox);
    if (fact === null || recipient === null) return null;
    return {
      instruction: `Write a draft to ${recipient} that answers this question from my mail: ${fact.question} Do not send it.`,
      goal: writing({ drafts: [wanted([recipient], { facts: [fact.answer] })] }),
    };
  },

  "reply-fact": (mailbox) => {
    const { fact } = mailbox;
    const email = unambiguous(mailbox, ({ sender }) => sender !== mailbox.owner);
    if (fact === null || email === null || email.messageId === fact.messageId) return null;
    return {
      instruction: `Reply to the email ${named(email)} and answer this question in the reply: ${fact.question} Only ${email.sender} gets the reply. Send it.`,
      goal: writing({ sent: [wanted([email.sender], { reply_to: email.messageId, facts: [fact.answer] })] }),
    };
  },

  "forward-fact": (mailbox) => {
    const { fact } = mailbox;
    const recipient = correspondent(mailbox);
    if (fact === null || recipient === null) return null;
    return {
      instruction: `Forward the email that answers this question to ${recipient}: ${fact.question}`,
      goal: writing({ sent: [wanted([recipient], { forwards: fact.messageId })] }),
    };
  },

  "reply-all-but": (mailbox) => {
    const { owner } = mailbox;
    const email = unambiguous(mailbox, (one) => {
      const others = everyoneOn(one, owner);
      return one.sender !== owner && others.length >= 3 && others.length <= 8;
    });
    if (email === null) return null;
    const others = everyoneOn(email, owner);
    const left = pick(
      others.filter((address) => address !== email.sender),
      mailbox,
    );
    const phrase = pick(PHRASES, mailbox);
    return {
      instruction: `Answer everyone on the email ${named(email)} except ${left}, and write: "${phrase}". Send the answer.`,
      goal: writing({
        sent: [
          wanted(
            others.filter((address) => address !== left),
            { reply_to: email.messageId, facts: [phrase] },
          ),
        ],
      }),
    };
  },

  "discard-draft": (mailbox) => {
    const drafts = startDrafts(mailbox);
    if (drafts === null) return null;
    const [first] = drafts;
    return {
      instruction: `Discard my draft to ${first.to[0]} and keep the others.`,
      goal: { ...NO_GOAL, discarded: [first.message_id] },
      drafts: shuffledBy(drafts, mailbox),
    };
  },

  "send-draft": (mailbox) => {
    const drafts = startDrafts(mailbox);
    if (drafts === null) return null;
    const [first] = drafts;
    return {
      instruction: `Send the draft to ${first.to[0]} as it is. The other drafts stay.`,
      goal: writing({ sent: [{ ...wanted([...first.to], {}), message_id: first.message_id }] }),
      drafts: shuffledBy(drafts, mailbox),
    };
  },

  /** The condition is false in half of these tasks, so that an agent that always acts is wrong. */
  "only-if": (mailbox) => {
    const received = mailbox.emails.filter((email) => isReceived(email, mailbox.owner));
    const found = group(received, mailbox, ({ sender, date }) => `${sender} ${date.slice(0, 10)}`);
    const other = unambiguous(mailbox, ({ sender }) => sender !== mailbox.owner);
    if (found === null || other === null) return null;
    const [sender = "", day = ""] = found.key.split(" ");
    const isTrue = mailbox.random(2) === 0;
    const asked = isTrue ? day : pick(received, mailbox).date.slice(0, 10);
    const emails = mailbox.emails.filter((email) => email.sender === sender && email.date.startsWith(asked));
    if (emails.length > MAX_EMAILS || isTrue !== emails.length > 0) return null;
    const label = pick(LABELS, mailbox);
    const always = marking([other], { labels: [label] });
    return {
      instruction: `Label the email ${named(other)} with "${label}". If ${sender} wrote to me on ${dayText(asked)}, also flag the emails of that day from ${sender}. Otherwise do nothing else.`,
      goal: isTrue ? { ...always, emails: [...always.emails, ...marking(emails, { flagged: true }).emails] } : always,
    };
  },
} as const satisfies Record<string, ActionKind>;

export type ActionKindName = keyof typeof ACTION_KINDS;

function marking(emails: readonly DatedEmail[], marks: Omit<Goal["emails"][number], "message_ids">): Goal {
  return { ...NO_GOAL, emails: [{ message_ids: emails.map(({ messageId }) => messageId), ...marks }] };
}

function writing(emails: Partial<Pick<Goal, "drafts" | "sent">>): Goal {
  return { ...NO_GOAL, ...emails };
}

function wanted(
  recipients: readonly string[],
  { reply_to = null, forwards = null, facts = [] }: Partial<WantedEmail>,
): WantedEmail {
  return { recipients, reply_to, forwards, facts };
}

/** Returns the emails of one sender in one month. */
function senderMonth(mailbox: ActionMailbox) {
  const others = mailbox.emails.filter(({ sender }) => sender !== mailbox.owner && sender.includes("@"));
  const found = group(others, mailbox, ({ sender, date }) => `${sender} ${date.slice(0, 7)}`);
  if (found === null) return null;
  const [sender = "", month = ""] = found.key.split(" ");
  return { sender, month: monthText(month), emails: found.emails };
}

function conversation(mailbox: ActionMailbox) {
  const named = mailbox.emails.filter(({ subject }) => isClearSubject(plainSubject(subject)));
  const found = group(named, mailbox, ({ subject }) => plainSubject(subject).toLowerCase());
  if (found === null) return null;
  return { subject: plainSubject(found.emails[0]?.subject ?? ""), emails: found.emails };
}

function subjectWord(mailbox: ActionMailbox) {
  const words = (email: DatedEmail) => [...new Set(email.subject.toLowerCase().match(/[a-z]{5,}/g) ?? [])];
  const email = pick(mailbox.emails, mailbox);
  const candidates = email === undefined ? [] : words(email);
  if (candidates.length === 0) return null;
  const word = pick(candidates, mailbox);
  const isWord = new RegExp(`(?<![\\p{L}\\p{N}])${word}(?![\\p{L}\\p{N}])`, "iu");
  const emails = mailbox.emails.filter(({ subject }) => isWord.test(subject));
  return emails.length >= 2 && emails.length <= MAX_EMAILS ? { word, emails } : null;
}

/** Returns a random group of 1 to `MAX_EMAILS` emails with the same key. Wrong dates, such as the year 1, form none. */
function group(emails: readonly DatedEmail[], mailbox: ActionMailbox, keyOf: (email: DatedEmail) => string) {
  const one = pick(emails, mailbox);
  if (one === undefined || one.date < EMAIL_BEGAN) return null;
  const key = keyOf(one);
  const members = emails.filter((email) => keyOf(email) === key);
  return members.length <= MAX_EMAILS ? { key, emails: members } : null;
}

/** Returns an email that its sender, its subject and its day identify. */
function unambiguous(mailbox: ActionMailbox, isWanted: (email: DatedEmail) => boolean): DatedEmail | null {
  const candidates = mailbox.emails.filter((email) => isClearSubject(email.subject) && isWanted(email));
  const email = pick(candidates, mailbox);
  if (email === undefined) return null;
  const name = named(email).toLowerCase();
  return mailbox.emails.filter((other) => named(other).toLowerCase() === name).length === 1 ? email : null;
}

function named({ subject, sender, date }: DatedEmail): string {
  return `"${subject.trim()}" from ${sender} of ${dayText(date.slice(0, 10))}`;
}

function isClearSubject(subject: string): boolean {
  return /^[^"\n]{5,80}$/.test(subject.trim()) && /\p{L}{3}/u.test(subject);
}

/** Returns drafts to three people. Nobody else gets one of them. */
function startDrafts(mailbox: ActionMailbox): readonly [OutgoingEmail, OutgoingEmail, OutgoingEmail] | null {
  const recipients = new Set<string>();
  for (let i = 0; i < 12 && recipients.size < 3; i++) recipients.add(correspondent(mailbox) ?? "");
  recipients.delete("");
  const [a, b, c] = [...recipients].map((to, i): OutgoingEmail => {
    const body = `${pick(PHRASES, mailbox)}.`;
    const empty = { cc: [], bcc: [], reply_to: null, forwards: null };
    return { message_id: `<draft.${i + 1}@art-e.invalid>`, to: [to], subject: pick(LABELS, mailbox), body, ...empty };
  });
  return a === undefined || b === undefined || c === undefined ? null : [a, b, c];
}

function shuffledBy<T>(items: readonly T[], { random }: ActionMailbox): T[] {
  const start = random(items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}

/** Returns somebody who wrote to the owner. */
function correspondent({ emails, owner, random }: ActionMailbox): string | null {
  const senders = [...new Set(emails.map(({ sender }) => sender))].filter(
    (sender) => sender !== owner && /^[^\s@]+@[^\s@]+$/.test(sender),
  );
  return senders[random(Math.max(1, senders.length))] ?? null;
}

function everyoneOn(email: DatedEmail, owner: string): string[] {
  return [...new Set([email.sender, ...recipientsOf(email)])].filter((address) => address !== owner);
}

function isReceived(email: DatedEmail, owner: string): boolean {
  return email.sender !== owner && recipientsOf(email).includes(owner);
}

function isAnswered({ subject, sender, date }: DatedEmail, { emails, owner }: ActionMailbox): boolean {
  const plain = plainSubject(subject).toLowerCase();
  return emails.some(
    (email) =>
      email.sender === owner &&
      email.date > date &&
      recipientsOf(email).includes(sender) &&
      plainSubject(email.subject).toLowerCase() === plain,
  );
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1);
}

function pick<T>(items: readonly T[], { random }: ActionMailbox): T {
  return items[random(Math.max(1, items.length))] as T;
}

/** Formats `2001-03-14` as `14 March 2001`, in UTC like all dates of tasks. */
function dayText(day: string): string {
  return `${Number(day.slice(8))} ${monthText(day)}`;
}

function monthText(month: string): string {
  const date = new Date(`${month.slice(0, 7)}-01T00:00:00Z`);
  return date.toLocaleDateString("en-US", { month: "long", year: "numeric", timeZone: "UTC" });
}
