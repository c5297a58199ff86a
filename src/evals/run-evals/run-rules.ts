// Runs evals that are data: rules over features, assertions about the answer, and regression cases.
import { createContext, Script } from "node:vm";
import { bareMessageId } from "../../mail/email.js";
import { messageOf } from "../../platform/errors.js";
import { parseJsonOrNull } from "../../platform/json.js";
import { compact } from "../../platform/optional-values.js";
import { isDontKnow } from "../../text/abstention.js";
import { MONTH_NAMES, matchesDay, parseDatesAndTimes, parseNumbers } from "../../text/dates-and-numbers.js";
import { STOP_WORDS } from "../../text/stop-words.js";
import type { QuestionTrace } from "../../traces/trace.js";
import {
  type Assertion,
  type Condition,
  type DataEval,
  type EvalOf,
  type EvaluatedTrace,
  patternParts,
  type RegressionCase,
} from "../definition.js";
import { type EvalOutcome, PASS_SCORE } from "../eval-outcome.js";
import { featureOf, type Measurement, type VisibleTrace, viewOf } from "../features.js";

/** Maximum number of words from the gold answer besides numbers and dates. */
const MAX_WORDS = 3;

/** Dates come first, because their digits are not separate numbers. */
const DATE_OR_NUMBER = new RegExp(
  [
    String.raw`\b\d{4}-\d{2}-\d{2}\b`,
    String.raw`\b(?:${MONTH_NAMES})\.? \d{1,2}\b(?!,\d{3}(?!\d)|\.\d)(?:,? \d{4}\b)?`,
    String.raw`(?<![\w.,:])[$€£]?\d+(?:[.,:]\d+)*(?![\w]|[.,:]\d)`,
  ].join("|"),
  "gi",
);

/** Telephone numbers and times are one term each. Their digits alone would not be found in an answer. */
const KEY_VALUE = new RegExp(
  String.raw`\b(?!\d{4}-\d{2}-\d{2}\b)\d+(?:-\d{2,})+\b|\b\d{1,2}(?::\d{2})? ?[ap]\.?m\b|${DATE_OR_NUMBER.source}`,
  "gi",
);

/**
 * Derives a regression case from an answer known to be good. Later answers must contain the numbers, dates and rarest
 * words that this answer has in common with the gold answer, and must cite a gold email if this answer does. Returns
 * null if the two answers have none in common.
 */
export function regressionCaseOf(trace: QuestionTrace, frequencyOf: (word: string) => number): RegressionCase | null {
  const { answer: gold, message_ids: goldIds } = trace.task;
  if (isDontKnow(gold)) return null;
  const answer = trace.answer ?? "";
  const values = [...new Set(gold.match(KEY_VALUE) ?? [])];
  const inValues = distinctWords(values.join(" "));
  const words = [...distinctWords(gold)]
    .filter((word) => /^\p{L}{3,}/u.test(word) && !STOP_WORDS.has(word) && !inValues.has(word))
    .filter((word) => containsTerm(answer, word))
    .map((word) => ({ word, mails: frequencyOf(word) }))
    .toSorted((a, b) => a.mails - b.mails)
    .slice(0, MAX_WORDS)
    .map(({ word }) => word);
  const mustContain = [...values.filter((value) => containsTerm(answer, value)), ...words];
  const mustCite = namesOneOf(goldIds, trace.sources) ? goldIds : [];
  if (mustContain.length + mustCite.length === 0) return null;
  return { task: trace.taskId, must_contain: mustContain, must_cite: mustCite };
}

/** Whether one of the Message-IDs is in the list. Models often omit the angle brackets. */
export function namesOneOf(listed: readonly string[], messageIds: readonly string[]): boolean {
  const ids = new Set(messageIds.map(bareMessageId));
  return listed.some((id) => ids.has(bareMessageId(id)));
}

/** Whether the trace answers a question with a gold answer. */
export function hasGold(trace: EvaluatedTrace): trace is QuestionTrace {
  return trace.kind === "question" && trace.task.answer.trim() !== "";
}

/** Runs data evals on one trace. The trace is prepared once for all of them. */
export function runDataEvals(definitions: readonly DataEval[], trace: EvaluatedTrace): EvalOutcome[] {
  const view = viewOf(trace);
  return definitions.map((definition) => runOne(definition, trace, view));
}

