/**
 * Converts calendar parts (RFC 5545, and vCalendar 1.0 from older programs) to text: what, when, where and who. Does
 * not use ical.js 2.2: a single damaged line, a missing END or an unknown frequency makes it reject an entire calendar.
 * It also misreads `TZID=GMT+05:30:20120904T020000`, a date without VALUE=DATE and quoted-printable values without an
 * error.
 */

import { compact } from "../../platform/optional-values.js";
import { htmlToText } from "../html-text.js";
import { decodeCharset } from "./charset.js";
import { withLineFeeds } from "./email-fields.js";
import { decodeQuotedPrintable } from "./transfer-encoding.js";

interface Line {
  readonly name: string;
  readonly params: Readonly<Record<string, string>>;
  readonly value: string;
}

interface Time {
  readonly day: string;
  /** Time of day, such as `14:00`. Empty for an all-day event. */
  readonly clock: string;
  readonly zone: string;
}

/** Maximum number of events. A published calendar can contain thousands. */
const MAX_EVENTS = 1_000;

const COMPONENTS: Readonly<Record<string, string>> = {
  VEVENT: "Event",
  VTODO: "Task",
  VJOURNAL: "Journal",
  VFREEBUSY: "Free/busy times",
};

const METHODS: Readonly<Record<string, string>> = {
  REQUEST: "Invitation",
  CANCEL: "Cancelled",
  REPLY: "Reply to an invitation",
  COUNTER: "Other time proposed",
  DECLINECOUNTER: "Proposed time declined",
  ADD: "Added to an invitation",
  REFRESH: "Request for the current invitation",
};

/** Returns the events as text, or the decoded source if it does not contain any. */
export function calendarText(content: Buffer, charset: string): string {
  const source = decodeCharset(content, charset);
  const events: string[] = [];
  let method: string | undefined;
  let open: { readonly kind: string; readonly lines: Line[] } | null = null;
  // Components inside an event, such as an alarm, are skipped.
  let inner = 0;
  const close = () => {
    if (open !== null) events.push(eventText(COMPONENTS[open.kind] ?? "", open.lines));
    open = null;
  };
  for (const line of linesOf(content, charset)) {
    if (line.name === "METHOD") method = METHODS[line.value.trim().toUpperCase()];
    const component = line.value.trim().toUpperCase();
    if (line.name === "BEGIN" && open !== null) inner++;
    else if (line.name === "BEGIN" && COMPONENTS[component] !== undefined) open = { kind: component, lines: [] };
    else if (line.name === "END" && inner > 0) inner--;
    else if (line.name === "END") {
      close();
      if (events.length === MAX_EVENTS) break;
    } else if (inner === 0) open?.lines.push(line);
  }
  if (events.length === 0) return source;
  // In a truncated calendar, END is missing.
  close();
  return compact([method, ...events]).join("\n\n");
}

function eventText(kind: string, lines: readonly Line[]): string {
  const all = (name: string) => lines.filter((line) => line.name === name && line.value.trim() !== "");
  const first = (name: string) => all(name)[0];
  const textsOf = (name: string) => all(name).map(({ value }) => unescaped(value).trim());
  const textOf = (name: string) => textsOf(name)[0];
  const rulesOf = (name: string) => all(name).map(({ value }) => ruleText(value));
  const timesOf = (name: string) => all(name).flatMap(({ params, value }) => timeList(params, value));
  const status = textOf("STATUS")?.toLowerCase();
  const rows: [string, string | undefined][] = [
    [kind, textOf("SUMMARY") ?? (kind === COMPONENTS.VFREEBUSY ? "" : "(no title)")],
    ["When", whenOf(first("DTSTART"), first("DTEND"), first("DURATION"))],
    ["Due", timeOf(first("DUE"))],
    ["Completed", timeOf(first("COMPLETED"))],
    ["Repeats", rulesOf("RRULE").join("; ")],
    ["Also on", timesOf("RDATE").join(", ")],
    ["Except on", [...rulesOf("EXRULE"), ...timesOf("EXDATE")].join(", ")],
    ["Occurrence", occurrenceOf(first("RECURRENCE-ID"))],
    ["Busy", timesOf("FREEBUSY").join(", ")],
    ["Where", textOf("LOCATION")],
    ["Resources", textsOf("RESOURCES").join(", ")],
    ["Conference", textsOf("CONFERENCE").join(", ")],
    ["Status", status === "confirmed" ? undefined : status],
    ["Organizer", all("ORGANIZER").map(personOf).join(", ")],
    ["Attendees", all("ATTENDEE").map(personOf).join(", ")],
    ["Contact", textsOf("CONTACT").join(", ")],
    ["Link", textOf("URL")],
  ];
  const head = rows.flatMap(([name, value], i) =>
    value === undefined || value === "" ? (i === 0 ? [name] : []) : [`${name}: ${value}`],
  );
  // A reply's comment contains the sender's text (RFC 5546 3.2.3).
  const comments = textsOf("COMMENT").map((comment) => `Comment: ${comment}`);
  const description = textOf("DESCRIPTION") ?? htmlToText(textOf("X-ALT-DESC") ?? "").trim();
  return compact([head.join("\n"), ...comments, description !== "" && description]).join("\n\n");
}

