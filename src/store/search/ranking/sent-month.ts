import { type CalendarDay, matchesDay, parseDatesAndTimes } from "../../../domain/values/parse-dates.js";
import type { DateRange } from "../date-range.js";
import type { SignalMail, SignalQuery, SignalStrength } from "./ranking-signal.js";

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
    ...lone.map((name) => ({ year: null, month: monthOf(name), day: null })),
  ];
}

/** 1 to 12, of a name or its abbreviation. */
function monthOf(name: string): number {
  return MONTHS.findIndex((month) => month.startsWith(name.slice(0, 3).toLowerCase())) + 1;
}
