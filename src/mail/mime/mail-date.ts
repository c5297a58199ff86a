/** Parses dates in emails and mail tables: RFC 5322, asctime, ISO 8601, and the formats of older mail programs. */
import { monthOf } from "../../text/dates-and-numbers.js";

/** Longer headers are truncated, because the patterns take cubic time on text that is not a date. */
const MAX_DATE_CHARS = 128;

/** Offsets from UTC in minutes, for the names in RFC 5322 4.3 and names that programs write without an offset. */
// biome-ignore format: rows of a table
const NAMED_ZONES: Readonly<Record<string, number>> = {
  Z: 0, UT: 0, UTC: 0, GMT: 0, WET: 0,
  EST: -300, EDT: -240, CST: -360, CDT: -300, MST: -420, MDT: -360, PST: -480, PDT: -420,
  NST: -210, NDT: -150, AST: -240, ADT: -180, AKST: -540, AKDT: -480, HST: -600,
  BST: 60, WEST: 60, CET: 60, MET: 60, CEST: 120, MEST: 120, EET: 120, SAST: 120, EEST: 180, MSK: 180, MSD: 240,
  HKT: 480, SGT: 480, AWST: 480, JST: 540, KST: 540, ACST: 570, AEST: 600, ACDT: 630, AEDT: 660, NZST: 720,
  NZDT: 780,
};

const TIME = String.raw`(?<hour>\d{1,2})\s*[:.]\s*(?<minute>\d{2})(?:\s*[:.]\s*(?<second>\d{2}))?(?:[.,]\d+)?(?!\d)`;
const AM_PM = String.raw`(?:\s*(?<half>[ap])\.?m\b\.?)?`;
const ZONE = String.raw`\s*(?<zone>\S.*)?`;
const MONTH = String.raw`(?<month>\p{L}{3,12})\.?`;
const WEEKDAY = String.raw`(?:\p{L}*\.?\s*,?\s*)`;
const DAY = String.raw`(?<day>\d{1,2})`;
const YEAR = String.raw`(?<year>\d{2,4})`;

const FORMS: readonly RegExp[] = [
  // RFC 5322 3.3 with the white space from 4.3: `Mon, 14 May 2001 09:39:00 -0700`.
  `${WEEKDAY}${DAY}[\\s-]+${MONTH}[\\s-]+${YEAR}\\s*,?\\s+${TIME}${AM_PM}${ZONE}`,
  // Month first: `Friday, March 10, 2006 1:40 PM`.
  `${WEEKDAY}${MONTH}\\s+${DAY}(?:st|nd|rd|th)?\\s*,\\s*${YEAR}\\s*,?\\s+(?:at\\s+)?${TIME}${AM_PM}${ZONE}`,
  // asctime, optionally with a zone before or after the year: `Fri Mar 10 13:40:00 2006`.
  `${WEEKDAY}${MONTH}\\s+${DAY}\\s*,?\\s+${TIME}${AM_PM}\\s+(?:(?<zoneBefore>[a-z]{1,5}|[+-]\\d{4})\\s+)?(?<year>\\d{4})(?!\\d)${ZONE}`,
  // ISO 8601, including the spaces and slashes used in tables.
  `(?<year>\\d{4})(?<separator>[-/])(?<monthNumber>\\d{1,2})\\k<separator>${DAY}(?:t|\\s+)${TIME}${AM_PM}${ZONE}`,
  // United States: `3/10/2006 1:40:00 PM`.
  `${WEEKDAY}(?<monthNumber>\\d{1,2})/${DAY}/(?<year>\\d{4}|\\d{2})\\s*,?\\s+${TIME}${AM_PM}${ZONE}`,
].map((form) => new RegExp(`^${form}$`, "iu"));

/** Starts of the month names that French, German, Spanish, Portuguese, Italian and Dutch mail programs write. */
// biome-ignore format: rows of a table
const OTHER_MONTHS: Readonly<Record<string, number>> = {
  gen: 1, ene: 1, fev: 2, maa: 3, mrt: 3, avr: 4, abr: 4, mai: 5, mag: 5, mei: 5, juin: 6, giu: 6, juil: 7, lug: 7,
  aou: 8, ago: 8, set: 9, okt: 10, ott: 10, out: 10, dez: 12, dic: 12,
};

/** Returns the number (1 to 12) of a month, or 0 if the name is unknown. */
function monthOfName(name: string): number {
  const plain = name.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  return monthOf(plain) || (OTHER_MONTHS[plain.slice(0, 4)] ?? OTHER_MONTHS[plain.slice(0, 3)] ?? 0);
}

/** The format of nearly all mail. Parsing it separately takes half the time of the patterns above. */
const USUAL_FORM =
  /^(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) ([1-9]\d{3}) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)([0-5]\d)(?: \([A-Z]{1,5}\))?$/;

