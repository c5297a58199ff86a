import { plainSubject } from "../mail/email.js";
import { UserError } from "../platform/errors.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJsonOrNull } from "../platform/json.js";
import type { Ending } from "../tasks/ending.js";
import { questionOf } from "../tasks/question.js";
import { isDontKnow } from "../text/abstention.js";
import {
  type CalendarDay,
  matchesDay,
  parseDatesAndTimes,
  parseNumbers,
  type TimeOfDay,
} from "../text/dates-and-numbers.js";
import { type EarlierCall, earlierCalls } from "../traces/earlier-calls.js";
import { sumCost } from "../traces/task-result.js";
import {
  askedOf,
  isChatTrace,
  isSuiteTrace,
  listedMails,
  openedMail,
  type ReturnedMail,
  type ToolCallRecord,
  type Turn,
} from "../traces/trace.js";
import type { EvaluatedTrace } from "./definition.js";

export interface Measurement {
  /** Null: the feature does not apply to the trace, so no bound on it is missed. */
  readonly value: number | null;
  /** What there is to see, named: the number that stands in no mail. */
  readonly detail?: string;
}

/** One number about a trace. */
interface Feature {
  /** What it is a number of, as a phrase: `numbers of the answer that stand in a mail that was read (share)`. */
  readonly meaning: string;
  readonly of: (trace: VisibleTrace) => Measurement;
}

