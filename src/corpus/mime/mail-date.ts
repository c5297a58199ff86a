const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** Hours from UTC of the zone names of RFC 5322 4.3; any other name means UTC there. */
const NAMED_ZONES: Readonly<Record<string, number>> = {
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
};

/** Longer headers are cut: the pattern takes cubic time on text that is no date. */
const MAX_DATE_CHARS = 128;

// day-of-week, day, month, year, hour:minute[:second], zone; RFC 5322 3.3 with the white space of 4.3.
const MAIL_DATE =
  /^(?:[a-z]+\.?\s*,?\s*)?(\d{1,2})[\s-]+([a-z]{3})[a-z]*\.?[\s-]+(\d{2,4})\s*,?\s+(\d{1,2})\s*:\s*(\d{2})(?:\s*:\s*(\d{2}))?(?:\.\d+)?\s*([+-]\d{4}|[a-z]+)?/i;

const ISO_DATE = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * A Date header (RFC 5322 3.3 and the obsolete forms of 4.3) as `YYYY-MM-DDTHH:MM:SSZ`; null where it cannot be
 * parsed or the day does not exist. Two-digit years are 1950 to 2049, three digits are added to 1900 (RFC 5322 4.3).
 * A missing zone means UTC.
 */
export function parseMailDate(header: string): string | null {
  const match = MAIL_DATE.exec(withoutComments(header).replace(/\s+/g, " ").trim().slice(0, MAX_DATE_CHARS));
  if (match === null) return null;
  const [, day = "", monthName = "", year = "", hour = "", minute = "", second = "0", zone = "Z"] = match;
  const month = MONTHS.indexOf(monthName.toLowerCase());
  return utc(fullYear(year), month, Number(day), Number(hour), Number(minute), Number(second), zone);
}

/** A date of ISO 8601, with or without a time, as `YYYY-MM-DDTHH:MM:SSZ`; UTC where it names no zone. */
export function parseIsoDate(text: string): string | null {
  const match = ISO_DATE.exec(text.trim());
  if (match === null) return null;
  const [, year, month, day, hour = "0", minute = "0", second = "0", zone = "Z"] = match;
  return utc(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second), zone);
}

/** ISO 8601 UTC to the second; null for an invalid Date and for years that four digits cannot hold. */
export function isoSeconds(date: Date): string | null {
  const year = date.getUTCFullYear();
  if (!(year >= 0 && year <= 9999)) return null;
  return `${date.toISOString().slice(0, 19)}Z`;
}

function utc(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
  zone: string,
): string | null {
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  if (month < 0 || month > 11 || date.getUTCDate() !== day || day === 0) return null;
  // 60 is a leap second.
  if (hour > 23 || minute > 59 || second > 60) return null;
  date.setUTCHours(hour, minute - offsetMinutes(zone), second);
  return isoSeconds(date);
}

function fullYear(year: string): number {
  const value = Number(year);
  if (year.length === 2) return value < 50 ? 2000 + value : 1900 + value;
  return year.length === 3 ? 1900 + value : value;
}

function offsetMinutes(zone: string): number {
  const match = /^([+-])(\d{2}):?(\d{2})$/.exec(zone);
  if (match === null) return (NAMED_ZONES[zone.toUpperCase()] ?? 0) * 60;
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  return match[1] === "-" ? -minutes : minutes;
}

/** Removes comments in parentheses, which may be nested. */
function withoutComments(text: string): string {
  const first = text.indexOf("(");
  if (first === -1) return text;
  // Nearly always one comment at the end: `+0000 (UTC)`.
  if (text.indexOf("(", first + 1) === -1 && text.indexOf(")", first) === text.length - 1) return text.slice(0, first);
  let depth = 0;
  let result = "";
  for (const char of text) {
    if (char === "(") depth++;
    else if (char === ")" && depth > 0) depth--;
    else if (depth === 0) result += char;
  }
  return result;
}
