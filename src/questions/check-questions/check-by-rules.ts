// Checks a gold answer against its gold emails without a model.
import type { Email } from "../../mail/email.js";
import type { Question } from "../../tasks/question.js";
import { isDontKnow } from "../../text/abstention.js";
import {
  type CalendarDay,
  matchesDay,
  parseDatesAndTimes,
  parseNumbers,
  resolveDaysOfMonth,
} from "../../text/dates-and-numbers.js";
import { stemsOf } from "../../text/passages.js";
import type { QuestionCheck } from "../provenance.js";

export interface CheckerAnswer {
  readonly found: boolean;
  readonly answer: string;
  /** Subset of the ids of the shown emails. */
  readonly messageIds: readonly string[];
}

/** Answers questions from the shown emails and compares answers. */
export interface Checker {
  readonly id: string;
  /** Answers a question. Returns null if the model's reply cannot be read. */
  answer(question: PosedQuestion, mails: readonly Email[], signal: AbortSignal): Promise<CheckerAnswer | null>;
  /** Returns whether two answers agree, or null if the model's reply cannot be read. */
  agree(pair: AnswerPair, signal: AbortSignal): Promise<boolean | null>;
}

export type PosedQuestion = Pick<Question, "question" | "inbox_address" | "query_date">;

interface AnswerPair {
  readonly question: string;
  readonly gold: string;
  readonly answer: string;
}

interface LookedUpMail {
  readonly messageId: string;
  /** The email, or null if the corpus does not contain it. */
  readonly mail: Email | null;
  readonly isInInbox: boolean;
}

/**
 * Checks a question's gold answer without a model. The cited emails must exist, be in the mailbox, and not be later
 * than the question. They must contain the answer's numbers, dates and times, at least one word from the question, and
 * at least one from the answer.
 */
export function checkGold(question: Question, goldMails: readonly LookedUpMail[]): QuestionCheck {
  const reason = goldProblem(question, goldMails);
  return { check: "gold", by: "rules", passed: reason === null, answer: null, reason: reason ?? "consistent" };
}

function goldProblem({ question, answer, query_date }: Question, goldMails: readonly LookedUpMail[]): string | null {
  const abstains = isDontKnow(answer);
  if (goldMails.length === 0) return abstains ? null : "it has an answer but cites no email";
  if (abstains) return "it cites emails but abstains";
  const missing = goldMails.find(({ mail }) => mail === null);
  if (missing !== undefined) return `email ${missing.messageId} does not exist`;
  const foreignMail = goldMails.find(({ isInInbox }) => !isInInbox);
  if (foreignMail !== undefined) return `${foreignMail.messageId} is not in the mailbox`;
  const mails = goldMails.flatMap(({ mail }) => mail ?? []);
  const late = mails.find(({ date }) => date !== null && date.slice(0, 10) > query_date);
  if (late !== undefined) return `${late.messageId} is later than the question`;
  const text = mails.map(emailText).join("\n");
  // The answer can repeat values from the question.
  const relative = mails.flatMap(({ body, date }) => (date === null ? [] : resolveDaysOfMonth(body, date)));
  const absent = valueNotIn(answer, `${question}\n${text}`, relative);
  if (absent !== null) return `no cited email contains ${absent} from the answer`;
  return foreignWords(question, answer, text);
}

function emailText({ subject, body, sender, to, cc, date }: Email): string {
  return [subject, body, sender, ...to, ...cc, date?.slice(0, 10) ?? ""].join("\n");
}

/** Spaces do not separate words in these scripts. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** Returns why the emails are unrelated to the question or the answer, or null if they share words with both. */
function foreignWords(question: string, answer: string, text: string): string | null {
  if (UNSPACED.test(question + answer)) return null;
  const stems = stemsOf(text);
  const questionStems = stemsOf(question);
  if (sharesNone(questionStems, stems)) return "no cited email contains a word from the question";
  // The emails contain a value from the answer, whose unit might be spelled differently.
  if (holdsValue(answer)) return null;
  // Emails rarely contain the answer's "yes" or "no", and words that are also in the question prove nothing.
  const answerStems = new Set(
    [...stemsOf(answer.replace(/^\s*(yes|no)\b/i, ""))].filter((stem) => !questionStems.has(stem)),
  );
  return sharesNone(answerStems, stems) ? "no cited email contains a word from the answer" : null;
}

function holdsValue(text: string): boolean {
  const { days, times, rest } = parseDatesAndTimes(text);
  return days.length + times.length > 0 || parseNumbers(rest).some(({ isPronoun }) => !isPronoun);
}

/** Returns whether `stems` is not empty and has no stem in common with `others`. */
function sharesNone(stems: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return stems.size > 0 && ![...stems].some((stem) => others.has(stem));
}

/**
 * Returns a number, date or time in `answer` that is neither in `text`, in any spelling, nor in `days`. Returns null if
 * none is missing.
 */
function valueNotIn(answer: string, text: string, days: readonly CalendarDay[]): string | null {
  const expected = parseDatesAndTimes(answer);
  const there = parseDatesAndTimes(text);
  const daysThere = [...there.days, ...days];
  if (expected.days.some((day) => !daysThere.some((other) => matchesDay(day, other)))) return "a date";
  if (expected.times.some((time) => !there.times.some((other) => [...time].some((minute) => other.has(minute))))) {
    return "a time";
  }
  // A number in the answer can be part of a date in the email.
  const numbers = [...parseNumbers(there.rest), ...parseNumbers(text)];
  const absent = parseNumbers(expected.rest).find(
    ({ values, isPronoun }) =>
      !isPronoun && !numbers.some((other) => [...values].some((value) => other.values.has(value))),
  );
  return absent === undefined ? null : `the number ${[...absent.values][0]}`;
}