/** All features that rules may bound, by the name that eval files use. */
export const FEATURES: Readonly<Record<string, Feature>> = {
  numbers_in_mail: {
    meaning: "numbers of the answer that stand in a mail that was read (share)",
    of: (trace) => numbersFoundIn(trace, trace.opened.map(textOf)),
  },
  numbers_in_results: {
    meaning: "numbers of the answer that stand in the result of some tool (share)",
    of: (trace) => numbersFoundIn(trace, trace.results.map(resultText)),
  },
  sources_read: {
    meaning: "sources of the answer that were opened (share)",
    of({ sources, opened }) {
      const read = idsOf(opened);
      return shareOf(sources, (id) => read.has(id));
    },
  },
  sources_returned: {
    meaning: "sources of the answer that some tool returned (share)",
    of({ sources, opened, listed }) {
      const returned = idsOf([...opened, ...listed]);
      return shareOf(sources, (id) => returned.has(id));
    },
  },
  sources: {
    meaning: "sources that the answer names",
    of({ sources, answer, abstained, isSuite }) {
      return isSuite || abstained || answer.trim() === "" ? DOES_NOT_APPLY : { value: sources.length };
    },
  },
  newer_in_thread: {
    meaning: "mails with the subject of a source that a tool returned and that are newer than every source",
    of({ sources, opened, listed }) {
      const cited = new Set(sources);
      const mails = [...opened, ...listed].flatMap((mail) => datedOf(mail) ?? []);
      const sourceMails = mails.filter(({ id }) => cited.has(id));
      if (sourceMails.length === 0) return DOES_NOT_APPLY;
      const newest =
        sourceMails
          .map(({ date }) => date)
          .toSorted()
          .at(-1) ?? "";
      const subjects = new Set(sourceMails.map(({ subject }) => subject));
      const newer = new Set(
        mails.filter(({ subject, date }) => subjects.has(subject) && date > newest).map(({ id }) => id),
      );
      return { value: newer.size, detail: listOf([...newer]) };
    },
  },
  mails_listed_before_abstaining: {
    meaning: "mails that searches returned before the agent said it does not know",
    of({ abstained, toolCalls }) {
      if (!abstained) return DOES_NOT_APPLY;
      const ids = [...idsOf(toolCalls.flatMap(listedMails))];
      return { value: ids.length, detail: listOf(ids) };
    },
  },
  mails_after_cutoff: {
    meaning: "mails that were opened or cited and are newer than the day of the question",
    of({ queryDate, sources, opened, listed }) {
      const cited = new Set(sources);
      const used = [...opened, ...listed.filter(({ message_id: id }) => cited.has(id))];
      const dated = used.flatMap(({ message_id: id, date }) =>
        typeof date === "string" && DAY.test(date) ? [{ id, day: date.slice(0, 10) }] : [],
      );
      if (queryDate === null || dated.length === 0) return DOES_NOT_APPLY;
      const late = [...new Set(dated.filter(({ day }) => day > queryDate).map(({ id }) => id))];
      return { value: late.length, detail: listOf(late) };
    },
  },
  other_mailbox_calls: {
    meaning: "tool calls that name another mailbox than that of the question",
    of({ inbox, toolCalls }) {
      if (inbox === null) return DOES_NOT_APPLY;
      const named = toolCalls.flatMap(({ arguments: args }) =>
        Object.entries(recordOf(args)).flatMap(([key, value]) =>
          MAILBOX_ARGUMENT.test(key) && typeof value === "string" ? value.trim() : [],
        ),
      );
      const others = named.filter((name) => name !== "" && name.toLowerCase() !== inbox.toLowerCase());
      return { value: others.length, detail: listOf(others) };
    },
  },
  addresses_in_results: {
    meaning: "e-mail addresses of the answer that stand in the question or in the result of some tool (share)",
    of({ answer, question, inbox, results }) {
      const addressesOf = (text: string) => (text.match(ADDRESS) ?? []).map((address) => address.toLowerCase());
      const claimed = [...new Set(addressesOf(answer.slice(0, MAX_CLAIM_CHARS)))];
      if (claimed.length === 0) return DOES_NOT_APPLY;
      const known = new Set([question, inbox ?? "", ...results.map(resultText)].flatMap(addressesOf));
      return shareOf(claimed, (address) => known.has(address));
    },
  },
  answer_complete: {
    meaning: "1 where the last reply of the model was not cut off by its limit of tokens, else 0",
    of({ turns }) {
      const last = turns.at(-1);
      return last === undefined ? DOES_NOT_APPLY : { value: last.finishReason === "length" ? 0 : 1 };
    },
  },
  ended: {
    meaning: "1 where the agent ended with an answer or an abstention, else 0",
    of: ({ ending }) => ({ value: ending === "answered" || ending === "dont_know" ? 1 : 0, detail: ending }),
  },
  date_given: {
    meaning: "1 where the answer names a date, a day or a time, else 0; of questions that ask when",
    of: (trace) =>
      asks(trace, ASKS_DATE) ? { value: hasDate(trace.answer.slice(0, MAX_CHARS)) ? 1 : 0 } : DOES_NOT_APPLY,
  },
  number_given: {
    meaning: "1 where the answer has a number, else 0; of questions that ask how many or how much",
    of: (trace) =>
      asks(trace, ASKS_NUMBER)
        ? { value: /\d/.test(trace.answer) || parseNumbers(trace.answer.slice(0, MAX_CHARS)).length > 0 ? 1 : 0 }
        : DOES_NOT_APPLY,
  },
  answer_words: {
    meaning: "words of the answer",
    of({ answer, abstained, isSuite }) {
      if (isSuite || abstained || answer.trim() === "") return DOES_NOT_APPLY;
      return { value: answer.trim().split(/\s+/).length };
    },
  },
  repeated_calls: {
    meaning: "tool calls that were made before with the same arguments",
    of({ toolCalls }) {
      const seen = new Set<string>();
      const repeated = toolCalls.filter(({ name, arguments: args }) => {
        const call = `${name} ${JSON.stringify(args)}`;
        const isRepeat = seen.has(call);
        seen.add(call);
        return isRepeat;
      });
      return {
        value: repeated.length,
        detail: listOf(repeated.map(({ name, arguments: args }) => `${name}(${JSON.stringify(args)})`)),
      };
    },
  },
  unparsable_calls: {
    meaning: "tool calls whose arguments could not be parsed",
    of({ toolCalls }) {
      const odd = toolCalls.filter(({ errorKind }) => errorKind === "unparsable_call");
      return { value: odd.length, detail: listOf(odd.map(({ name }) => name)) };
    },
  },
  failed_calls: {
    meaning: "tool calls that failed",
    of({ toolCalls }) {
      const failed = toolCalls.filter(({ error }) => error !== null);
      return { value: failed.length, detail: listOf(failed.map(({ name, error }) => `${name}: ${error}`)) };
    },
  },
  turns: { meaning: "turns", of: ({ turns }) => ({ value: turns.length }) },
  cost_usd: {
    meaning: "cost of the model calls in US dollars, where the price is known",
    of: ({ turns }) => (turns.length === 0 ? DOES_NOT_APPLY : { value: sumCost(turns) }),
  },
  seconds: {
    meaning: "duration in seconds",
    of: ({ durationMs }) => ({ value: durationMs / 1_000 }),
  },
  files_written: {
    meaning: "tool calls that wrote a file, or ran a program that can",
    of({ isSuite, toolCalls }) {
      if (!isSuite) return DOES_NOT_APPLY;
      return { value: toolCalls.filter((call) => WRITING_TOOLS.has(call.name) && call.error === null).length };
    },
  },
  commands_failed: {
    meaning: "commands that ended with an exit code other than 0, or by their time limit",
    of({ isSuite, toolCalls }) {
      if (!isSuite) return DOES_NOT_APPLY;
      const failed = toolCalls.filter(hasFailed);
      return { value: failed.length, detail: listOf(failed.map(commandOf)) };
    },
  },
  tests_run: {
    meaning: "commands that run tests or check with assert",
    of({ isSuite, toolCalls }) {
      if (!isSuite) return DOES_NOT_APPLY;
      return { value: toolCalls.filter((call) => RUNS_TESTS.test(commandOf(call))).length };
    },
  },
};

