import { performance } from "node:perf_hooks";
import { isDontKnow } from "../text/abstention.js";
import { matchesDay, parseDatesAndTimes, parseNumbers } from "../text/dates-and-numbers.js";
import { STOP_WORDS } from "../text/stop-words.js";
import { isChatTrace, isSuiteTrace, type QuestionTrace } from "../traces/trace.js";
import {
  type Condition,
  type DataEval,
  type EvalDefinition,
  type EvalOf,
  type EvaluatedTrace,
  isDataEval,
  type RegressionCase,
} from "./definition.js";
import type { EvalOutcome, MeasuredOutcome } from "./eval-outcome.js";
import { featureOf, type Measurement, type VisibleTrace, viewOf } from "./features.js";

/** What is read of an eval of one kind that needs more than this process. */
interface BackendInput {
  readonly python: Pick<EvalOf<"python">, "code" | "reference">;
  readonly rubric: Pick<EvalOf<"rubric">, "rubric" | "model">;
}

/** Runs an eval of one kind over traces; an outcome for each. Throws only the signal's reason. */
export type EvalBackend<K extends keyof BackendInput> = (
  definition: BackendInput[K],
  traces: readonly EvaluatedTrace[],
  signal: AbortSignal,
) => Promise<MeasuredOutcome[]>;

/** What runs the kinds of evals that need more than this process. */
export interface EvalBackends {
  readonly python: EvalBackend<"python">;
  readonly rubric: EvalBackend<"rubric">;
}

/** Runs evals over traces: an outcome for each trace, of each eval in order. */
export async function runEvals(
  definitions: readonly EvalDefinition[],
  traces: readonly EvaluatedTrace[],
  backends: EvalBackends,
  signal: AbortSignal,
): Promise<MeasuredOutcome[][]> {
  const columns = new Map<EvalDefinition, readonly MeasuredOutcome[]>();
  for (const definition of definitions) {
    if (definition.kind === "python") columns.set(definition, await backends.python(definition, traces, signal));
    if (definition.kind === "rubric") columns.set(definition, await backends.rubric(definition, traces, signal));
  }
  const data = definitions.filter(isDataEval);
  return traces.map((trace, i) => {
    const ofData = data.length === 0 ? [] : runMeasured(data, trace);
    return definitions.flatMap((definition) => columns.get(definition)?.[i] ?? ofData.shift() ?? []);
  });
}

function runMeasured(definitions: readonly DataEval[], trace: EvaluatedTrace): MeasuredOutcome[] {
  const start = performance.now();
  const outcomes = runRulesAndCases(definitions, trace);
  const ms = (performance.now() - start) / definitions.length;
  return outcomes.map((outcome) => ({ ...outcome, ms, costUsd: 0 }));
}

/** Words of gold besides numbers and dates. */
const MAX_WORDS = 3;

/** Dates first: their digits are no numbers. */
const DATE_OR_NUMBER =
  /\b\d{4}-\d{2}-\d{2}\b|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.? \d{1,2}\b(?!,\d{3}(?!\d)|\.\d)(?:,? \d{4}\b)?|(?<![\w.,:])[$€£]?\d+(?:[.,:]\d+)*(?![\w]|[.,:]\d)/gi;

/**
 * What later answers to the same task must hold, from an answer that is known to be good: what gold and this answer
 * share (numbers, dates, the rarest words), and a gold mail if this answer cites one. Null where they share nothing.
 */
export function regressionCaseOf(trace: QuestionTrace, frequencyOf: (word: string) => number): RegressionCase | null {
  const { answer: gold, message_ids: goldIds } = trace.task;
  if (isDontKnow(gold)) return null;
  const answer = trace.answer ?? "";
  const values = [...new Set(gold.match(DATE_OR_NUMBER) ?? [])];
  const inValues = wordsOf(values.join(" "));
  const words = [...wordsOf(gold)]
    .filter((word) => /^\p{L}{3,}/u.test(word) && !STOP_WORDS.has(word) && !inValues.has(word))
    .filter((word) => containsTerm(answer, word))
    .map((word) => ({ word, mails: frequencyOf(word) }))
    .toSorted((a, b) => a.mails - b.mails)
    .slice(0, MAX_WORDS)
    .map(({ word }) => word);
  const mustContain = [...values.filter((value) => containsTerm(answer, value)), ...words];
  const mustCite = trace.sources.some((id) => goldIds.includes(id)) ? goldIds : [];
  if (mustContain.length + mustCite.length === 0) return null;
  return { task: trace.taskId, must_contain: mustContain, must_cite: mustCite };
}

