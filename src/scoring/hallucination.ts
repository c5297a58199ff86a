import type { ScorerEntry } from "../domain/scores/score.js";
import { attemptOf, isUnanswerable } from "./abstention.js";

export const hallucination: ScorerEntry = {
  score(trace) {
    const { task, judge } = trace;
    const attempted = attemptOf(trace) === "answered" && judge?.verdict !== "abstained";
    if (isUnanswerable(task)) return { value: attempted && judge?.verdict !== "correct" ? 1 : 0 };
    // Without a judge only abstentions could be counted, as 0, which would bias the rate.
    if (judge === null || judge.verdict === null)
      return { value: null, explanation: "no judge said whether it is wrong" };
    return { value: attempted && judge.verdict === "wrong" ? 1 : 0 };
  },
  label: "Hallucination",
  kind: "rate",
  better: "lower",
  meaning:
    "The agent gave an answer and the judge calls it wrong, or the question cannot be answered; without a judge over the questions that cannot be answered alone.",
  judge: "used",
};
