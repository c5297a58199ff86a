// The features that rule evals can bound: numbers measured on a trace, without its scores, verdict and gold answer.
// Exported traces and the traces that evals in Python and TypeScript receive contain their values.
import { plainSubject } from "../mail/subject.js";
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
import { type ObservedWork, observedWork } from "../traces/observed-work.js";
import { listedMails, openedMail, type ReturnedMail } from "../traces/returned-mails.js";
import { sumCost } from "../traces/task-result.js";
import { askedOf, type ToolCallRecord, type Turn } from "../traces/trace.js";
import type { EvaluatedTrace } from "./definition.js";

export interface Measurement {
  /**
   * The measured value, or null if the feature does not apply to the trace or is unknown for its agent. Null meets
   * every bound.
   */
  readonly value: number | null;
  /** The offending items, such as numbers that no opened email contains. */
  readonly detail?: string;
}

/** A number measured on a trace. */
interface Feature {
  /** The part of the agent's work that the number is about. It is unknown if art-e did not see this part. */
  readonly needs?: keyof ObservedWork;
  /** A phrase that describes the number: `fraction of the answer's numbers that appear in an opened email`. */
  readonly meaning: string;
  readonly of: (trace: VisibleTrace) => Measurement;
}

interface TextValues {
  readonly days: readonly CalendarDay[];
  readonly times: readonly TimeOfDay[];
  /** The text without dates and times. */
  readonly rest: string;
  /** Numbers, including the parts of dates and times, because an answer can contain only the year or the hour. */
  readonly values: ReadonlySet<number>;
}

interface DatedMail {
  readonly id: string;
  /** Lower case, without prefixes such as Re: and Fw:. */
  readonly subject: string;
  readonly date: string;
}

/** The part of a trace that rules can see. Scores, the judge's verdict and the gold answer are excluded. */
export interface VisibleTrace {
  readonly isSuite: boolean;
  readonly question: string;
  /** The question's mailbox, or null if it does not specify one. */
  readonly inbox: string | null;
  /** `YYYY-MM-DD`, or null for a question without a date. */
  readonly queryDate: string | null;
  /** Empty if the agent did not answer. */
  readonly answer: string;
  readonly ending: Ending;
  /** Whether the agent said that it does not know. */
  readonly abstained: boolean;
  readonly sources: readonly string[];
  readonly toolCalls: readonly ToolCallRecord[];
  /** The tool calls of the entire conversation, because a follow-up can rely on the results of an earlier chat. */
  readonly results: readonly EarlierCall[];
  readonly turns: readonly Turn[];
  readonly observed: ObservedWork;
  readonly durationMs: number;
  /** Emails listed in search results. */
  readonly listed: readonly ReturnedMail[];
  /** Opened emails with their bodies. */
  readonly opened: readonly ReturnedMail[];
}

