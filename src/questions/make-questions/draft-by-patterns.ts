// Drafts questions without a model: finds values in emails and fills them into templates.
import { type Email, ownText } from "../../mail/email.js";
import { plainSubject } from "../../mail/subject.js";
import { NamedCounts } from "../../statistics/intervals.js";
import { contentWords, splitPassages, stemsOf } from "../../text/passages.js";
import { personName, type QuestionDraft } from "./draft-by-model.js";
import {
  type DocumentFrequencies,
  documentFrequencies,
  topicOf,
  VALUE_PATTERNS,
  type ValuePattern,
  valuesIn,
} from "./value-patterns.js";

/** Realism score of template questions. Few people would phrase a question like this. */
const TEMPLATE_REALISM = 0.3;

/** Minimum length of the sender's own text, in characters. Shorter emails contain nothing but the value. */
const MIN_OWN_CHARS = 40;

/** Passages that are not statements by the sender: markup and legal disclaimers. */
const NO_STATEMENT = /<\/?[a-z][^>]*>|\bintended recipient|\bconfidential\b|\bprivileged\b/i;

/** Minimum number of content words besides the value. A line with fewer is an address block or a table. */
const MIN_PASSAGE_WORDS = 3;

interface PatternDrafts {
  readonly drafts: readonly QuestionDraft[];
  readonly refused: Readonly<Record<string, number>>;
}

type Refuse = (reason: string) => null;

/** An email with precomputed properties that are needed often. */
interface IndexedMail {
  readonly mail: Email & { readonly date: string };
  /** The sender's own text, without quotations or the signature. */
  readonly own: string;
  /** `May 2001` */
  readonly month: string;
  /** Stems of the subject and the entire body, because a reply that quotes an email contains its value too. */
  readonly stems: ReadonlySet<string>;
}

/**
 * Drafts questions about values that patterns find in emails. A question is drafted only if the email contains exactly
 * one value of that kind, and no other email from the same sender and month with the topic's words contains a different
 * one. Emails from that sender and month with the same value are also gold, and so are emails with the same passage,
 * such as copies and quotations.
 * @param usable emails that questions can be made from
 * @param all emails of the mailbox
 */
export function draftPatternQuestions(
  inbox: string,
  usable: readonly Pick<Email, "messageId">[],
  all: readonly Email[],
): PatternDrafts {
  const refusals = new NamedCounts();
  const refuse: Refuse = (reason) => {
    refusals.add(reason);
    return null;
  };
  const index = new MailboxIndex(inbox, all);
  const usableIds = new Set(usable.map(({ messageId }) => messageId));
  const sources = index.mails.filter(({ mail, own }) => usableIds.has(mail.messageId) && own.length >= MIN_OWN_CHARS);
  const drafts = sources.flatMap((source) => [
    ...VALUE_PATTERNS.map((pattern) => draftValueQuestion(source, pattern, index, refuse)),
    draftSenderQuestion(source, index, refuse),
  ]);
  return { drafts: drafts.filter((draft) => draft !== null), refused: refusals.counts };
}

