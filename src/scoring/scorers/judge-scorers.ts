// Scorers that read the judge's verdict about an answer.
import { isUnanswerable } from "../../tasks/question.js";
import type { Verdict } from "../../traces/judgment.js";
import type { Scorer, ScorerEntry } from "../scorer-entry.js";
import { attemptOf } from "./abstention-scorers.js";

/** Scores the verdict that the judge recorded in the trace. */
function byVerdict(worth: Readonly<Record<Verdict, number>>): Scorer {
  return ({ judge }) => {
    if (judge === null) return { value: null, explanation: "no judge" };
    const explanation = judge.verdict === null ? judge.reason : `${judge.verdict}: ${judge.reason}`;
    return { value: judge.verdict === null ? null : worth[judge.verdict], explanation };
  };
}

export const judgeCorrect: ScorerEntry = {
  score: byVerdict({ correct: 1, partly: 0, wrong: 0, abstained: 0 }),
  label: "Judged correct",
  kind: "rate",
  better: "higher",
  meaning:
    "The judge calls the answer correct. Partly correct, wrong and missing answers count as 0. Over the tasks with a verdict.",
  judge: "needed",
};

export const judgeScore: ScorerEntry = {
  score: byVerdict({ correct: 1, partly: 0.5, wrong: 0, abstained: 0 }),
  label: "Judge score",
  kind: "mean",
  scale: { min: 0, max: 1 },
  better: "higher",
  meaning: "The judge's verdict: correct 1, partly 0.5, wrong or no answer 0. Over the tasks with a verdict.",
  judge: "needed",
};

export const hallucination: ScorerEntry = {
  score(trace) {
    const { task, judge } = trace;
    const attempted = attemptOf(trace) === "answered" && judge?.verdict !== "abstained";
    if (isUnanswerable(task)) return { value: attempted && judge?.verdict !== "correct" ? 1 : 0 };
    // Without a judge, only abstentions would count, always as 0, which would bias the rate.
    if (judge === null || judge.verdict === null) return { value: null, explanation: "no judge verdict" };
    return { value: attempted && judge.verdict === "wrong" ? 1 : 0 };
  },
  label: "Hallucination",
  kind: "rate",
  better: "lower",
  meaning:
    "The agent answered, but the judge calls the answer wrong or the question is unanswerable. Without a judge, measured only on unanswerable questions.",
  judge: "used",
};