const MEASURED: Readonly<Record<string, Feature>> = {
  numbers_in_mail: {
    meaning: "fraction of the answer's numbers that appear in an opened email",
    needs: "toolCalls",
    of: (trace) => numbersFoundIn(trace, trace.opened.map(returnedMailText)),
  },
  numbers_in_results: {
    meaning: "fraction of the answer's numbers that appear in a tool result",
    needs: "toolCalls",
    of: (trace) => numbersFoundIn(trace, trace.results.map(resultText)),
  },
  sources_read: {
    meaning: "fraction of the answer's sources that the agent opened",
    needs: "toolCalls",
    of({ sources, opened }) {
      const read = idsOf(opened);
      return shareOf(sources, (id) => read.has(id));
    },
  },
  sources_returned: {
    meaning: "fraction of the answer's sources that a tool returned",
    needs: "toolCalls",
    of({ sources, opened, listed }) {
      const returned = idsOf([...opened, ...listed]);
      return shareOf(sources, (id) => returned.has(id));
    },
  },
  sources: {
    meaning: "number of sources that the answer cites",
    of({ sources, answer, abstained, isSuite }) {
      return isSuite || abstained || answer.trim() === "" ? DOES_NOT_APPLY : { value: sources.length };
    },
  },
  newer_in_thread: {
    meaning: "number of returned emails with a source's subject that are newer than every source",
    needs: "toolCalls",
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
  gave_up_unread: {
    meaning: "1 if the agent abstained without opening any of the emails that its searches returned, otherwise 0",
    needs: "toolCalls",
    of({ abstained, toolCalls, opened, isSuite }) {
      if (isSuite) return DOES_NOT_APPLY;
      const listed = [...idsOf(toolCalls.flatMap(listedMails))];
      const read = idsOf(opened);
      const hasOpened = toolCalls.some((call) => openedMail(call) !== null) || listed.some((id) => read.has(id));
      return abstained && !hasOpened && listed.length > 0 ? { value: 1, detail: listOf(listed) } : { value: 0 };
    },
  },
  mails_after_cutoff: {
    meaning: "number of opened or cited emails newer than the question's date",
    needs: "toolCalls",
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
    meaning: "number of tool calls for a mailbox other than the question's",
    needs: "toolCalls",
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
    meaning: "fraction of the answer's email addresses that appear in the question or a tool result",
    needs: "toolCalls",
    of({ answer, question, inbox, results }) {
      const addressesOf = (text: string) => (text.match(ADDRESS) ?? []).map((address) => address.toLowerCase());
      const claimed = [...new Set(addressesOf(answer.slice(0, MAX_CLAIM_CHARS)))];
      if (claimed.length === 0) return DOES_NOT_APPLY;
      const known = new Set([question, inbox ?? "", ...results.map(resultText)].flatMap(addressesOf));
      return shareOf(claimed, (address) => known.has(address));
    },
  },
  answer_complete: {
    meaning: "1 if the model's last reply was not truncated at the token limit, otherwise 0",
    needs: "modelCalls",
    of({ turns }) {
      const last = turns.at(-1);
      return last === undefined ? DOES_NOT_APPLY : { value: last.finishReason === "length" ? 0 : 1 };
    },
  },
  ended: {
    meaning: "1 if the agent ended with an answer or an abstention, otherwise 0",
    of: ({ ending }) => ({ value: ending === "answered" || ending === "dont_know" ? 1 : 0, detail: ending }),
  },
  date_given: {
    meaning: "1 if the answer contains a date, a day or a time, otherwise 0; only for questions that ask when",
    of: (trace) =>
      asks(trace, ASKS_DATE) ? { value: hasDate(trace.answer.slice(0, MAX_CHARS)) ? 1 : 0 } : DOES_NOT_APPLY,
  },
  number_given: {
    meaning: "1 if the answer contains a number, otherwise 0; only for questions that ask how many or how much",
    of: (trace) =>
      asks(trace, ASKS_NUMBER)
        ? { value: /\d/.test(trace.answer) || parseNumbers(trace.answer.slice(0, MAX_CHARS)).length > 0 ? 1 : 0 }
        : DOES_NOT_APPLY,
  },
  answer_words: {
    meaning: "number of words in the answer",
    of({ answer, abstained, isSuite }) {
      if (isSuite || abstained || answer.trim() === "") return DOES_NOT_APPLY;
      return { value: answer.trim().split(/\s+/).length };
    },
  },
  repeated_calls: {
    meaning: "number of tool calls that repeat an earlier call with the same arguments",
    needs: "toolCalls",
    of({ toolCalls, results }) {
      const keyOf = ({ name, arguments: args }: EarlierCall) => `${name} ${JSON.stringify(args)}`;
      const seen = new Set(results.slice(0, results.length - toolCalls.length).map(keyOf));
      const repeated = toolCalls.filter((one) => {
        const call = keyOf(one);
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
    meaning: "number of tool calls with unparsable arguments",
    needs: "toolCalls",
    of({ toolCalls }) {
      const odd = toolCalls.filter(({ errorKind }) => errorKind === "unparsable_call");
      return { value: odd.length, detail: listOf(odd.map(({ name }) => name)) };
    },
  },
  failed_calls: {
    meaning: "number of failed tool calls",
    needs: "toolCalls",
    of({ toolCalls }) {
      const failed = toolCalls.filter(({ error }) => error !== null);
      return { value: failed.length, detail: listOf(failed.map(({ name, error }) => `${name}: ${error}`)) };
    },
  },
  turns: { meaning: "number of turns", needs: "modelCalls", of: ({ turns }) => ({ value: turns.length }) },
  cost_usd: {
    meaning: "cost of the model calls in US dollars, if the price is known",
    of: ({ turns }) => (turns.length === 0 ? DOES_NOT_APPLY : { value: sumCost(turns) }),
  },
  seconds: {
    meaning: "duration in seconds",
    of: ({ durationMs }) => ({ value: durationMs / 1_000 }),
  },
  files_written: {
    meaning: "number of tool calls that wrote a file or ran a program that could",
    needs: "toolCalls",
    of({ isSuite, toolCalls }) {
      if (!isSuite) return DOES_NOT_APPLY;
      return { value: toolCalls.filter((call) => WRITING_TOOLS.has(call.name) && call.error === null).length };
    },
  },
  commands_failed: {
    meaning: "number of commands with a nonzero exit code or a timeout",
    needs: "toolCalls",
    of({ isSuite, toolCalls }) {
      if (!isSuite) return DOES_NOT_APPLY;
      const failed = toolCalls.filter(hasFailed);
      return { value: failed.length, detail: listOf(failed.map(commandOf)) };
    },
  },
  tests_run: {
    meaning: "number of commands that run tests or use assert",
    needs: "toolCalls",
    of({ isSuite, toolCalls }) {
      if (!isSuite) return DOES_NOT_APPLY;
      return { value: toolCalls.filter((call) => RUNS_TESTS.test(commandOf(call))).length };
    },
  },
};

/** The features that rules can bound. Eval files refer to them by these names. */
export const FEATURES: Readonly<Record<string, Feature>> = Object.fromEntries(
  Object.entries(MEASURED).map(([name, { needs, of, ...feature }]) => {
    const isKnown = (trace: VisibleTrace) => needs === undefined || trace.observed[needs];
    return [name, { ...feature, of: (trace: VisibleTrace) => (isKnown(trace) ? of(trace) : DOES_NOT_APPLY) }];
  }),
);

/** Returns a feature by name. Throws a UserError for a feature that this version does not have. */
export function featureOf(name: string, where: string): Feature {
  const feature = Object.hasOwn(FEATURES, name) ? FEATURES[name] : undefined;
  if (feature !== undefined) return feature;
  throw new UserError(
    "feature_unknown",
    `${where}: unknown feature "${name}".`,
    `Available: ${Object.keys(FEATURES).join(", ")}.`,
  );
}

const DOES_NOT_APPLY: Measurement = { value: null };

/**
 * Returns the fraction of `items` that are fine, and lists the first few that are not. The measurement does not apply
 * to an empty list.
 */
function shareOf(items: readonly string[], isFine: (item: string) => boolean): Measurement {
  if (items.length === 0) return DOES_NOT_APPLY;
  const odd = items.filter((item) => !isFine(item));
  if (odd.length === 0) return { value: 1 };
  return { value: (items.length - odd.length) / items.length, detail: listOf(odd) };
}

const LISTED = 3;

/** Formats items as `a, b, c and 2 more`, each at most 100 characters long. */
function listOf(items: readonly string[]): string {
  const shown = items.slice(0, LISTED).map((item) => item.replace(/\s+/g, " ").slice(0, 100));
  const more = items.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Maximum number of characters searched for numbers in an answer or email. */
const MAX_CLAIM_CHARS = 50_000;

/** Numbers in digits with their separators: `8,800`, `4.5`, `9:30`. Digits inside words (Q3) are not numbers. */
const WRITTEN = /(?<![\w.,:])\d+(?:[.,:]\d+)*(?![\w]|[.,:]\d)/g;
/** Numbers with an optional scale: `1.5 million`, `1.5MM`. */
const SCALED =
  /(?<![\w.,:])\d+(?:[.,:]\d+)*(?:\s?(?:hundred|dozen|thousand|million|mil|billion|bn|trillion|mm|k|m|b)\b|(?![\w]|[.,:]\d))/gi;

/**
 * Numbers from the question count as found, because the answer can repeat them. An abstention does not claim anything.
 */
function numbersFoundIn({ answer, question, abstained }: VisibleTrace, texts: readonly string[]): Measurement {
  const claims = abstained ? [] : (answer.slice(0, MAX_CLAIM_CHARS).match(SCALED) ?? []);
  if (claims.length === 0) return DOES_NOT_APPLY;
  const searched = [question, ...texts].map((text) => text.slice(0, MAX_CLAIM_CHARS));
  const literal = new Set(searched.flatMap((text) => text.match(WRITTEN) ?? []));
  if (claims.every((claim) => literal.has(claim))) return { value: 1 };
  // Parse the texts only if numbers were not found as written, because formats can differ (1.5 million and 1,500,000,
  // May 5 and 5/5/01).
  const parsedTexts = searched.map(parseValues);
  const claim = parseValues(answer.slice(0, MAX_CLAIM_CHARS));
  const days = new Set(claim.days.filter((day) => !parsedTexts.some((text) => hasDay(text, day))));
  const times = new Set(claim.times.filter((time) => !parsedTexts.some((text) => hasTime(text, time))));
  const values = new Set(parsedTexts.flatMap((text) => [...text.values]));
  const all = [
    ...claim.days.map((day) => ({ text: formatDay(day), isFound: !days.has(day) })),
    ...claim.times.map((time) => ({ text: formatTime(time), isFound: !times.has(time) })),
    ...(claim.rest.match(SCALED) ?? []).map((text) => ({
      text,
      isFound: literal.has(text) || valuesOf(text).some((value) => values.has(value)),
    })),
  ];
  const odd = new Set(all.filter(({ isFound }) => !isFound).map(({ text }) => text));
  return shareOf([...new Set(all.map(({ text }) => text))], (text) => !odd.has(text));
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

function hasDay({ days }: TextValues, expected: CalendarDay): boolean {
  return days.some((day) => matchesDay(expected, day));
}

function hasTime({ times, values }: TextValues, expected: TimeOfDay): boolean {
  const asNumber = (minutes: number) => Math.floor(minutes / 60) * 100 + (minutes % 60);
  return [...expected].some((minutes) => values.has(asNumber(minutes)) || times.some((time) => time.has(minutes)));
}

function formatDay({ year, month, day }: CalendarDay): string {
  return [year, month, day].filter((part) => part !== null).join("-");
}

function formatTime(time: TimeOfDay): string {
  const [minutes = 0] = time;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}`;
}

function returnedMailText(mail: ReturnedMail): string {
  return [mail.subject, mail.sender, mail.date, mail.body].filter((part) => typeof part === "string").join("\n");
}

function idsOf(mails: readonly ReturnedMail[]): Set<string> {
  return new Set(mails.map(({ message_id }) => message_id));
}

/** Returns null if the tool result does not include a subject and a date. ART's search does not return them. */
function datedOf({ message_id: id, subject, date }: ReturnedMail): DatedMail | null {
  if (typeof subject !== "string" || typeof date !== "string") return null;
  const plain = plainSubject(subject).toLowerCase();
  return plain === "" ? null : { id, subject: plain, date };
}

const DAY = /^\d{4}-\d{2}-\d{2}/;

/** Names of arguments that select a mailbox. */
const MAILBOX_ARGUMENT = /^(inbox|mailbox|account)(_?(id|address))?$/i;

const ADDRESS = /\w[\w.+-]*@[\w-]+(?:\.[\w-]+)+/g;

/** Joins the strings in a result, one per line. JSON would escape line breaks, which adds letters to words. */
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

/** Maximum number of characters examined in an answer. */
const MAX_CHARS = 20_000;

const ASKS_DATE =
  /^(when\b|(on|by|until|since) (what|which) (date|day)|(what|which) (date|day|month|year|time)\b|what time\b)/i;
const ASKS_NUMBER =
  /\b(how (many|much|long|large|big|high|old|often)|what (is|was|were|are) the (price|amount|number|percentage|rate|cost|total|volume|phone|fax|extension)|what (price|amount|number|percentage|rate|percent))\b/i;
const RELATIVE_DAY =
  /\b(today|tomorrow|yesterday|tonight|noon|midnight|mon|tues?|wed(nes)?|thur?s?|fri|sat(ur)?|sun)(day)?\b|\b(january|february|march|april|june|july|august|september|october|november|december|(in|of|by|since|until|till|early|mid|late|next|last) may)\b|\b(next|last|this) (week|month|quarter|year)\b/i;

/** Whether the question matches `form` and the agent answered it. */
function asks({ question, answer, abstained, isSuite }: VisibleTrace, form: RegExp): boolean {
  return !isSuite && !abstained && answer.trim() !== "" && form.test(question.trim());
}

function hasDate(answer: string): boolean {
  const { days, times } = parseDatesAndTimes(answer);
  return days.length > 0 || times.length > 0 || RELATIVE_DAY.test(answer) || /\b(19|20)\d\d\b/.test(answer);
}

/** Tools that can create files, directly or by running a program. */
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

/** The properties of an object, or an empty object for any other value. */
function recordOf(value: JsonValue): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the value of every feature. Null if the feature does not apply to the trace. */
export function measureFeatures(trace: EvaluatedTrace): Record<string, number | null> {
  const view = viewOf(trace);
  return Object.fromEntries(Object.entries(FEATURES).map(([name, feature]) => [name, feature.of(view).value]));
}

export function viewOf(trace: EvaluatedTrace): VisibleTrace {
  const { answer, ending, sources, turns, durationMs } = trace;
  const { inbox, queryDate } = mailboxOf(trace);
  const toolCalls = withParsedResults(trace.toolCalls);
  const results = [...earlierCalls(trace), ...toolCalls];
  return {
    isSuite: trace.kind === "suite",
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
    observed: observedWork(trace),
    durationMs,
    listed: results.flatMap(listedMails),
    opened: results.flatMap((call) => openedMail(call) ?? []),
  };
}

export function mailboxOf(trace: EvaluatedTrace): Pick<VisibleTrace, "inbox" | "queryDate"> {
  if (trace.kind === "chat") return { inbox: trace.inbox, queryDate: trace.queryDate };
  const { inbox_address: inbox = null, query_date: queryDate = null } = questionOf(trace) ?? {};
  return { inbox, queryDate };
}

/** Parses results that are JSON strings, as in other programs' traces, so that the emails in them are found. */
export function withParsedResults<Call extends EarlierCall>(toolCalls: readonly Call[]): Call[] {
  return toolCalls.map((call) => {
    const { result } = call;
    if (typeof result !== "string" || !/^\s*[[{]/.test(result)) return call;
    return { ...call, result: (parseJsonOrNull(result) as JsonValue) ?? result };
  });
}