function runOne(definition: DataEval, trace: EvaluatedTrace, view: VisibleTrace): EvalOutcome {
  try {
    if (definition.kind === "rules") return runRules(definition, view);
    return definition.kind === "cases" ? runCases(definition, trace) : runAssertions(definition, view);
  } catch (error) {
    // An eval from a later version or an unusual trace must not cause a run or a chat to lose its result.
    return { score: null, reason: "", error: messageOf(error) };
  }
}

/** Returns whether a measured value violates a bound. A feature that does not apply never violates one. */
export function isMissed(condition: Condition, { value }: Measurement): boolean {
  if (value === null) return false;
  return "at_least" in condition ? value < condition.at_least : value > condition.at_most;
}

/**
 * Scores 1 if the trace meets all conditions that apply, otherwise 0 with the first violated condition. If no condition
 * applies, the trace is not judged.
 */
function runRules({ name, pass }: Pick<EvalOf<"rules">, "name" | "pass">, trace: VisibleTrace): EvalOutcome {
  let applies = 0;
  for (const condition of pass.all) {
    const measured = featureOf(condition.feature, `eval ${name}`).of(trace);
    if (isMissed(condition, measured)) return { score: 0, reason: missedText(condition, measured), error: null };
    if (measured.value !== null) applies++;
  }
  if (applies === 0) return { score: null, reason: "it does not apply to this trace", error: null };
  return { score: 1, reason: "all conditions are met", error: null };
}

/** `numbers_in_mail is 0.5, expected at least 1: 4,200` */
function missedText(condition: Condition, { value, detail }: Measurement): string {
  const bound = "at_least" in condition ? `at least ${condition.at_least}` : `at most ${condition.at_most}`;
  const shown = Number(value?.toPrecision(4));
  return `${condition.feature} is ${shown}, expected ${bound}${detail ? `: ${detail}` : ""}`;
}

/** Scores 1 if all assertions hold, otherwise 0 with the first assertion that does not hold. */
function runAssertions(
  { answer: { all } }: Pick<EvalOf<"assertions">, "answer">,
  { answer }: Pick<VisibleTrace, "answer">,
): EvalOutcome {
  const missed = all.find((assertion) => !isSo(assertion, answer.trim()));
  const reason = missed === undefined ? "all assertions hold" : `assertion failed: ${assertionText(missed)}`;
  return { score: missed === undefined ? 1 : 0, reason, error: null };
}

/** `the answer contains "Regards"` */
export function assertionText(assertion: Assertion): string {
  if ("contains" in assertion) return `the answer contains "${assertion.contains}"`;
  if ("lacks" in assertion) return `the answer does not contain "${assertion.lacks}"`;
  if ("matches" in assertion) return `the answer matches ${assertion.matches}`;
  return `the answer is JSON${assertion.json.length === 0 ? "" : ` with ${assertion.json.join(", ")}`}`;
}

function isSo(assertion: Assertion, answer: string): boolean {
  if ("contains" in assertion) return plain(answer).includes(plain(assertion.contains));
  if ("lacks" in assertion) return !plain(answer).includes(plain(assertion.lacks));
  if ("matches" in assertion) return matchesPattern(assertion.matches, answer);
  const value = parseJsonOrNull(answer);
  if (value === null) return answer === "null" && assertion.json.length === 0;
  return assertion.json.every((key) => typeof value === "object" && Object.hasOwn(value, key));
}

function plain(text: string): string {
  return text.replace(/\s+/g, " ").toLowerCase();
}

/** Processor time per pattern. Patterns that take exponential time are interrupted, and the trace gets an error. */
const PATTERN_MS = 250;
/** Processor time in microseconds after which a pattern has had its time. The two clocks differ a little. */
const PATTERN_US = 225_000;
const PATTERN_TEST = new Script("new RegExp(source, flags).test(text)");

