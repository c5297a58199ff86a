import type { Email } from "../mail/email.js";
import { stemsOf } from "../models/answer-passage.js";
import type { Question } from "../tasks/question.js";
import { isDontKnow } from "../text/abstention.js";
import {
  type CalendarDay,
  matchesDay,
  parseDatesAndTimes,
  parseNumbers,
  resolveDaysOfMonth,
} from "../text/dates-and-numbers.js";
import type { QuestionCheck } from "./provenance.js";

export interface CheckerAnswer {
  readonly found: boolean;
  readonly answer: string;
  /** Of the mails shown. */
  readonly messageIds: readonly string[];
}

/** Answers questions from the mails it is shown alone, and tells whether two answers say the same. */
export interface Checker {
  readonly id: string;
  /** Null: its reply cannot be read. */
  answer(question: PosedQuestion, mails: readonly Email[], signal: AbortSignal): Promise<CheckerAnswer | null>;
  /** Null: its reply cannot be read. */
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
  /** Null: it is not in the corpus. */
  readonly mail: Email | null;
  readonly isInInbox: boolean;
}

/**
 * What rules can tell of a question's gold, without a model: its mails are there, lie in the mailbox, and are not later
 * than the question; the numbers, dates and times of its answer stand in them, and some word of either.
 */
export function checkGold(question: Question, cited: readonly LookedUpMail[]): QuestionCheck {
  const reason = goldProblem(question, cited);
  return { check: "gold", by: "rules", passed: reason === null, answer: null, reason: reason ?? "it holds together" };
}

function goldProblem({ question, answer, query_date }: Question, cited: readonly LookedUpMail[]): string | null {
  const abstains = isDontKnow(answer);
  if (cited.length === 0) return abstains ? null : "it has an answer and cites no mail";
  if (abstains) return "it cites mails and has no answer";
  const missing = cited.find(({ mail }) => mail === null);
  if (missing !== undefined) return `there is no mail ${missing.messageId}`;
  const elsewhere = cited.find(({ isInInbox }) => !isInInbox);
  if (elsewhere !== undefined) return `${elsewhere.messageId} is not in the mailbox`;
  const mails = cited.flatMap(({ mail }) => mail ?? []);
  const late = mails.find(({ date }) => date !== null && date.slice(0, 10) > query_date);
  if (late !== undefined) return `${late.messageId} is later than the question`;
  const text = mails.map(textOf).join("\n");
  // What the question itself says is not what it asks for.
  const relative = mails.flatMap(({ body, date }) => (date === null ? [] : resolveDaysOfMonth(body, date)));
  const absent = valueNotIn(answer, `${question}\n${text}`, relative);
  if (absent !== null) return `${absent} of the answer stands in no cited mail`;
  return foreignWords(question, answer, text);
}

function textOf({ subject, body, sender, to, cc, date }: Email): string {
  return [subject, body, sender, ...to, ...cc, date?.slice(0, 10) ?? ""].join("\n");
}

/** Words of these scripts are not told apart by spaces. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** What mails have nothing to do with; null: both share words with them. */
function foreignWords(question: string, answer: string, text: string): string | null {
  if (UNSPACED.test(question + answer)) return null;
  const stems = stemsOf(text);
  const asked = stemsOf(question);
  if (sharesNone(asked, stems)) return "no word of the question stands in a cited mail";
  // A value of the answer was found already, and its unit may be spelled otherwise.
  if (holdsValue(answer)) return null;
  // Yes and no stand in no mail, and what the question says already proves nothing.
  const told = new Set([...stemsOf(answer.replace(/^\s*(yes|no)\b/i, ""))].filter((stem) => !asked.has(stem)));
  return sharesNone(told, stems) ? "no word of the answer stands in a cited mail" : null;
}

function holdsValue(text: string): boolean {
  const { days, times, rest } = parseDatesAndTimes(text);
  return days.length + times.length > 0 || parseNumbers(rest).some(({ isPronoun }) => !isPronoun);
}

/** Whether there are words, and none of them is among the others. */
function sharesNone(stems: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return stems.size > 0 && ![...stems].some((stem) => others.has(stem));
}

/** A number, day or time of `answer` that neither `text` in any spelling nor `days` contains; null if all are there. */
function valueNotIn(answer: string, text: string, days: readonly CalendarDay[]): string | null {
  const wanted = parseDatesAndTimes(answer);
  const there = parseDatesAndTimes(text);
  const daysThere = [...there.days, ...days];
  if (wanted.days.some((day) => !daysThere.some((other) => matchesDay(day, other)))) return "a date";
  if (wanted.times.some((time) => !there.times.some((other) => [...time].some((minute) => other.has(minute))))) {
    return "a time";
  }
  // A number in the answer may be part of a date in the mail.
  const numbers = [...parseNumbers(there.rest), ...parseNumbers(text)];
  const absent = parseNumbers(wanted.rest).find(
    ({ values, isPronoun }) =>
      !isPronoun && !numbers.some((other) => [...values].some((value) => other.values.has(value))),
  );
  return absent === undefined ? null : `the number ${[...absent.values][0]}`;
}