/** Yields the content lines. They are unfolded before decoding, because folds can split a character. */
function* linesOf(content: Buffer, charset: string): Generator<Line> {
  // UTF-16 cannot be unfolded as bytes.
  const isWide = content.subarray(0, 4_096).includes(0);
  const bytes = isWide ? Buffer.from(decodeCharset(content, charset), "utf8") : content;
  const label = isWide ? "utf-8" : charset;
  for (const folded of unfolded(withLineFeeds(bytes.toString("latin1")).split("\n"))) {
    const line = parseLine(decodeCharset(Buffer.from(folded, "latin1"), label));
    if (line !== null) yield line;
  }
}

/** vCalendar 1.0 also allows the encoding without its parameter name. */
const QUOTED_PRINTABLE = /^[\w-]+(?:;[^:]*)?;(?:encoding=)?"?quoted-printable\b/i;

/** Joins folded lines. A line that starts with white space continues the previous one (RFC 5545 3.1). */
function* unfolded(source: readonly string[]): Generator<string> {
  let pieces: string[] = [];
  let isQuotedPrintable = false;
  for (const raw of source) {
    const last = pieces.at(-1);
    if (isQuotedPrintable && last?.endsWith("=")) {
      pieces[pieces.length - 1] = last.slice(0, -1);
      pieces.push(raw);
    } else if (last !== undefined && /^[ \t]/.test(raw)) {
      pieces.push(raw.slice(1));
    } else {
      if (last !== undefined) yield pieces.join("");
      pieces = [raw];
      isQuotedPrintable = QUOTED_PRINTABLE.test(raw);
    }
  }
  if (pieces.length > 0) yield pieces.join("");
}

const DATE_TIME = String.raw`\d{4}-?\d\d-?\d\d(?:T\d\d:?\d\d(?::?\d\d)?Z?)?`;

/** A property with an unquoted colon in its parameters, as in `TZID=GMT+05:30`. Its value is the time at the end. */
const TIME_LINE = new RegExp(
  String.raw`^(?:DTSTART|DTEND|DUE|EXDATE|RDATE|RECURRENCE-ID)(?<params>;[^"]*):(?<value>${DATE_TIME}(?:,${DATE_TIME})*)\s*$`,
  "i",
);

function parseLine(line: string): Line | null {
  const name = /^[\w-]+/.exec(line)?.[0];
  if (name === undefined) return null;
  const time = TIME_LINE.exec(line)?.groups;
  if (time !== undefined) {
    const pairs = (time.params ?? "").slice(1).split(";");
    const params = pairs.map((pair) => [pair.split("=", 1)[0]?.toUpperCase(), pair.slice(pair.indexOf("=") + 1)]);
    return { name: name.toUpperCase(), params: Object.fromEntries(params), value: time.value ?? "" };
  }
  const params: Record<string, string> = {};
  let at = name.length;
  while (line[at] === ";") {
    const param = /;([\w-]+)(?:=((?:"[^"]*"|[^",;:])*(?:,(?:"[^"]*"|[^",;:])*)*))?/y;
    param.lastIndex = at;
    const match = param.exec(line);
    if (match === null) break;
    const [, key = "", value] = match;
    // vCalendar 1.0 allows some values without their parameter name.
    const isEncoding = value === undefined && /^(?:quoted-printable|base64)$/i.test(key);
    params[isEncoding ? "ENCODING" : key.toUpperCase()] = isEncoding ? key : parameterValue(value ?? "");
    at = param.lastIndex;
  }
  if (line[at] !== ":") return null;
  return { name: name.toUpperCase(), params, value: decodedValue(params, line.slice(at + 1)) };
}

