import { type Email, ownText } from "../mail/email.js";
import { listImportedInboxes } from "../mail/import-owners.js";
import { openMailboxListing, questionQuery } from "../mail/mail-lookup.js";
import { contentWords, stemsOf, wordsOf } from "../models/answer-passage.js";
import { commandLine, didYouMean } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { NamedCounts } from "../statistics/intervals.js";
import type { Db } from "../store/open-store.js";
import { type Mailbox, openMailbox } from "../tools/mailbox.js";
import { shuffled } from "./dataset.js";
import type { MailHeading, QuestionDraft } from "./draft-by-model.js";

/**
 * Drafts in an order in which any first part of them is spread over mailboxes, kinds, months and senders: each next
 * one is of those that had the least so far. Of equal ones a shuffle by `seed` decides.
 */
export function* stratifiedOrder(drafts: readonly QuestionDraft[], seed: number): Generator<QuestionDraft> {
  const rest = shuffled(drafts, seed).map((draft) => ({ draft, groups: groupsOf(draft) }));
  const used = new Map<string, number>();
  while (rest.length > 0) {
    let best = 0;
    let fewest = Number.POSITIVE_INFINITY;
    for (const [i, { groups }] of rest.entries()) {
      const uses = groups.reduce((sum, group) => sum + (used.get(group) ?? 0), 0);
      if (uses >= fewest) continue;
      fewest = uses;
      best = i;
    }
    const [next] = rest.splice(best, 1);
    if (next === undefined) return;
    for (const group of next.groups) used.set(group, (used.get(group) ?? 0) + 1);
    yield next.draft;
  }
}

function groupsOf({ inbox, kind, sender, sources }: QuestionDraft): string[] {
  return [`inbox ${inbox}`, `kind ${kind}`, `sender ${sender}`, `month ${sources[0]?.date.slice(0, 7)}`];
}

/** So many content words of the question in a row in the mail are a phrase of it. */
export const PHRASE_WORDS = 4;

/** The most content words of `question` that stand in `text` in the same order with no other content word between. */
export function longestSharedPhrase(question: string, text: string): number {
  const asked = sequence(question);
  const written = sequence(text);
  let longest = 0;
  let former = new Uint16Array(written.length + 1);
  for (const word of asked) {
    const lengths = new Uint16Array(written.length + 1);
    for (const [i, other] of written.entries()) {
      if (other !== word) continue;
      const length = (former[i] ?? 0) + 1;
      lengths[i + 1] = length;
      longest = Math.max(longest, length);
    }
    former = lengths;
  }
  return longest;
}

function sequence(text: string): string[] {
  const content = new Set(contentWords(text).map((word) => word.toLowerCase()));
  return wordsOf(text.toLowerCase()).filter((word) => content.has(word));
}

/** Of the stems of two questions, the share in common from which they ask the same. */
const SAME_QUESTION = 0.8;

interface AskedQuestion {
  readonly inbox: string;
  readonly question: string;
}

/** Remembers the questions of a mailbox. `add` is false, and adds nothing, where one like it is there already. */
export class NearDuplicates {
  private readonly byInbox = new Map<string, Set<string>[]>();

  has({ inbox, question }: AskedQuestion): boolean {
    const stems = stemsOf(question);
    return (this.byInbox.get(inbox) ?? []).some((other) => jaccard(stems, other) >= SAME_QUESTION);
  }

  add(asked: AskedQuestion): boolean {
    if (this.has(asked)) return false;
    this.byInbox.set(asked.inbox, [...(this.byInbox.get(asked.inbox) ?? []), stemsOf(asked.question)]);
    return true;
  }
}

function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const stem of a) if (b.has(stem)) common++;
  const all = a.size + b.size - common;
  return all === 0 ? 1 : common / all;
}

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
  throw new UserError(
    "corpus_empty",
    `There is no mailbox in ${db.name}.`,
    `Import one first: ${commandLine`art-e import SOURCE`}`,
  );
}

