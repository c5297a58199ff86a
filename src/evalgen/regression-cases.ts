import type { RegressionCase } from "../domain/evals/eval-definition.js";
import type { EvaluatedTrace } from "../domain/evals/evaluated-trace.js";
import { STOP_WORDS } from "../domain/mail/stop-words.js";
import { isChatTrace } from "../domain/runs/chat.js";
import { isSuiteTrace, type QuestionTrace } from "../domain/runs/trace.js";
import { isDontKnow } from "../domain/tasks/detect-abstention.js";
import { containsTerm, wordsOf } from "./run-cases.js";

/** Words of gold besides numbers and dates. */
const MAX_WORDS = 3;

/** Dates first: their digits are no numbers. */
const DATE_OR_NUMBER =
  /\b\d{4}-\d{2}-\d{2}\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2}\b(?:,? \d{4}\b)?|(?<![\w.,:])[$€£]?\d+(?:[.,:]\d+)*(?![\w]|[.,:]\d)/gi;

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