/** Decodes `^n`, `^'` and `^^` (RFC 6868). */
function parameterValue(value: string): string {
  return value
    .replaceAll('"', "")
    .replace(/\^([n'^])/g, (_, char: string) => (char === "n" ? "\n" : char === "'" ? '"' : char));
}

/** Decodes a value. vCalendar 1.0 encodes non-ASCII text and line ends. */
function decodedValue(params: Readonly<Record<string, string>>, value: string): string {
  const encoding = params.ENCODING?.toLowerCase();
  if (encoding === "quoted-printable")
    return decodeCharset(decodeQuotedPrintable(Buffer.from(value, "utf8")), params.CHARSET ?? "");
  if (encoding === "base64" && params.VALUE === undefined)
    return decodeCharset(Buffer.from(value, "base64"), params.CHARSET ?? "");
  return value;
}

function unescaped(value: string): string {
  return withLineFeeds(value).replace(/\\([nN\\;,:"])/g, (_, char: string) =>
    char.toLowerCase() === "n" ? "\n" : char,
  );
}

const ANSWERS = new Set(["accepted", "declined", "tentative", "delegated", "completed", "confirmed"]);

/** Formats a person: `Bob Blake <bob@x.example> (accepted)`. */
function personOf({ params, value }: Line): string {
  const address = value.trim().replace(/^mailto:/i, "");
  const name = params.CN ?? "";
  const answer = (params.PARTSTAT ?? params.STATUS ?? "").toLowerCase();
  return `${name === "" || name === address ? address : `${name} <${address}>`}${ANSWERS.has(answer) ? ` (${answer})` : ""}`;
}

/** Parses a time. Returns null if the value is not a time. */
function readTime({ params, value }: Pick<Line, "params" | "value">): Time | null {
  const [, year, month, day, hour, minute, utc] =
    /^(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)[:\d]*(Z?))?$/i.exec(value.trim()) ?? [];
  if (year === undefined) return null;
  const clock = hour === undefined ? "" : `${hour}:${minute}`;
  const zone = clock === "" ? "" : utc !== "" ? "UTC" : zoneName(params.TZID ?? "");
  return { day: `${year}-${month}-${day}`, clock, zone };
}

/** Returns the zone name at the end of a globally unique id (`/mozilla.org/20050126_1/Europe/Berlin`). */
function zoneName(id: string): string {
  return id.startsWith("/") ? (/[A-Z]\w+\/[\w+-]+$/.exec(id)?.[0] ?? id) : id;
}

function timeOf(line: Pick<Line, "params" | "value"> | undefined): string | undefined {
  if (line === undefined) return undefined;
  const time = readTime(line);
  return time === null ? line.value.trim() : written(time.day, time.clock, time.zone);
}

/** Describes the changed occurrence of a recurring event, including whether later ones also change. */
function occurrenceOf(line: Line | undefined): string | undefined {
  const isFuture = line?.params.RANGE?.toUpperCase() === "THISANDFUTURE";
  return isFuture ? `${timeOf(line)} and later` : timeOf(line);
}

/** Formats a list of times and periods (RFC 5545 3.3.9). vCalendar 1.0 separates them with semicolons. */
function timeList(params: Line["params"], list: string): string[] {
  return list.split(/[,;]/).flatMap((item) => {
    const [start = "", end] = item.trim().split("/", 2);
    if (start === "") return [];
    const lineOf = (value: string): Line => ({ name: "", params, value });
    if (end === undefined) return timeOf(lineOf(start)) ?? [];
    const isDuration = /^[+-]?P/i.test(end);
    const when = whenOf(lineOf(start), isDuration ? undefined : lineOf(end), isDuration ? lineOf(end) : undefined);
    return when ?? [];
  });
}

function written(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}

function whenOf(start: Line | undefined, end: Line | undefined, duration: Line | undefined): string | undefined {
  if (start === undefined) return undefined;
  const from = readTime(start);
  const to = end === undefined ? null : readTime(end);
  if (from === null) return start.value.trim();
  if (to === null) {
    const length = duration === undefined ? "" : `for ${durationText(duration.value)}`;
    return written(from.day, from.clock, from.zone, length);
  }
  // The last day of an all-day event is the day before its end.
  if (to.clock === "" && from.clock === "") {
    const last = dayBefore(to.day);
    return last <= from.day ? from.day : `${from.day} to ${last}`;
  }
  const isSameZone = from.zone === to.zone;
  const until = written(from.day === to.day && isSameZone ? "" : to.day, to.clock);
  return isSameZone
    ? written(from.day, from.clock, "to", until, from.zone)
    : written(from.day, from.clock, from.zone, "to", until, to.zone);
}

function dayBefore(day: string): string {
  const at = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(at) ? day : new Date(at - 86_400_000).toISOString().slice(0, 10);
}

/** Formats a duration: `PT1H30M` becomes "1 h 30 min". */
function durationText(value: string): string {
  const units: Readonly<Record<string, string>> = { W: "weeks", D: "days", H: "h", M: "min", S: "s" };
  const parts = [...value.matchAll(/(\d+)([WDHMS])/gi)].filter(([, count]) => Number(count) > 0);
  return parts.map(([, count, unit]) => `${count} ${units[unit?.toUpperCase() ?? ""]}`).join(" ") || value.trim();
}

const MONTHS = "January February March April May June July August September October November December".split(" ");

/**
 * Formats a rule (RFC 5545 3.3.10). `FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;UNTIL=20010401` becomes "weekly, every 2, on MO,
 * until 2001-04-01". No part is left out, because each one changes the dates.
 */
function ruleText(rule: string): string {
  const parts = new Map(
    rule.split(";").flatMap((part) => {
      const [name = "", value = ""] = part.split("=", 2);
      return value.trim() === "" ? [] : [[name.trim().toUpperCase(), value.trim()] as const];
    }),
  );
  const frequency = parts.get("FREQ");
  if (frequency === undefined) return oldRuleText(rule);
  parts.delete("FREQ");
  const texts = [...parts].flatMap(([name, value]) => {
    const text = RULE_PARTS[name]?.(value.replace(/\s*,\s*/g, ", ")) ?? `${name}=${value}`;
    return text === "" ? [] : [text];
  });
  const order = (text: string) => Number(/^(?:\d+ times|until )/.test(text));
  return [frequency.toLowerCase(), ...texts.sort((a, b) => order(a) - order(b))].join(", ");
}

/** Formats the parts of a rule. Lists are separated by commas and spaces. */
const RULE_PARTS: Readonly<Record<string, (list: string) => string>> = {
  INTERVAL: (interval) => (interval === "1" ? "" : `every ${interval}`),
  BYDAY: (days) => `on ${days}`,
  BYMONTH: (months) =>
    `in ${months
      .split(", ")
      .map((month) => MONTHS[Number(month) - 1] ?? month)
      .join(", ")}`,
  BYMONTHDAY: (days) => `on day ${days} of the month`,
  BYYEARDAY: (days) => `on day ${days} of the year`,
  BYWEEKNO: (weeks) => `in week ${weeks}`,
  BYHOUR: (hours) => `at hour ${hours}`,
  BYMINUTE: (minutes) => `at minute ${minutes}`,
  BYSECOND: (seconds) => `at second ${seconds}`,
  BYSETPOS: (places) => (places === "-1" ? "only the last of them (position -1)" : `only position ${places} of them`),
  WKST: (day) => `weeks begin on ${day}`,
  COUNT: (times) => `${times} times`,
  UNTIL: untilText,
};

function untilText(value: string): string {
  return `until ${readTime({ params: {}, value })?.day ?? value}`;
}

const OLD_FREQUENCIES: Readonly<Record<string, string>> = {
  D: "daily",
  W: "weekly",
  MP: "monthly",
  MD: "monthly",
  YM: "yearly",
  YD: "yearly",
};

/** Formats a vCalendar 1.0 rule: `W2 MO WE #10` is weekly, every 2, on MO WE, 10 times. */
function oldRuleText(rule: string): string {
  const [, kind = "", interval = "", rest = ""] = /^(D|W|M[PD]|Y[MD])(\d+)(.*)$/i.exec(rule.trim()) ?? [];
  const frequency = OLD_FREQUENCIES[kind.toUpperCase()];
  if (frequency === undefined) return rule.trim();
  const [, on = "", count, until] = /^(.*?)(?:\s*#(\d+))?(?:\s*(\d{8}T\d{4,6}Z?))?$/i.exec(rest.trim()) ?? [];
  return compact([
    frequency,
    interval !== "1" && `every ${interval}`,
    on !== "" && `on ${on}`,
    // `#0` repeats forever.
    count !== undefined && count !== "0" && `${count} times`,
    until !== undefined && untilText(until),
  ]).join(", ");
}