function draftValueQuestion(
  source: IndexedMail,
  pattern: ValuePattern,
  index: MailboxIndex,
  refuse: Refuse,
): QuestionDraft | null {
  const { mail, own, month } = source;
  const [value, ...others] = valuesIn(pattern, own);
  if (value === undefined) return null;
  if (others.length > 0) return refuse("the email contains several values of this kind");
  const holdsIt = (text: string) => valuesIn(pattern, text).some((other) => isSameValue(other, value));
  const passage = splitPassages(own).find(holdsIt);
  if (passage === undefined || pattern.context?.test(passage) === false) return null;
  // A question about the sender's own address is not worthwhile.
  if (isSameValue(value, mail.sender) || (pattern.isContact && index.isBoilerplate(mail.sender, value))) {
    return refuse("the value is in the sender's signature");
  }
  if (NO_STATEMENT.test(passage) || contentWords(passage.replace(value, "")).length < MIN_PASSAGE_WORDS) {
    return refuse("the passage contains nothing but the value");
  }
  const asker = mail.sender === index.inbox ? "I" : (personName(mail.sender) ?? mail.sender);
  const topic = topicOf(mail.subject, passage, `${value} ${asker}`, index.frequencies);
  if (topic === null) return refuse("the topic is unclear");
  const sameTopic = index.mailsWithAll(topic).filter((one) => one !== source);
  const ofSender = sameTopic.filter((one) => one.mail.sender === mail.sender);
  const valuesOf = (one: IndexedMail) => valuesIn(pattern, one.own);
  const rivals = ofSender.filter((one) => one.month === month);
  if (rivals.some((one) => valuesOf(one).some((other) => !isSameValue(other, value)))) {
    return refuse("another email contains a different value");
  }
  const isGold = (one: IndexedMail) =>
    holdsPassage(one.mail, passage) || (rivals.includes(one) && valuesOf(one).length > 0);
  const isFirst = !ofSender.some((one) => one.mail.date < mail.date && valuesOf(one).length > 0);
  const { what, verb } = pattern.ask({ value, passage, before: passage.slice(0, passage.indexOf(value)) });
  const question = `${what} did ${asker} ${verb} in a message about ${topic}`;
  return {
    ...draftOf([source, ...sameTopic.filter(isGold)], passage, index.inbox),
    kind: pattern.kind,
    question: `${question} in ${month}?`,
    answer: value,
    askedTooEarly: isFirst ? `${question}?` : null,
  };
}

/** Drafts a question about the sender of a topic, if only one person wrote about it in that month. */
function draftSenderQuestion(source: IndexedMail, index: MailboxIndex, refuse: Refuse): QuestionDraft | null {
  const { mail, month } = source;
  if (mail.sender === index.inbox) return null;
  const name = personName(mail.sender);
  const topic = topicOf(mail.subject, "", name ?? mail.sender, index.frequencies);
  if (topic === null) return null;
  const sameTopic = index.mailsWithAll(topic);
  const sameMonth = sameTopic.filter((one) => one !== source && one.month === month);
  if (sameMonth.some((one) => one.mail.sender !== mail.sender))
    return refuse("another email contains a different value");
  return {
    ...draftOf([source, ...sameMonth], mail.subject, index.inbox),
    kind: "who",
    question: `Who wrote to me about ${topic} in ${month}?`,
    answer: name === null ? mail.sender : `${name} (${mail.sender})`,
    askedTooEarly: sameTopic.some((one) => one.mail.date < mail.date) ? null : `Who wrote to me about ${topic}?`,
  };
}

/**
 * Returns the fields that all drafts have in common. The first of `gold` is the email that the question was made from.
 */
function draftOf(gold: readonly [IndexedMail, ...IndexedMail[]], passage: string, inbox: string) {
  const [{ mail }] = gold;
  return {
    sources: gold.map((one) => ({ messageId: one.mail.messageId, date: one.mail.date })),
    passages: [{ message_id: mail.messageId, text: passage }],
    howRealistic: TEMPLATE_REALISM,
    inbox,
    sender: mail.sender,
    askableFrom: mail.date,
    unanswerable: null,
  };
}

function holdsPassage({ body }: Email, passage: string): boolean {
  return body.replace(/[>\s]+/g, " ").includes(passage);
}

/**
 * Contact information counts as a signature if one sender uses it in emails with at least this many different subjects.
 */
const BOILERPLATE_SUBJECTS = 2;

const MONTH = new Intl.DateTimeFormat("en-US", { month: "long", year: "numeric", timeZone: "UTC" });

/** An index from stems to the emails of a mailbox. */
class MailboxIndex {
  readonly mails: readonly IndexedMail[];
  readonly frequencies: DocumentFrequencies;
  private readonly byStem = new Map<string, IndexedMail[]>();
  /** Sender and value -> subjects. */
  private readonly contacts = new Map<string, Set<string>>();

