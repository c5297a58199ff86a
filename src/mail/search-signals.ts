import { type CalendarDay, matchesDay, monthOf, parseDatesAndTimes } from "../text/dates-and-numbers.js";
import { STOP_WORDS } from "../text/stop-words.js";
import type { DateRange } from "./search-query.js";

const MONTHS = "january february march april may june july august september october november december".split(" ");

/** Months without a day or a year. "May" and "March" only as a name, and not as the first word. */
const LONE_MONTH =
  /\b(?:jan(?:uary)?|feb(?:ruary)?|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b/g;
const LONE_MAY_OR_MARCH = /(?<=\S\s+)\b(?:May|March)\b(?!,?\s+\d)/g;

/** Mail sent in a month that the query names, in any spelling: "September 2000", "8/27", "in July". */
export function detectSentMonth({ words }: SignalQuery): SignalStrength | null {
  const months = monthsNamed(words);
  if (months.length === 0) return null;
  return ({ date }) => {
    if (date === null) return 0;
    const sent = { year: Number(date.slice(0, 4)), month: Number(date.slice(5, 7)), day: null };
    return months.some((month) => matchesDay(month, sent)) ? 1 : 0;
  };
}

/** Whether a word, in lower case, is the year in which a mail was sent, or names the month. */
export function isSentMonth(word: string, { date }: Pick<SignalMail, "date">): boolean {
  if (date === null) return false;
  const month = MONTHS[Number(date.slice(5, 7)) - 1] ?? "";
  return [date.slice(0, 4), month, month.slice(0, 3)].includes(word) || (word === "sept" && month === "september");
}

/** The months that a query names with their year. */
export function periodsNamed({ words }: SignalQuery): DateRange[] {
  return monthsNamed(words).flatMap(({ year, month }) => {
    if (year === null) return [];
    const startOf = (monthIndex: number) => `${new Date(Date.UTC(year, monthIndex)).toISOString().slice(0, 19)}Z`;
    return [{ after: startOf(month - 1), before: startOf(month) }];
  });
}

/** Months, with their year where it is given. */
function monthsNamed(words: string): CalendarDay[] {
  const { days, rest } = parseDatesAndTimes(words);
  const lone = [...(rest.match(LONE_MONTH) ?? []), ...(words.match(LONE_MAY_OR_MARCH) ?? [])];
  return [
    ...days.map(({ year, month }) => ({ year, month, day: null })),
    ...lone.map((name) => ({ year: null, month: monthOf(name.toLowerCase()), day: null })),
  ];
}

const DAY_MS = 86_400_000;

/** The preference for new mail halves in two weeks: mail that is months old is not told apart by its age. */
const HALF_LIFE_DAYS = 14;

/** Mail sent shortly before the question is asked: of a thread, the later mail, which holds what is true now. */
export function detectRecency({ askedAt }: SignalQuery): SignalStrength | null {
  if (askedAt === null) return null;
  const asked = Date.parse(askedAt);
  return ({ date }) => {
    if (date === null) return 0;
    const days = Math.max(0, asked - Date.parse(date)) / DAY_MS;
    return 0.5 ** (days / HALF_LIFE_DAYS);
  };
}

/** After eight half-lives there is 1/256 left of it. */
function recencyFades({ askedAt }: SignalQuery): Fading | null {
  if (askedAt === null) return null;
  const since = new Date(Date.parse(askedAt) - 8 * HALF_LIFE_DAYS * DAY_MS);
  return { since: `${since.toISOString().slice(0, 19)}Z`, atMost: 0.5 ** 8 };
}

/** "did I ask", "I gave": the mailbox's owner wrote the mail. */
const OWNER_WROTE =
  /\b(?:did|do|have|had|was|am|can|could|should|would|might|will) i\b|\bi (?:\w+ed|gave|told|sent|wrote|said|put|left|took|made|paid|bought|sold|chose|did|have|had|am|was)\b|\bi['’](?:d|ve|m)\b/i;

/** "did Christian say", "from Ann Lee": the sender's name follows. It is not consumed: "to tell Ann". */
const BEFORE_SENDER = /\b(?:did|does|has|had|from|by)\s+(?=(\p{L}+)(?:\s+(\p{L}+))?)/giu;

/** "tell Marshall", "sent to Ann Lee": a recipient's name follows. */
const BEFORE_RECIPIENT =
  /\b(?:tell|told|give|giving|gave|ask|asked|send|sent|offer|owe|to)\s+(?=(\p{L}+)(?:\s+(\p{L}+))?)/giu;

/** A name's shortest part that is looked for in addresses: shorter ones are in too many. */
const MIN_NAME = 3;

/** At the end of a part of an address (`bcherry`) it must be longer. */
const MIN_NAME_AT_END = 4;

/** So many names are looked for in the addresses of each mail. */
const MAX_NAMES = 10;

/** A mail of those whom the query makes its sender or recipients. The strength is the share of these that it meets. */
export function detectCorrespondents({ words, owner }: SignalQuery): SignalStrength | null {
  const clues: ((mail: SignalMail) => boolean)[] = [];
  if (owner !== null && OWNER_WROTE.test(words)) clues.push(({ sender }) => sender === owner);
  const senders = namesAfter(BEFORE_SENDER, words);
  if (senders.length > 0) clues.push(({ sender }) => senders.some((name) => isNameIn(sender, name)));
  const recipients = namesAfter(BEFORE_RECIPIENT, words);
  if (recipients.length > 0) {
    clues.push((mail) => mail.recipients.some((address) => recipients.some((name) => isNameIn(address, name))));
  }
  if (clues.length === 0) return null;
  return (mail) => clues.filter((isMet) => isMet(mail)).length / clues.length;
}

/** Words that may be names, in lower case; an ordinary word is in nobody's address. */
function namesAfter(pattern: RegExp, words: string): string[] {
  const names = [...words.matchAll(pattern)].flatMap(([, first, last]) => {
    const pair = [first, last].map((word) => word?.toLowerCase() ?? "");
    const end = pair.findIndex((word) => word.length < MIN_NAME || STOP_WORDS.has(word));
    return end === -1 ? pair : pair.slice(0, end);
  });
  return [...new Set(names)].slice(0, MAX_NAMES);
}

/** Whether an address is of somebody with this name: `drew_a_brabb@` of Drew and Brabb, `bcherry@` of Cherry. */
function isNameIn(address: string, name: string): boolean {
  const end = address.lastIndexOf("@");
  const parts = address.slice(0, end === -1 ? address.length : end).split(/[^\p{L}]+/u);
  return parts.some((part) => part.startsWith(name) || (name.length >= MIN_NAME_AT_END && part.endsWith(name)));
}

/** All of one weight, which was not fitted: a signal decides between mails whose words fit about as well. */
const WEIGHT = 0.25;

export const RANKING_SIGNALS: readonly RankingSignal[] = [
  {
    name: "sent_month",
    meaning: "sent in a month that is named",
    weight: WEIGHT,
    detect: detectSentMonth,
    implies: isSentMonth,
    periods: periodsNamed,
  },
  { name: "correspondents", meaning: "from or to those who are named", weight: WEIGHT, detect: detectCorrespondents },
  {
    name: "recency",
    meaning: "sent shortly before the question",
    weight: WEIGHT,
    detect: detectRecency,
    fades: recencyFades,
  },
];

export interface SignalQuery {
  /** As typed. */
  readonly words: string;
  /** Whose mailbox is searched; null: everybody's. */
  readonly owner: string | null;
  /** When it is asked (ISO 8601 UTC): the end of the question's day; null: not known. */
  readonly askedAt: string | null;
}

export interface SignalMail {
  readonly sender: string;
  readonly recipients: readonly string[];
  /** ISO 8601 UTC. */
  readonly date: string | null;
}

/** How much of a signal a mail shows, 0 to 1. */
export type SignalStrength = (mail: SignalMail) => number;

/** Something other than its words that makes a mail more likely to be the one meant. */
export interface RankingSignal {
  readonly name: string;
  /** What a mail has that shows it. */
  readonly meaning: string;
  /** The share by which the full signal raises the score of the words. */
  readonly weight: number;
  /** Null: the query does not ask for it. */
  readonly detect: (query: SignalQuery) => SignalStrength | null;
  /** Whether a mail that shows the signal counts as holding a word once, though its text may not. */
  readonly implies?: (word: string, mail: Pick<SignalMail, "date">) => boolean;
  /** Periods in which all mail shows the signal: of its words, mail is chosen for ranking by those implied too. */
  readonly periods?: (query: SignalQuery) => readonly DateRange[];
  /** Bounds the strength by the date alone, so that old mail need not be read to be left out. */
  readonly fades?: (query: SignalQuery) => Fading | null;
}

/** Mail sent before `since` shows the signal at most so much. */
export interface Fading {
  readonly since: string;
  readonly atMost: number;
}
