import type { EvalOf } from "../domain/evals/eval-definition.js";
import type { EvalOutcome } from "../domain/evals/eval-outcome.js";
import type { EvaluatedTrace } from "../domain/evals/evaluated-trace.js";
import { isChatTrace } from "../domain/runs/chat.js";
import { matchesDay, parseDatesAndTimes } from "../domain/values/parse-dates.js";
import { parseNumbers } from "../domain/values/parse-numbers.js";

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
export function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}'-]*/gu) ?? []);
}