/**
 * Parses a Date header (RFC 5322 3.3, the obsolete forms in 4.3, and others that programs write). Returns
 * `YYYY-MM-DDTHH:MM:SSZ`, or null if the text is not a date, the day does not exist, or the text after the time is
 * invalid. Two-digit years are 1950 to 2049, and 1900 is added to three-digit years (RFC 5322 4.3). A missing zone
 * means UTC.
 */
export function parseMailDate(header: string): string | null {
  const usual = USUAL_FORM.exec(header);
  if (usual !== null) {
    const [, day, month = "", year, hour, minute, second, sign, zoneHours, zoneMinutes] = usual;
    const offset = signedMinutes(sign === "-", `${zoneHours}${zoneMinutes}`);
    if (offset === null) return null;
    const monthOfYear = monthOf(month.toLowerCase());
    return toUtc(Number(year), monthOfYear, Number(day), Number(hour), Number(minute), Number(second), offset);
  }
  const text = withoutComments(header).replace(/\s+/g, " ").trim().slice(0, MAX_DATE_CHARS).replace(/^, ?/, "");
  for (const form of FORMS) {
    const groups = form.exec(text)?.groups;
    if (groups === undefined) continue;
    const { year = "", month, monthNumber, day, hour, minute, second = "0", half, zone, zoneBefore } = groups;
    const offset = offsetMinutes(zone ?? zoneBefore ?? "Z");
    if (offset === null) return null;
    const monthOfYear = month === undefined ? Number(monthNumber) : monthOfName(month);
    const clock = hourOfDay(Number(hour), half);
    return toUtc(fullYear(year), monthOfYear, Number(day), clock, Number(minute), Number(second), offset);
  }
  return null;
}

const ISO_DATE = /^(\d{4})-(\d{2})-(\d{2})$/;

/**
 * Parses an ISO 8601 date, with or without a time. Returns `YYYY-MM-DDTHH:MM:SSZ`. Assumes UTC if the zone is missing.
 */
export function parseIsoDate(text: string): string | null {
  const trimmed = text.trim();
  const [, year, month, day] = ISO_DATE.exec(trimmed) ?? [];
  if (year !== undefined) return toUtc(Number(year), Number(month), Number(day), 0, 0, 0, 0);
  return /^\d{4}-\d{2}-\d{2}[T ]\d/i.test(trimmed) ? parseMailDate(trimmed) : null;
}

/** Converts seconds, milliseconds, microseconds or nanoseconds since 1970 to a date from 1980 to 2100. */
export function dateOfEpoch(value: number): string | null {
  for (const perSecond of [1, 1e3, 1e6, 1e9]) {
    const seconds = value / perSecond;
    if (seconds >= 315_532_800 && seconds < 4_102_444_800) return isoSeconds(new Date(Math.floor(seconds) * 1000));
  }
  return null;
}

