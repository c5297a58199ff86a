import type { Email } from "../../../domain/mail/email.js";
import { contentWords } from "../../../models/baseline/keywords.js";
import { splitPassages } from "../../../models/baseline/passages.js";
import { NamedCounts } from "../../../statistics/named-counts.js";
import { personName } from "../person-name.js";
import type { QuestionDraft } from "../question-draft.js";
import { type IndexedMail, isSameValue, MailboxIndex } from "./mailbox-index.js";
import { topicOf } from "./topic-phrase.js";
import { VALUE_PATTERNS, type ValuePattern, valuesIn } from "./value-patterns.js";

/** Few would ask like this. */
const TEMPLATE_REALISM = 0.3;

/** Mails below it say nothing beside the value. Characters of the sender's own text. */
const MIN_OWN_CHARS = 40;

/** Passages that nobody wrote to say something: markup, and what lawyers put below. */
const NO_STATEMENT = /<\/?[a-z][^>]*>|\bintended recipient|\bconfidential\b|\bprivileged\b/i;

/** Content words beside the value: a line with fewer is an address block or a table. */
const MIN_PASSAGE_WORDS = 3;

export interface PatternDrafts {
  readonly drafts: readonly QuestionDraft[];
  /** Values of which no question was made, by reason. */
  readonly refused: Readonly<Record<string, number>>;
}

type Refuse = (reason: string) => null;

/**
 * Questions for values that patterns find in mails. A question is made only where the mail holds one value of the kind,
 * and no other mail of the same sender and month that has the topic's words holds another. Mails with the same value
 * of that sender and month, and those with the same passage, as copies and quotations have it, are gold too.
 * @param usable mails that questions are made of
 * @param all mails of the mailbox
 */
export function draftPatternQuestions(
  inbox: string,
  usable: readonly Pick<Email, "messageId">[],
  all: readonly Email[],
): PatternDrafts {
  const refused = new NamedCounts();
  const refuse: Refuse = (reason) => {
    refused.add(reason);
    return null;
  };
  const index = new MailboxIndex(inbox, all);
  const chosen = new Set(usable.map(({ messageId }) => messageId));
  const sources = index.mails.filter(({ mail, own }) => chosen.has(mail.messageId) && own.length >= MIN_OWN_CHARS);
  const drafts = sources.flatMap((source) => [
    ...VALUE_PATTERNS.flatMap((pattern) => draftValueQuestion(source, pattern, index, refuse) ?? []),
    ...(draftSenderQuestion(source, index, refuse) ?? []),
  ]);
  return { drafts, refused: refused.counts };
}

function draftValueQuestion(
  source: IndexedMail,
  pattern: ValuePattern,
  index: MailboxIndex,
  refuse: Refuse,
): QuestionDraft[] | null {
  const { mail, own, month } = source;
  const [value, ...others] = valuesIn(pattern, own);
  if (value === undefined) return null;
  if (others.length > 0) return refuse("the mail holds several values of the kind");
  const holdsIt = (text: string) => valuesIn(pattern, text).some((found) => isSameValue(found, value));
  const passage = splitPassages(own).find(holdsIt);
  if (passage === undefined || pattern.context?.test(passage) === false) return null;
  // Nobody asks for the address that a mail came from.
  if (isSameValue(value, mail.sender) || (pattern.isContact && index.isBoilerplate(mail.sender, value))) {
    return refuse("the sender writes it below many mails");
  }
  if (NO_STATEMENT.test(passage) || contentWords(passage.replace(value, "")).length < MIN_PASSAGE_WORDS) {
    return refuse("the passage says nothing beside the value");
  }
  const asker = mail.sender === index.inbox ? "I" : nameOf(mail.sender);
  const topic = topicOf(mail.subject, passage, `${value} ${asker}`, index.frequencies);
  if (topic === null) return refuse("neither subject nor passage names a topic");
  const sameTopic = index.mailsWithAll(topic).filter((one) => one !== source);
  const ofSender = sameTopic.filter((one) => one.mail.sender === mail.sender);
  const valuesOf = (one: IndexedMail) => valuesIn(pattern, one.own);
  const rivals = ofSender.filter((one) => one.month === month);
  if (rivals.some((one) => valuesOf(one).some((other) => !isSameValue(other, value)))) {
    return refuse("another mail holds a different value");
  }
  const isGold = (one: IndexedMail) =>
    holdsPassage(one.mail, passage) || (rivals.includes(one) && valuesOf(one).length > 0);
  const isFirst = !ofSender.some((one) => one.mail.date < mail.date && valuesOf(one).length > 0);
  const { what, verb } = pattern.ask({ value, passage, before: passage.slice(0, passage.indexOf(value)) });
  const question = `${what} did ${asker} ${verb} in a message about ${topic}`;
  return [
    {
      ...draftOf([source, ...sameTopic.filter(isGold)], passage, index.inbox),
      kind: pattern.kind,
      question: `${question} in ${month}?`,
      answer: value,
      askedTooEarly: isFirst ? `${question}?` : null,
    },
  ];
}

/** Who wrote about a subject, where only one did in that month. */
function draftSenderQuestion(source: IndexedMail, index: MailboxIndex, refuse: Refuse): QuestionDraft[] | null {
  const { mail, month } = source;
  if (mail.sender === index.inbox) return null;
  const name = personName(mail.sender);
  const topic = topicOf(mail.subject, "", name ?? mail.sender, index.frequencies);
  if (topic === null) return null;
  const sameTopic = index.mailsWithAll(topic);
  const sameMonth = sameTopic.filter((one) => one !== source && one.month === month);
  if (sameMonth.some((one) => one.mail.sender !== mail.sender)) return refuse("another mail holds a different value");
  return [
    {
      ...draftOf([source, ...sameMonth], mail.subject, index.inbox),
      kind: "who",
      question: `Who wrote to me about ${topic} in ${month}?`,
      answer: name === null ? mail.sender : `${name} (${mail.sender})`,
      askedTooEarly: sameTopic.some((one) => one.mail.date < mail.date) ? null : `Who wrote to me about ${topic}?`,
    },
  ];
}

/** What all drafts have in common. The first of `gold` is the mail that the question is made of. */
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

function nameOf(sender: string): string {
  return personName(sender) ?? sender;
}

function holdsPassage({ body }: Email, passage: string): boolean {
  return body.replace(/[>\s]+/g, " ").includes(passage);
}
