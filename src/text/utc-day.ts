// Days, which are dates in UTC.
import { z } from "zod";

const EXPECTED = "expected a date (YYYY-MM-DD), optionally with a time and its zone";

/** RFC 3339, with a space in place of the T, without seconds, and with a zone like -0500. */
const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(?:([Zz]|UTC|GMT)|([+-]\d{2}):?(\d{2})?)?)?$/;

/**
 * A date as YYYY-MM-DD. A time with a zone becomes its date in UTC, like the dates of mail: 2001-04-06T23:30:00-05:00
 * is 2001-04-07. A time without a zone is in UTC. Rejects dates and times that do not exist, such as 2001-02-31.
 */
export const utcDay = z.string().transform((text, issues): string => {
  const [, date = "", time, , hours, minutes = "00"] = DATE_TIME.exec(text.trim()) ?? [];
  const zone = hours === undefined ? "Z" : `${hours}:${minutes}`;
  const at = new Date(time === undefined ? `${date}T00:00Z` : `${date}T${time}${zone}`);
  const isDate = z.iso.date().safeParse(date).success && !Number.isNaN(at.getTime());
  const isFourDigits = isDate && at.getUTCFullYear() >= 0 && at.getUTCFullYear() <= 9999;
  if (isFourDigits) return at.toISOString().slice(0, 10);
  const problem = isDate ? "is outside of the years 0000 to 9999 in UTC" : "is not a calendar date or time";
  issues.addIssue({ code: "custom", message: date === "" ? EXPECTED : problem });
  return z.NEVER;
});

/** Returns the date (YYYY-MM-DD) a number of days later, or earlier if it is negative. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}