/** Mailboxes with the mails that questions can be made of, and how many are left out for which reason. */
export function readMailboxes(
  opened: readonly QuestionMailbox[],
  minChars: number,
): {
  readonly mailboxes: readonly UsableMailbox[];
  readonly mails: MailCounts;
} {
  const leftOut = new NamedCounts();
  const counts = { all: 0, usable: 0 };
  const mailboxes = opened.map((mailbox): UsableMailbox => {
    const all = mailbox.mails();
    const { usable, leftOut: reasons } = usableMails(all, minChars);
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

/** Why no question is made of a mail. */
type UnusableReason = "no date" | "too short" | "too long" | "newsletter or notice" | "copy";

/** As in ART: longer mails are reports and lists. Characters of the body. */
const MAX_CHARS = 5_000;

/** A character of these scripts is about a word, or half of one. */
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;
const LETTERS_PER_DENSE = 4;

/** How many characters a text would have in Latin letters, about. */
function lettersIn(text: string, atLeast: number): number {
  if (text.length >= atLeast) return text.length;
  return text.length + (LETTERS_PER_DENSE - 1) * (text.match(DENSE)?.length ?? 0);
}

/** More recipients are a list. */
const MAX_RECIPIENTS = 25;

const LIST_SENDER =
  /^(no[-._]?reply|no[-._]?address|do-?not-?reply|news(letter)?|listserv|majordomo|mailer-daemon|postmaster|announce\w*|alerts?|subscri\w+|info|promo\w*|deals|offers|updates?)\b|\b(newsletter|mailing-?list|bounce)|(^|[._-])(announcements?|admin|administrator|mailsweeper|notifications?)([._-]|@)/i;

/** Everyone in a company or at a site. */
const MASS_RECIPIENT = /(^|[._-])(all|everyone)([._-]|@)/i;

const LIST_TEXT =
  /\bunsubscribe\b|\bto\s+be\s+removed\s+from\b|\bto\s+remove\s+your\b|\bclick\s+here\b|\bopt[-\s]out\b|\bthis\s+(e-?mail|message)\s+was\s+sent\s+to\b|\byou\s+are\s+receiving\s+this\b|\bdo\s+not\s+reply\b|\b(automatically|computer)[-\s]generated\b|\bno\s+longer\s+wish\s+to\s+receive\b|\bview\s+this\s+(e-?mail|message)\s+(in|as)\b/i;

/**
 * The mails of which questions are made, and how many are left out for which reason. A copy is an email whose own text
 * repeats that of an earlier email of the same sender. If its own text is too short to tell, as in a forwarded email,
 * the entire body counts.
 */
export function usableMails<T extends Email>(
  mails: readonly T[],
  minChars: number,
): { readonly usable: readonly T[]; readonly leftOut: Readonly<Record<string, number>> } {
  const seen = new Set<string>();
  const leftOut = new NamedCounts();
  const usable = mails.filter((mail) => {
    const reason = unusableReason(mail, seen, minChars);
    if (reason !== null) leftOut.add(reason);
    return reason === null;
  });
  return { usable, leftOut: leftOut.counts };
}

function unusableReason(mail: Email, seen: Set<string>, minChars: number): UnusableReason | null {
  if (mail.date === null) return "no date";
  if (mail.body.length > MAX_CHARS) return "too long";
  if (lettersIn(mail.body, minChars) < minChars) return "too short";
  if (isNewsletter(mail)) return "newsletter or notice";
  const own = ownText(mail.body);
  const compared = lettersIn(own, minChars) < minChars ? mail.body : own;
  const key = `${mail.sender}\n${compared.replace(/\s+/g, " ")}`;
  if (seen.has(key)) return "copy";
  seen.add(key);
  return null;
}

function isNewsletter({ sender, to, cc, bcc, body }: Email): boolean {
  const recipients = [...to, ...cc, ...bcc];
  return (
    recipients.length > MAX_RECIPIENTS ||
    recipients.some((address) => MASS_RECIPIENT.test(address)) ||
    LIST_SENDER.test(sender) ||
    LIST_TEXT.test(body)
  );
}

export interface QuestionMailbox {
  readonly address: string;
  mails(): Email[];
  /** By any of its Message-IDs; null: no such mail in the corpus. */
  get(messageId: string): { readonly mail: Email; readonly isInInbox: boolean } | null;
  /** The best matches of a question among the mail up to its day. Copies are one mail. */
  bestMatches(question: string, day: string, limit: number): Email[];
  /** One id for all Message-IDs of a mail. */
  canonicalId(messageId: string): string;
}

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

function requireInboxes(db: Db, inboxes: readonly string[]): void {
  const imported = listImportedInboxes(db);
  const missing = inboxes.find((inbox) => !imported.has(inbox));
  if (missing === undefined) return;
  throw new UserError(
    "inbox_missing",
    `The mailbox ${missing} is not imported.`,
    `${didYouMean(missing, imported)}Imported: ${[...imported].sort().slice(0, 8).join(", ") || "none"}.`,
  );
}
