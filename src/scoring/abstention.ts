import type { Trace } from "../domain/runs/trace.js";
import type { ScorerEntry } from "../domain/scores/score.js";
import { isDontKnow } from "../domain/tasks/detect-abstention.js";
import type { Question } from "../domain/tasks/question.js";

/** Whether the correct response is that there is no answer. */
export function isUnanswerable({ answer, message_ids }: Pick<Question, "answer" | "message_ids">): boolean {
  return isDontKnow(answer) || (answer.trim() === "" && message_ids.length === 0);
}

/** What the agent did with the question. `nothing`: no answer at all, not even "I don't know". */
export function attemptOf({ ending, answer }: Pick<Trace, "ending" | "answer">): "answered" | "abstained" | "nothing" {
  if (answer === null || answer.trim() === "") return "nothing";
  return ending === "dont_know" || isDontKnow(answer) ? "abstained" : "answered";
}

export const abstention: ScorerEntry = {
  score(trace) {
    const attempt = attemptOf(trace);
    if (attempt === "nothing") return { value: 0, explanation: "no answer was given" };
    return { value: (attempt === "abstained") === isUnanswerable(trace.task) ? 1 : 0 };
  },
  label: "Abstention",
  kind: "rate",
  better: "higher",
  meaning: 'The agent said "I don\'t know" where the question cannot be answered, and tried to answer where it can.',
};