function matchesPattern(pattern: string, text: string): boolean {
  const [source, flags] = patternParts(pattern);
  const context = createContext({ source, flags, text });
  // On a busy machine the time can pass without any work: then the pattern gets more time.
  for (let timeout = PATTERN_MS; ; timeout *= 2) {
    const before = process.cpuUsage();
    try {
      return PATTERN_TEST.runInContext(context, { timeout }) as boolean;
    } catch (error) {
      const { user, system } = process.cpuUsage(before);
      const isInterrupted = (error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
      if (isInterrupted && user + system < PATTERN_US) continue;
      throw new Error(`the pattern ${pattern} took longer than ${PATTERN_MS} ms`);
    }
  }
}

/** Maximum number of Message-IDs in a reason: an email can have a dozen copies. */
const SHOWN_IDS = 3;

/**
 * Scores 1 if the answer meets the case for its task, otherwise 0, or the fraction of the terms found. An answer passes
 * only if it contains more of the terms than the answer that the case was made from. The eval does not apply to tasks
 * without a case.
 */
export function runCases(
  { cases, scoring }: Pick<EvalOf<"cases">, "cases" | "scoring">,
  trace: EvaluatedTrace,
): EvalOutcome {
  const taskCase = trace.kind === "chat" ? undefined : cases.find(({ task }) => task === trace.taskId);
  if (taskCase === undefined) return { score: null, reason: "no case for this task", error: null };
  const answer = trace.answer ?? "";
  const missing = taskCase.must_contain.filter((term) => !containsTerm(answer, term));
  const cited = taskCase.must_cite.length === 0 || namesOneOf(taskCase.must_cite, trace.sources);
  if (missing.length === 0 && cited)
    return { score: 1, reason: "the answer contains everything that the case requires", error: null };
  if (scoring === "fraction" && cited) return { ...partialMatch(taskCase, missing.length), error: null };
  const reasons = compact([
    missing.length > 0 && `missing from the answer: ${missing.join(", ")}`,
    !cited && `not cited: ${taskCase.must_cite.slice(0, SHOWN_IDS).join(", ")}`,
  ]);
  return { score: 0, reason: reasons.join("; "), error: null };
}

function partialMatch(taskCase: RegressionCase, missing: number): Pick<EvalOutcome, "score" | "reason"> {
  const terms = taskCase.must_contain.length;
  const found = terms - missing;
  const reason = `Partial match: found ${found}/${terms} key terms`;
  if (found > reachedBefore(taskCase)) return { score: found / terms, reason };
  const score = Math.min(found, mostFailing(terms)) / terms;
  return { score, reason: score * terms === found ? reason : `${reason}, no more than before` };
}

/** Returns how many terms the answer contains that the case was made from, or -1 if the case was written manually. */
export function reachedBefore({ must_contain: terms, from }: RegressionCase): number {
  return from === undefined ? -1 : terms.length - from.missing.length;
}

/** Returns the highest number of found terms whose fraction fails. */
export function mostFailing(terms: number): number {
  return Math.ceil(terms * PASS_SCORE) - 1;
}

/** Maximum number of key terms of a gold answer. */
const MAX_KEY_TERMS = 12;

/**
 * Returns the key terms of a gold answer: its numbers, dates and times, then all words except stop words. The gold
 * answer itself contains every one. Returns an empty list if the gold answer says that the answer is unknown.
 */
export function keyTermsOf(gold: string): string[] {
  if (isDontKnow(gold)) return [];
  const values = [...new Set(gold.match(KEY_VALUE) ?? [])];
  const words = [...distinctWords(gold.replace(KEY_VALUE, " "))].filter((word) => !STOP_WORDS.has(word));
  return [...values, ...words].filter((term) => containsTerm(gold, term)).slice(0, MAX_KEY_TERMS);
}

/** Whether a text contains a number or date in any format, or a word in any case. */
export function containsTerm(text: string, term: string): boolean {
  const ofTerm = parseDatesAndTimes(term);
  const ofText = parseDatesAndTimes(text);
  if (ofTerm.days.length > 0 || ofTerm.times.length > 0) {
    return (
      ofTerm.days.every((day) => ofText.days.some((other) => matchesDay(day, other))) &&
      ofTerm.times.every((time) => ofText.times.some((other) => [...other].some((minute) => time.has(minute))))
    );
  }
  const numbers = parseNumbers(ofTerm.rest);
  if (numbers.length > 0) {
    const values = parseNumbers(ofText.rest).flatMap((number) => [...number.values]);
    return numbers.every((number) => values.some((value) => number.values.has(value)));
  }
  return distinctWords(text).has(term.toLowerCase());
}

/** Returns the lower-case words of a text, without punctuation. */
function distinctWords(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}'-]*/gu) ?? []);
}
