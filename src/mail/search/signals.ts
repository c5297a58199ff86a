// The ranking signals besides BM25: named months and recency.
import { compact } from "../../platform/optional-values.js";
import { type CalendarDay, monthOf, parseDatesAndTimes } from "../../text/dates-and-numbers.js";
import type { DateRange } from "../date-range.js";

/** Ranking signals other than the words of an email. */

const MONTHS = "january february march april may june july august september october november december".split(" ");

/** Months without a day or a year. "May" and "March" only count if capitalized, and not as the first word. */
const LONE_MONTH =
  /\b(?:jan(?:uary)?|feb(?:ruary)?|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b/g;
const LONE_MAY_OR_MARCH = /(?<=\S\s+)\b(?:May|March)\b(?!,?\s+\d)/g;

interface NamedMonth {
  readonly period: DateRange;
  /** Words that all emails from the month count as containing: the month's names and its year, in lower case. */
  readonly words: ReadonlySet<string>;
}

/**
 * Returns the months mentioned in a query in any form: "September 2000", "8/27", "in July". A month without a year
 * matches in every year.
 */
export function namedMonths(query: string, years: Iterable<number>): NamedMonth[] {
  const { days, rest } = parseDatesAndTimes(query);
  const lone = [...(rest.match(LONE_MONTH) ?? []), ...(query.match(LONE_MAY_OR_MARCH) ?? [])];
  const months: Pick<CalendarDay, "year" | "month">[] = [
    ...days,
    ...lone.map((name) => ({ year: null, month: monthOf(name.toLowerCase()) })),
  ];
  const all = [...years];
  return months.flatMap(({ year, month }) => (year === null ? all : [year]).map((each) => monthOfYear(each, month)));
}

function monthOfYear(year: number, month: number): NamedMonth {
  const startOf = (monthIndex: number) => {
    const start = new Date(0);
    start.setUTCFullYear(year, monthIndex, 1);
    return `${start.toISOString().slice(0, 19)}Z`;
  };
  const name = MONTHS[month - 1] ?? "";
  return {
    period: { after: startOf(month - 1), before: startOf(month) },
    words: new Set(compact([String(year), name, name.slice(0, 3), name === "september" && "sept"])),
  };
}

/** Emails from a named month score 50% higher. Fitted on the questions generated from patterns. */
export const NAMED_MONTH_RAISE = 0.5;

/** Fitted on the tuning half of fixtures/search. An email from the same day scores 1.8 times as high as an old one. */
export const RECENCY_RAISE = 0.8;
const RECENCY_DAYS = 60;

/**
 * Returns the score increase for an email sent shortly before the question, from 0 to 0.8. ART-E questions are asked 1
 * to 30 days after their emails.
 */
export function recencyRaise(askedAt: number, sentAt: number): number {
  if (Number.isNaN(sentAt)) return 0;
  const days = Math.max(0, askedAt - sentAt) / 86_400;
  return RECENCY_RAISE * Math.exp(-days / RECENCY_DAYS);
}