/** Throws where an eval names a feature that this version does not have. */
export function featureOf(name: string, where: string): Feature {
  const feature = Object.hasOwn(FEATURES, name) ? FEATURES[name] : undefined;
  if (feature !== undefined) return feature;
  throw new UserError(
    "feature_unknown",
    `${where}: there is no feature "${name}".`,
    `There are ${Object.keys(FEATURES).join(", ")}.`,
  );
}

const DOES_NOT_APPLY: Measurement = { value: null };

/** The share of `items` that are `fine`, naming the first few that are not; does not apply to no items. */
function shareOf(items: readonly string[], isFine: (item: string) => boolean): Measurement {
  if (items.length === 0) return DOES_NOT_APPLY;
  const odd = items.filter((item) => !isFine(item));
  if (odd.length === 0) return { value: 1 };
  return { value: (items.length - odd.length) / items.length, detail: listOf(odd) };
}

const LISTED = 3;

/** `a, b, c and 2 more`, each at most a line long. */
function listOf(items: readonly string[]): string {
  const shown = items.slice(0, LISTED).map((item) => item.replace(/\s+/g, " ").slice(0, 100));
  const more = items.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Characters of an answer or a mail that are searched for numbers. */
const MAX_CLAIM_CHARS = 50_000;

/** Numbers in digits, with their separators: `8,800`, `4.5`, `9:30`. Digits inside words (Q3) do not count. */
const WRITTEN = /(?<![\w.,:])\d+(?:[.,:]\d+)*(?![\w]|[.,:]\d)/g;
/** The same with the word that scales it: `1.5 million`, `1.5MM`. */
const SCALED =
  /(?<![\w.,:])\d+(?:[.,:]\d+)*(?:\s?(?:hundred|dozen|thousand|million|mil|billion|bn|trillion|mm|k|m|b)\b|(?![\w]|[.,:]\d))/gi;

/** A number of the question counts as found: the agent may repeat it. An abstention claims nothing. */
function numbersFoundIn({ answer, question, abstained }: VisibleTrace, texts: readonly string[]): Measurement {
  const claims = abstained ? [] : (answer.slice(0, MAX_CLAIM_CHARS).match(SCALED) ?? []);
  if (claims.length === 0) return DOES_NOT_APPLY;
  const searched = [question, ...texts].map((text) => text.slice(0, MAX_CLAIM_CHARS));
  const literal = new Set(searched.flatMap((text) => text.match(WRITTEN) ?? []));
  if (claims.every((claim) => literal.has(claim))) return { value: 1 };
  // Formats differ (1.5 million, 1,500,000; May 5 and 5/5/01): only then the texts are parsed.
  const found = searched.map(parseValues);
  const given = parseValues(answer.slice(0, MAX_CLAIM_CHARS));
  const days = new Set(given.days.filter((day) => !found.some((text) => hasDay(text, day))));
  const times = new Set(given.times.filter((time) => !found.some((text) => hasTime(text, time))));
  const values = new Set(found.flatMap((text) => [...text.values]));
  const all = [
    ...given.days.map((day) => ({ text: formatDay(day), isFound: !days.has(day) })),
    ...given.times.map((time) => ({ text: formatTime(time), isFound: !times.has(time) })),
    ...(given.rest.match(SCALED) ?? []).map((text) => ({
      text,
      isFound: literal.has(text) || valuesOf(text).some((value) => values.has(value)),
    })),
  ];
  const odd = new Set(all.filter(({ isFound }) => !isFound).map(({ text }) => text));
  return shareOf([...new Set(all.map(({ text }) => text))], (text) => !odd.has(text));
}

interface TextValues {
  readonly days: readonly CalendarDay[];
  readonly times: readonly TimeOfDay[];
  /** Without dates and times. */
  readonly rest: string;
  /** All numbers; of dates and times their parts, as an answer may name the year or the hour alone. */
  readonly values: ReadonlySet<number>;
}

function parseValues(text: string): TextValues {
  const { days, times, rest } = parseDatesAndTimes(text);
  const values = new Set(valuesOf(rest));
  for (const { year, month, day } of days) for (const part of [year, month, day]) if (part !== null) values.add(part);
  for (const time of times) for (const minutes of time) values.add(Math.floor(minutes / 60)).add(minutes % 60);
  return { days, times, rest, values };
}

function valuesOf(text: string): number[] {
  return parseNumbers(text).flatMap(({ values }) => [...values]);
}

function hasDay({ days }: TextValues, wanted: CalendarDay): boolean {
  return days.some((day) => matchesDay(wanted, day));
}

function hasTime({ times, values }: TextValues, wanted: TimeOfDay): boolean {
  const asNumber = (minutes: number) => Math.floor(minutes / 60) * 100 + (minutes % 60);
  return [...wanted].some((minutes) => values.has(asNumber(minutes)) || times.some((time) => time.has(minutes)));
}

function formatDay({ year, month, day }: CalendarDay): string {
  return [year, month, day].filter((part) => part !== null).join("-");
}

function formatTime(time: TimeOfDay): string {
  const [minutes = 0] = time;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}`;
}

function textOf(mail: ReturnedMail): string {
  return [mail.subject, mail.sender, mail.date, mail.body].filter((part) => typeof part === "string").join("\n");
}

function idsOf(mails: readonly ReturnedMail[]): Set<string> {
  return new Set(mails.map(({ message_id }) => message_id));
}

interface DatedMail {
  readonly id: string;
  /** Without Re:, Fw: and the like, in small letters. */
  readonly subject: string;
  readonly date: string;
}

/** Null where the tool gave no subject or date, as ART's search does. */
function datedOf({ message_id: id, subject, date }: ReturnedMail): DatedMail | null {
  if (typeof subject !== "string" || typeof date !== "string") return null;
  const plain = plainSubject(subject).toLowerCase();
  return plain === "" ? null : { id, subject: plain, date };
}

const DAY = /^\d{4}-\d{2}-\d{2}/;

/** Names of arguments that choose a mailbox. */
const MAILBOX_ARGUMENT = /^(inbox|mailbox|account)(_?(id|address))?$/i;

const ADDRESS = /\w[\w.+-]*@[\w-]+(?:\.[\w-]+)+/g;

/** All texts within a result, a line each: in JSON a line break would stand as a letter before what follows it. */
function resultText({ result }: EarlierCall): string {
  const texts: string[] = [];
  const collect = (value: JsonValue): void => {
    if (typeof value === "string" || typeof value === "number") texts.push(String(value));
    else if (Array.isArray(value)) value.forEach(collect);
    else Object.values(recordOf(value)).forEach(collect);
  };
  collect(result);
  return texts.join("\n");
}

/** Characters of the answer that are looked at. */
const MAX_CHARS = 20_000;

const ASKS_DATE =
  /^(when\b|(on|by|until|since) (what|which) (date|day)|(what|which) (date|day|month|year|time)\b|what time\b)/i;
const ASKS_NUMBER =
  /\b(how (many|much|long|large|big|high|old|often)|what (is|was|were|are) the (price|amount|number|percentage|rate|cost|total|volume|phone|fax|extension)|what (price|amount|number|percentage|rate|percent))\b/i;
const RELATIVE_DAY =
  /\b(today|tomorrow|yesterday|tonight|noon|midnight|mon|tues?|wed(nes)?|thur?s?|fri|sat(ur)?|sun)(day)?\b|\b(january|february|march|april|june|july|august|september|october|november|december|(in|of|by|since|until|till|early|mid|late|next|last) may)\b|\b(next|last|this) (week|month|quarter|year)\b/i;

/** Whether the question asks for such a value and the agent claims to have one. */
function asks({ question, answer, abstained, isSuite }: VisibleTrace, form: RegExp): boolean {
  return !isSuite && !abstained && answer.trim() !== "" && form.test(question.trim());
}

function hasDate(answer: string): boolean {
  const { days, times } = parseDatesAndTimes(answer);
  return days.length > 0 || times.length > 0 || RELATIVE_DAY.test(answer) || /\b(19|20)\d\d\b/.test(answer);
}

/** Tools that may leave files behind: they write one, or run what does. */
const WRITING_TOOLS: ReadonlySet<string> = new Set(["write_file", "run_shell", "execute_python", "run_notebook"]);

const RUNS_TESTS =
  /\b(pytest|unittest|nose2?|tox|dbt (test|build)|npm (run )?test|yarn test|make (check|test)|go test|cargo test|great_expectations|assert)\b/;

function hasFailed({ result }: ToolCallRecord): boolean {
  const { exit_code: exitCode, timed_out: timedOut } = recordOf(result);
  return timedOut === true || (typeof exitCode === "number" && exitCode !== 0);
}

function commandOf({ arguments: args }: ToolCallRecord): string {
  const { command, code } = recordOf(args);
  return typeof command === "string" ? command : typeof code === "string" ? code : "";
}

/** The fields of an object; none of any other value. */
function recordOf(value: JsonValue): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** What rules may see of a trace: neither scores nor a judge's verdict nor the gold answer. */
export interface VisibleTrace {
  readonly isSuite: boolean;
  readonly question: string;
  /** The mailbox that it is about; null: none is named. */
  readonly inbox: string | null;
  /** `YYYY-MM-DD`; null: no day is named. */
  readonly queryDate: string | null;
  /** Empty where there is none. */
  readonly answer: string;
  readonly ending: Ending;
  /** The agent said that it does not know. */
  readonly abstained: boolean;
  readonly sources: readonly string[];
  readonly toolCalls: readonly ToolCallRecord[];
  /** The tool calls of the whole conversation: a follow-up may rest on what an earlier chat found. */
  readonly results: readonly EarlierCall[];
  readonly turns: readonly Turn[];
  readonly durationMs: number;
  /** Mails that a search returned. */
  readonly listed: readonly ReturnedMail[];
  /** Mails that were opened, with their bodies. */
  readonly opened: readonly ReturnedMail[];
}

export function viewOf(trace: EvaluatedTrace): VisibleTrace {
  const { answer, ending, sources, turns, durationMs } = trace;
  const { inbox, queryDate } = mailboxOf(trace);
  const toolCalls = withParsedResults(trace.toolCalls);
  const results = [...earlierCalls(trace), ...toolCalls];
  return {
    isSuite: "task" in trace && isSuiteTrace(trace),
    question: askedOf(trace),
    inbox,
    queryDate,
    answer: answer ?? "",
    ending,
    abstained: ending === "dont_know" || isDontKnow(answer ?? ""),
    sources,
    toolCalls,
    results,
    turns,
    durationMs,
    listed: results.flatMap(listedMails),
    opened: results.flatMap((call) => openedMail(call) ?? []),
  };
}

export function mailboxOf(trace: EvaluatedTrace): Pick<VisibleTrace, "inbox" | "queryDate"> {
  if (isChatTrace(trace)) return { inbox: trace.inbox, queryDate: trace.queryDate };
  const { inbox_address: inbox = null, query_date: queryDate = null } = questionOf(trace.task) ?? {};
  return { inbox, queryDate };
}

/** Other programs' traces have results as texts: JSON in them is read, so that mails are found in it. */
export function withParsedResults(toolCalls: readonly ToolCallRecord[]): ToolCallRecord[] {
  return toolCalls.map((call) => {
    const { result } = call;
    if (typeof result !== "string" || !/^\s*[[{]/.test(result)) return call;
    return { ...call, result: (parseJsonOrNull(result) as JsonValue) ?? result };
  });
}