/** Whether a trace answers a question that has gold. */
export function hasGold(trace: EvaluatedTrace): trace is QuestionTrace {
  return !isChatTrace(trace) && !isSuiteTrace(trace) && trace.task.answer.trim() !== "";
}

/** Runs rules and cases over one trace, which is prepared once for all of them. */
export function runRulesAndCases(definitions: readonly DataEval[], trace: EvaluatedTrace): EvalOutcome[] {
  const view = viewOf(trace);
  return definitions.map((definition) => runOne(definition, trace, view));
}

function runOne(definition: DataEval, trace: EvaluatedTrace, view: VisibleTrace): EvalOutcome {
  try {
    return definition.kind === "rules" ? runRules(definition, view) : runCases(definition, trace);
  } catch (error) {
    // An eval of a later version, or an odd trace: neither may cost a run or a chat its result.
    return { score: null, reason: "", error: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether a measured value misses a bound. A feature that does not apply misses none. */
export function isMissed(condition: Condition, { value }: Measurement): boolean {
  if (value === null) return false;
  return "at_least" in condition ? value < condition.at_least : value > condition.at_most;
}

/** 1 where the trace meets all conditions, else 0 with the first that it misses. */
function runRules({ name, pass }: Pick<EvalOf<"rules">, "name" | "pass">, trace: VisibleTrace): EvalOutcome {
  let applies = 0;
  for (const condition of pass.all) {
    const measured = featureOf(condition.feature, `eval ${name}`).of(trace);
    if (isMissed(condition, measured)) return { score: 0, reason: missedText(condition, measured), error: null };
    if (measured.value !== null) applies++;
  }
  return { score: 1, reason: applies === 0 ? "it says nothing of this trace" : "all conditions are met", error: null };
}

/** `numbers_in_mail is 0.5, at least 1 wanted: 4,200` */
function missedText(condition: Condition, { value, detail }: Measurement): string {
  const bound = "at_least" in condition ? `at least ${condition.at_least}` : `at most ${condition.at_most}`;
  const shown = Number((value ?? 0).toPrecision(4));
  return `${condition.feature} is ${shown}, ${bound} wanted${detail ? `: ${detail}` : ""}`;
}

/** 1 where the answer holds what the case of its task demands; does not apply to other tasks. */
export function runCases({ cases }: Pick<EvalOf<"cases">, "cases">, trace: EvaluatedTrace): EvalOutcome {
  const wanted = isChatTrace(trace) ? undefined : cases.find(({ task }) => task === trace.taskId);
  if (wanted === undefined) return { score: null, reason: "there is no case of this task", error: null };
  const answer = trace.answer ?? "";
  const missing = wanted.must_contain.filter((term) => !containsTerm(answer, term));
  const cited = wanted.must_cite.length === 0 || wanted.must_cite.some((id) => trace.sources.includes(id));
  if (missing.length === 0 && cited) return { score: 1, reason: "all that the case demands is there", error: null };
  const reasons = [
    ...(missing.length === 0 ? [] : [`the answer lacks ${missing.join(", ")}`]),
    ...(cited ? [] : [`none of ${wanted.must_cite.join(", ")} is cited`]),
  ];
  return { score: 0, reason: reasons.join("; "), error: null };
}

/** Whether a text holds a number or a date in any format, or else a word, in small or capital letters. */
export function containsTerm(text: string, term: string): boolean {
  const wanted = parseDatesAndTimes(term);
  const found = parseDatesAndTimes(text);
  if (wanted.days.length > 0 || wanted.times.length > 0) {
    return (
      wanted.days.every((day) => found.days.some((other) => matchesDay(day, other))) &&
      wanted.times.every((time) => found.times.some((other) => [...other].some((minute) => time.has(minute))))
    );
  }
  const numbers = parseNumbers(wanted.rest);
  if (numbers.length > 0) {
    const values = parseNumbers(found.rest).flatMap((number) => [...number.values]);
    return numbers.every((number) => values.some((value) => number.values.has(value)));
  }
  return wordsOf(text).has(term.toLowerCase());
}

/** The words of a text in small letters, without punctuation. */
function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}'-]*/gu) ?? []);
}
