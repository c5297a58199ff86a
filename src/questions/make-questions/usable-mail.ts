// Chooses the mail that questions are made from, and keeps the questions varied by avoiding near-duplicates and using a
// stratified order.
import { type Email, ownText } from "../../mail/email.js";
import { openMailboxListing, questionQuery } from "../../mail/mail-lookup.js";
import { type Mailboxes, openMailboxes } from "../../mail/mailboxes.js";
import { isNewsletter } from "../../mail/newsletters.js";
import { commandLine } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { didYouMean } from "../../platform/near-names.js";
import { NamedCounts } from "../../statistics/intervals.js";
import type { Db } from "../../store/open-store.js";
import { contentWords, stemsOf, wordsOf } from "../../text/passages.js";
import { jaccard } from "../../text/word-overlap.js";
import { type Mailbox, openMailbox } from "../../tools/mailbox.js";
import { shuffled } from "../dataset.js";
import type { MailHeading, QuestionDraft } from "./draft-by-model.js";

interface AskedQuestion {
  readonly inbox: string;
  readonly question: string;
}

/**
 * A mailbox and its usable emails. Bodies are read on demand, because all of them together would take gigabytes of
 * memory.
 */
export interface UsableMailbox {
  readonly address: string;
  readonly usable: readonly MailHeading[];
  /** All emails of the mailbox, newest first. */
  readAll(): readonly Email[];
  read(mails: readonly MailHeading[]): readonly Email[];
}

export interface MailCounts {
  readonly all: number;
  readonly usable: number;
  /** Number of left-out emails per reason. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** The reason for leaving an email out. */
type UnusableReason = "no date" | "too short" | "too long" | "newsletter or notice" | "copy";

export interface QuestionMailbox {
  readonly address: string;
  mails(): Email[];
  /** Returns the email with this Message-ID, which can be that of a copy, or null if the corpus does not contain it. */
  get(messageId: string): { readonly mail: Email; readonly isInInbox: boolean } | null;
  /** Searches the mail up to the question's date. Copies count as one email. */
  bestMatches(question: string, day: string, limit: number): Email[];
  /** Returns the same id for all Message-IDs of an email. */
  canonicalId(messageId: string): string;
}

/**
 * Yields drafts in an order in which every prefix is spread over mailboxes, kinds, months and senders. The next draft
 * is always from the groups with the fewest drafts so far. A shuffle by `seed` breaks ties.
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

/** This many consecutive content words in both texts count as a shared phrase. */
export const PHRASE_WORDS = 4;

/** Returns the largest number of consecutive content words that `question` and `text` share. */
export function longestSharedPhrase(question: string, text: string): number {
  const questionWords = sequence(question);
  const textWords = sequence(text);
  let longest = 0;
  let former = new Uint16Array(textWords.length + 1);
  for (const word of questionWords) {
    const lengths = new Uint16Array(textWords.length + 1);
    for (const [i, other] of textWords.entries()) {
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

/** Two questions count as the same if at least this fraction of their stems is shared (Jaccard). */
const SAME_QUESTION = 0.8;

/** Remembers the questions of each mailbox. `add` returns false for a near-duplicate and ignores it. */
export class NearDuplicates {
  private readonly byInbox = new Map<string, Set<string>[]>();

  has({ inbox, question }: AskedQuestion): boolean {
    const stems = stemsOf(question);
    const isSame = (other: ReadonlySet<string>) =>
      stems.size + other.size === 0 || jaccard(stems, other) >= SAME_QUESTION;
    return (this.byInbox.get(inbox) ?? []).some(isSame);
  }

  add(question: AskedQuestion): boolean {
    if (this.has(question)) return false;
    this.byInbox.set(question.inbox, [...(this.byInbox.get(question.inbox) ?? []), stemsOf(question.question)]);
    return true;
  }
}

/**
 * Returns the requested addresses, or all imported ones. Throws a UserError if an address is unknown or no mail was
 * imported.
 */
export function chooseInboxes(db: Db, requested: readonly string[]): readonly string[] {
  const inboxes = [...new Set(requested.map((inbox) => inbox.trim().toLowerCase()))];
  const mailboxes = openMailboxes(db);
  requireInboxes(mailboxes, inboxes);
  const all = inboxes.length > 0 ? inboxes : mailboxes.addresses;
  if (all.length > 0) return all;
  throw new UserError(
    "corpus_empty",
    `${db.name} does not contain any mailboxes.`,
    `Import one first: ${commandLine`art-e import SOURCE`}`,
  );
}

/** Reads the usable emails of each mailbox and counts the left-out emails per reason. */
export function readMailboxes(
  openMailboxes: readonly QuestionMailbox[],
  minChars: number,
): {
  readonly mailboxes: readonly UsableMailbox[];
  readonly mails: MailCounts;
} {
  const leftOut = new NamedCounts();
  const counts = { all: 0, usable: 0 };
  const mailboxes = openMailboxes.map((mailbox): UsableMailbox => {
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

/** English function words that similar languages do not have. */
const ENGLISH_WORD = /\b(?:the|and|of|that|this|with|have|you|your|for|are|be|it|not|from|by|we|is)\b/gi;

/** In English, at least one in this many words is one of these. */
const ENGLISH_RATE = 12;

export function isEnglish(text: string): boolean {
  const words = text.match(/[\p{L}\p{M}]+/gu)?.length ?? 0;
  return words > 0 && (text.match(ENGLISH_WORD)?.length ?? 0) * ENGLISH_RATE >= words;
}

/** Maximum body length in characters, as in ART. Longer emails are reports and lists. */
const MAX_CHARS = 5_000;

/** Scripts in which a character corresponds to about half a word or a whole word. */
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;
const LETTERS_PER_DENSE = 4;

/** Estimates the length that a text would have in Latin letters. */
function lettersIn(text: string, atLeast: number): number {
  if (text.length >= atLeast) return text.length;
  return text.length + (LETTERS_PER_DENSE - 1) * (text.match(DENSE)?.length ?? 0);
}

/**
 * Returns the emails that questions can be made from, and the number of left-out emails per reason. A copy is an email
 * whose own text repeats that of an earlier email from the same sender. If its own text is too short to compare, for
 * example in a forwarded email, the entire body is compared.
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

function requireInboxes(imported: Mailboxes, inboxes: readonly string[]): void {
  const missing = inboxes.find((inbox) => !imported.has(inbox));
  if (missing === undefined) return;
  throw new UserError(
    "inbox_missing",
    `Unknown mailbox "${missing}".`,
    `${didYouMean(missing, imported.addresses)}Imported: ${imported.addresses.slice(0, 8).join(", ") || "none"}.`,
  );
}
