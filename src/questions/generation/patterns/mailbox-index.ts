import type { Email } from "../../../domain/mail/email.js";
import { plainSubject } from "../../../domain/mail/plain-subject.js";
import { ownText } from "../../../domain/mail/quoted-text.js";
import { stemsOf } from "../../../models/baseline/keywords.js";
import { stripSignature } from "./strip-signature.js";
import { type DocumentFrequencies, documentFrequencies } from "./topic-phrase.js";
import { VALUE_PATTERNS, valuesIn } from "./value-patterns.js";

/** A mail with what is asked about it many times. */
export interface IndexedMail {
  readonly mail: Email & { readonly date: string };
  /** What its sender wrote, without quotations and signature. */
  readonly own: string;
  /** `May 2001` */
  readonly month: string;
  /** Of the subject and the whole body: a reply that quotes a mail holds its value too. */
  readonly stems: ReadonlySet<string>;
}

/** How to reach someone in mails of so many subjects of one sender stands below all of them. */
const BOILERPLATE_SUBJECTS = 2;

const MONTH = new Intl.DateTimeFormat("en-US", { month: "long", year: "numeric", timeZone: "UTC" });

/** The mails of a mailbox by the words that they hold. */
export class MailboxIndex {
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

  /** The mails that hold all words of a text, by their stems. */
  mailsWithAll(text: string): readonly IndexedMail[] {
    const stems = [...stemsOf(text)];
    const lists = stems.map((stem) => this.byStem.get(stem) ?? []).sort((a, b) => a.length - b.length);
    return (lists[0] ?? []).filter((mail) => stems.every((stem) => mail.stems.has(stem)));
  }

  /** Whether a sender writes a value into mails of several subjects. */
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
      own: stripSignature(own, sender),
      month: MONTH.format(new Date(date)),
      stems: stemsOf(`${subject}\n${body}`),
    };
    for (const stem of indexed.stems) append(this.byStem, stem, indexed);
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

/** Whether two spellings are one value. */
export function isSameValue(a: string, b: string): boolean {
  return plainValue(a) === plainValue(b);
}

function contactKey(sender: string, value: string): string {
  return `${sender}\n${plainValue(value)}`;
}

function plainValue(value: string): string {
  return value.toLowerCase().replace(/[\s.,]/g, "");
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