/** Parses a cell of a mail table's date column. */
export function parseTableDate(text: string): string | null {
  const trimmed = withoutCall(text.trim());
  // pandas writes large numbers in exponent notation.
  if (/^(?:\d{9,19}(?:\.\d*)?|\d\.\d{4,}e\+?\d{1,2})$/i.test(trimmed)) return dateOfEpoch(Number(trimmed));
  // Placeholders for a missing date, at midnight: .NET's MinValue, MySQL's zero date.
  if (/^000[01]-0[01]-0[01](?!.*[1-9])/.test(trimmed)) return null;
  const basic = /^(\d{4})(\d{2})(\d{2})(?:[T ]?(\d{2})(\d{2})(\d{2})?(.*))?$/s.exec(trimmed);
  if (basic !== null) {
    const [, year, month, day, hour = "00", minute = "00", second = "00", zone = ""] = basic;
    return parseIsoDate(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`);
  }
  // Day first: `14.05.2001`, `14-05-2001`, or `14/05/2001` if the first number cannot be a month.
  const dayFirst = /^(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?!\d)(.*)$/s.exec(trimmed);
  if (dayFirst !== null && (Number(dayFirst[1]) > 12 || dayFirst[2] !== "/")) {
    const [, first = "", , second = "", year = "", rest = ""] = dayFirst;
    const [day, month] = Number(second) > 12 ? [second, first] : [first, second];
    return parseIsoDate(`${fullYear(year)}-${month.padStart(2, "0")}-${day.padStart(2, "0")}${rest}`);
  }
  const eastAsian = /^(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]\s*(.*)$/s.exec(trimmed);
  if (eastAsian !== null) {
    const [, year, month = "", day = "", rest = ""] = eastAsian;
    return parseIsoDate(`${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")} ${rest}`.trim());
  }
  if (EXCEL_DAYS.test(trimmed)) return dateOfEpoch(Math.round((Number(trimmed) - EXCEL_EPOCH_DAYS) * 86_400));
  const usDay = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(trimmed);
  if (usDay !== null) return toUtc(Number(usDay[3]), Number(usDay[1]), Number(usDay[2]), 0, 0, 0, 0);
  return parseIsoDate(trimmed) ?? parseMailDate(trimmed);
}

/** Excel's number for a date and time: days since 1899-12-30. Five digits are the years 1954 to 2036. */
const EXCEL_DAYS = /^[2-4]\d{4}\.\d+$/;
const EXCEL_EPOCH_DAYS = 25_569;

/** Returns the date in a Python expression: `Timestamp('...')`, `datetime.datetime(2001, 5, 14)`, or a tuple. */
function withoutCall(text: string): string {
  const quoted = /^(?:\w+\.)*(?:Timestamp|datetime64)\(\s*'([^']*)'.*\)$/s.exec(text)?.[1];
  if (quoted !== undefined) return quoted;
  const numbers = /^(?:(?:\w+\.)*(?:datetime|date|struct_time))?\(((?:\s*\d+\s*,?){3,9})(?:,?\s*\w+=.*)?\)$/s.exec(
    text,
  )?.[1];
  if (numbers === undefined) return text;
  const [year = "", ...rest] = (numbers.match(/\d+/g) ?? []).map((number) => number.padStart(2, "0"));
  const [month, day, hour = "00", minute = "00", second = "00"] = rest;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}`;
}

/** Formats a Date as ISO 8601 in UTC, to the second. Returns null for an invalid Date or a year outside 0 to 9999. */
export function isoSeconds(date: Date): string | null {
  const year = date.getUTCFullYear();
  if (!(year >= 0 && year <= 9999)) return null;
  return `${date.toISOString().slice(0, 19)}Z`;
}

/**
 * Returns the hour, or NaN if it is invalid on a 12-hour clock. For 24-hour times with a superfluous PM, returns the
 * hour unchanged.
 */
function hourOfDay(hour: number, half: string | undefined): number {
  if (half === undefined || hour > 12) return hour;
  if (hour === 0) return half.toLowerCase() === "a" ? 0 : Number.NaN;
  return (hour % 12) + (half.toLowerCase() === "p" ? 12 : 0);
}

function toUtc(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
  offset: number,
): string | null {
  // Date.UTC would treat the years 0 to 99 as 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (month < 1 || month > 12 || date.getUTCDate() !== day || day === 0) return null;
  // 60 is a leap second.
  if (!(hour <= 23 && minute <= 59 && second <= 60)) return null;
  date.setUTCHours(hour, minute - offset, second);
  return isoSeconds(date);
}

function fullYear(year: string): number {
  const value = Number(year);
  if (year.length === 2) return value < 50 ? 2000 + value : 1900 + value;
  return year.length === 3 ? 1900 + value : value;
}

/**
 * Returns the offset from UTC in minutes, or null if unknown. Accepts `-0700`, `+01:00`, `-600`, `+02`, `GMT+0100`, or
 * a name.
 */
function offsetMinutes(text: string): number | null {
  const zone = text.replace(/^["'([]+|["')\]]+$/g, "").trim();
  const [, sign, digits] =
    /^(?:(?:gmt|utc|ut)\s*)?([+-])\s*(\d{1,2}:\d{2}|\d{1,4})(?!\d)(?:$|[\s(,;[].*|[a-z].*)/i.exec(zone) ?? [];
  if (digits !== undefined) return signedMinutes(sign === "-", digits);
  // Some programs write UTC as four digits without a sign.
  if (/^0{4}$/.test(zone)) return 0;
  const name = zone.toUpperCase();
  // RFC 5322 4.3: single letters were used with both signs and are meaningless.
  if (/^[A-IK-Z]$/.test(name)) return 0;
  const spelled = /^(EASTERN|CENTRAL|MOUNTAIN|PACIFIC) (STANDARD|DAYLIGHT) TIME$/.exec(name);
  const short = spelled === null ? name : `${spelled[1]?.[0]}${spelled[2]?.[0]}T`;
  return NAMED_ZONES[short] ?? null;
}

function signedMinutes(isWest: boolean, digits: string): number | null {
  const [hours = "", minutes = ""] = digits.includes(":")
    ? digits.split(":")
    : digits.length <= 2
      ? [digits, "0"]
      : [digits.slice(0, -2), digits.slice(-2)];
  if (Number(minutes) > 59) return null;
  const total = Number(hours) * 60 + Number(minutes);
  // The largest offsets in use are +14:00 and -12:00.
  if (total > 14 * 60) return null;
  return isWest ? -total : total;
}

/** Removes comments in parentheses (RFC 5322 3.2.2), including nested ones. */
export function withoutComments(text: string): string {
  const first = text.indexOf("(");
  if (first === -1) return text;
  // There is nearly always only one comment, at the end: `+0000 (UTC)`.
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