  constructor(
    readonly inbox: string,
    mails: readonly Email[],
  ) {
    this.mails = mails.flatMap((mail) => this.index(mail));
    this.frequencies = documentFrequencies(this.mails.map(({ stems }) => stems));
  }

  /** Returns the emails that contain the stems of all words in a text. */
  mailsWithAll(text: string): readonly IndexedMail[] {
    const stems = [...stemsOf(text)];
    const lists = stems.map((stem) => this.byStem.get(stem) ?? []).sort((a, b) => a.length - b.length);
    return (lists[0] ?? []).filter((mail) => stems.every((stem) => mail.stems.has(stem)));
  }

  /** Whether a sender uses a value in emails with several subjects. */
  isBoilerplate(sender: string, value: string): boolean {
    return (this.contacts.get(contactKey(sender, value))?.size ?? 0) >= BOILERPLATE_SUBJECTS;
  }

  private index(mail: Email): IndexedMail[] {
    const { date, subject, sender, body } = mail;
    if (date === null) return [];
    const own = ownText(body);
    this.addContacts(sender, plainSubject(subject).toLowerCase(), own);
    const indexed = {
      mail: { ...mail, date },
      own: withoutSignature(own, sender),
      month: MONTH.format(new Date(date)),
      stems: stemsOf(`${subject}\n${body}`),
    };
    for (const stem of indexed.stems) {
      const holding = this.byStem.get(stem);
      if (holding === undefined) this.byStem.set(stem, [indexed]);
      else holding.push(indexed);
    }
    return [indexed];
  }

  private addContacts(sender: string, subject: string, own: string): void {
    for (const pattern of VALUE_PATTERNS.filter(({ isContact }) => isContact)) {
      for (const value of valuesIn(pattern, own)) {
        const key = contactKey(sender, value);
        this.contacts.set(key, (this.contacts.get(key) ?? new Set()).add(subject));
      }
    }
  }
}

/** Whether two strings are spellings of the same value. */
function isSameValue(a: string, b: string): boolean {
  return plainValue(a) === plainValue(b);
}

function contactKey(sender: string, value: string): string {
  return `${sender}\n${plainValue(value)}`;
}

function plainValue(value: string): string {
  return value.toLowerCase().replace(/[\s.,]/g, "");
}

/** A closing line, which the name, office and telephone number follow. */
const CLOSING =
  /^(?:many |kind |best |warm |with (?:kind |best )?)?(?:thanks(?: (?:again|in advance|so much|a lot))?|thank you|thx|regards|best|best wishes|sincerely|yours|cheers|love|mfg|gruß|grüße)[\s,.!-]*$/i;

/** Maximum number of lines after a closing line. If there are more, the line only closed one part of the email. */
const MAX_SIGNATURE_LINES = 12;

/** Removes the signature: the block at the end of all of a person's emails. */
function withoutSignature(text: string, sender: string): string {
  const lines = text.split("\n");
  const names = (personName(sender) ?? "").toLowerCase().split(" ");
  const last = names.at(-1) ?? "";
  const isNameLine = (line: string) => {
    const words: readonly string[] = line.toLowerCase().match(/\p{L}+/gu) ?? [];
    return last !== "" && words.length <= 4 && words.includes(last) && words[0] === names[0];
  };
  const start = lines.findIndex((line, i) => {
    const plain = line.trim();
    if (i === 0 || plain === "") return false;
    const isNearEnd = lines.slice(i + 1).filter((one) => one.trim() !== "").length <= MAX_SIGNATURE_LINES;
    return isNearEnd && (plain === "--" || CLOSING.test(plain) || isNameLine(plain));
  });
  return (start === -1 ? text : lines.slice(0, start).join("\n")).trim();
}
