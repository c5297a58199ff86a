// Scorers of abstentions on answerable and unanswerable questions.
import { isUnanswerable } from "../../tasks/question.js";
import { isDontKnow } from "../../text/abstention.js";
import type { ScorableQuestion } from "../../traces/score.js";
import type { Trace } from "../../traces/trace.js";
import type { ScorerEntry } from "../scorer-entry.js";

/** Classifies the agent's response. `nothing` means no answer at all, not even "I don't know". */
export function attemptOf({ ending, answer }: Pick<Trace, "ending" | "answer">): "answered" | "abstained" | "nothing" {
  if (answer === null || answer.trim() === "") return "nothing";
  return ending === "dont_know" || isDontKnow(answer) ? "abstained" : "answered";
}

function hasNoAnswer({ goldAnswer, goldMails }: ScorableQuestion): boolean {
  return isUnanswerable({ answer: goldAnswer, message_ids: { length: goldMails } });
}

/** Abstention has two rates, because an agent that never abstains would be right on every answerable question. */
export const abstention: ScorerEntry = {
  score(trace) {
    if (!isUnanswerable(trace.task)) return { value: null, explanation: "the question is answerable" };
    return { value: attemptOf(trace) === "abstained" ? 1 : 0 };
  },
  appliesTo: hasNoAnswer,
  label: "Abstention",
  kind: "rate",
  better: "higher",
  meaning: 'The agent said "I don\'t know" to an unanswerable question. Measured only on these questions.',
};

export const falseAbstention: ScorerEntry = {
  score(trace) {
    if (isUnanswerable(trace.task)) return { value: null, explanation: "the question is unanswerable" };
    return { value: attemptOf(trace) === "abstained" ? 1 : 0 };
  },
  appliesTo: (question) => !hasNoAnswer(question),
  label: "False abstention",
  kind: "rate",
  better: "lower",
  meaning: 'The agent said "I don\'t know" to an answerable question. Measured only on these questions.',
};
