import type { Email } from "../../../domain/mail/email.js";
import { ownText } from "../../../domain/mail/quoted-text.js";
import { stemsOf } from "../../../models/baseline/keywords.js";
import { splitPassages } from "../../../models/baseline/passages.js";
import { NamedCounts } from "../../../statistics/named-counts.js";
import { personName } from "../person-name.js";
import type { QuestionDraft } from "../question-draft.js";
import { documentFrequencies, topicOf } from "./topic-words.js";
import { VALUE_PATTERNS, type ValuePattern, valuesIn } from "./value-patterns.js";

/** Nobody would ask like this. */
const TEMPLATE_REALISM = 0.3;

/** Mails below it say nothing beside the value. Characters of the sender's own text. */
const MIN_OWN_CHARS = 40;

export interface PatternDrafts {
  readonly drafts: readonly QuestionDraft[];
  /** Values of which no question was made, by reason. */
  readonly refused: Readonly<Record<string, number>>;
}

const MONTH = new Intl.DateTimeFormat("en-US", { month: "long", year: "numeric", timeZone: "UTC" });

/** A mail with what is asked about it many times. */
interface ReadMail {
  readonly mail: Email & { readonly date: string };
  readonly own: string;
  /** `May 2001` */
  readonly month: string;
  readonly stems: ReadonlySet<string>;
}

/**
 * Questions for values that patterns find in mails. A question is made only where the mail holds one value of the kind,
 * and no other mail of the same sender and month that has the topic's words holds another. Mails with the same
 * passage, as copies and quotations have it, are gold too.
 * @param usable mails that questions are made of
 * @param all mails of the mailbox
 */
export function draftPatternQuestions(inbox: string, usable: readonly Email[], all: readonly Email[]): PatternDrafts {
  const refused = new NamedCounts();
  const refuse = (reason: string) => {
    refused.add(reason);
    return null;
  };
  const read = all.flatMap(readMail);
  const frequencies = documentFrequencies(read.map(({ mail, own }) => `${mail.subject}\n${own}`));
  const byStem = mailsByStem(read);
  const mailbox: MailboxIndex = { inbox, frequencies, byStem, refuse };
  const chosen = new Set(usable.map(({ messageId }) => messageId));
  const drafts: QuestionDraft[] = [];
  for (const source of read) {
    if (!chosen.has(source.mail.messageId) || source.own.length < MIN_OWN_CHARS) continue;
    for (const pattern of VALUE_PATTERNS) {
      const draft = draftValueQuestion(source, pattern, mailbox);
      if (draft !== null) drafts.push(draft);
    }
    const draft = draftSenderQuestion(source, mailbox);
    if (draft !== null) drafts.push(draft);
  }
  return { drafts, refused: refused.counts };
}

interface MailboxIndex {
  readonly inbox: string;
  readonly frequencies: ReadonlyMap<string, number>;
  readonly byStem: ReadonlyMap<string, readonly ReadMail[]>;
  refuse(reason: string): null;
}

function draftValueQuestion(source: ReadMail, pattern: ValuePattern, mailbox: MailboxIndex): QuestionDraft | null {
  const { mail, own, month } = source;
  const [value, ...others] = valuesIn(pattern, own);
  if (value === undefined) return null;
  // A signature: nobody asks for the address that a mail came from.
  if (isSameValue(value, mail.sender)) return null;
  if (others.length > 0) return mailbox.refuse("the mail holds several values of the kind");
  const passage = splitPassages(own).find((one) => valuesIn(pattern, one).some((found) => isSameValue(found, value)));
  if (passage === undefined || pattern.context?.test(passage) === false) return null;
  const asker = mail.sender === mailbox.inbox ? "I" : personName(mail.sender);
  if (asker === null) return mailbox.refuse("the sender's address holds no name");
  const topic = topicOf(mail.subject, passage, `${value} ${asker}`, mailbox.frequencies);
  if (topic === null) return mailbox.refuse("the passage has no words of its own");
  const sameTopic = mailsWithAll(stemsOf(topic), mailbox.byStem);
  const rivals = sameTopic.filter((one) => one.mail.sender === mail.sender && one.month === month && one !== source);
  if (rivals.some((one) => valuesIn(pattern, one.own).some((other) => !isSameValue(other, value)))) {
    return mailbox.refuse("another mail holds a different value");
  }
  const gold = [source, ...sameTopic.filter((one) => one !== source && holdsPassage(one.mail, passage))];
  return {
    kind: pattern.kind,
    question: pattern.ask({ asker, topic, when: month }),
    answer: value,
    sources: gold.map((one) => ({ messageId: one.mail.messageId, date: one.mail.date })),
    passages: [{ message_id: mail.messageId, text: passage }],
    howRealistic: TEMPLATE_REALISM,
    inbox: mailbox.inbox,
    sender: mail.sender,
    askableFrom: mail.date,
    unanswerable: null,
  };
}

/** Who wrote about a subject, where only one did in that month. */
function draftSenderQuestion({ mail, own, month }: ReadMail, mailbox: MailboxIndex): QuestionDraft | null {
  const name = personName(mail.sender);
  if (mail.sender === mailbox.inbox || name === null) return null;
  const topic = topicOf(mail.subject, "", name, mailbox.frequencies);
  if (topic === null || own.length < MIN_OWN_CHARS) return null;
  const sameMonth = mailsWithAll(stemsOf(topic), mailbox.byStem).filter((one) => one.month === month);
  if (sameMonth.some((one) => one.mail.sender !== mail.sender)) {
    return mailbox.refuse("another mail holds a different value");
  }
  return {
    kind: "who",
    question: `Who wrote to me about ${topic} in ${month}?`,
    answer: `${name} (${mail.sender})`,
    sources: sameMonth
      .map((one) => ({ messageId: one.mail.messageId, date: one.mail.date }))
      .sort((a, b) => Number(b.messageId === mail.messageId) - Number(a.messageId === mail.messageId)),
    passages: [{ message_id: mail.messageId, text: mail.subject }],
    howRealistic: TEMPLATE_REALISM,
    inbox: mailbox.inbox,
    sender: mail.sender,
    askableFrom: mail.date,
    unanswerable: null,
  };
}

function readMail(mail: Email): ReadMail[] {
  const { date } = mail;
  if (date === null) return [];
  const own = ownText(mail.body);
  // Quotations count: a reply that quotes the mail holds its value too.
  return [
    {
      mail: { ...mail, date },
      own,
      month: MONTH.format(new Date(date)),
      stems: stemsOf(`${mail.subject}\n${mail.body}`),
    },
  ];
}

function mailsByStem(mails: readonly ReadMail[]): Map<string, ReadMail[]> {
  const lists = new Map<string, ReadMail[]>();
  for (const mail of mails) {
    for (const stem of mail.stems) {
      const list = lists.get(stem);
      if (list === undefined) lists.set(stem, [mail]);
      else list.push(mail);
    }
  }
  return lists;
}

function mailsWithAll(stems: ReadonlySet<string>, byStem: ReadonlyMap<string, readonly ReadMail[]>): ReadMail[] {
  const lists = [...stems].map((stem) => byStem.get(stem) ?? []).sort((a, b) => a.length - b.length);
  return (lists[0] ?? []).filter((mail) => [...stems].every((stem) => mail.stems.has(stem)));
}

function holdsPassage({ body }: Email, passage: string): boolean {
  return body.replace(/[>\s]+/g, " ").includes(passage);
}

function isSameValue(a: string, b: string): boolean {
  const plain = (value: string) => value.toLowerCase().replace(/[\s.,]/g, "");
  return plain(a) === plain(b);
}
