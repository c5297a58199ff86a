import type { Verdict } from "../../domain/scores/judgement.js";
import type { Scorer, ScorerEntry } from "../../domain/scores/score.js";

function byVerdict(worth: Readonly<Record<Verdict, number>>): Scorer {
  return ({ judge }) => {
    if (judge === null) return { value: null, explanation: "no judge was asked" };
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
    "A model calls the answer correct; partly right, wrong and no answer count 0; over the tasks with a verdict.",
  judge: "needed",
};

export const judgeScore: ScorerEntry = {
  score: byVerdict({ correct: 1, partly: 0.5, wrong: 0, abstained: 0 }),
  label: "Judge score",
  kind: "mean",
  scale: { min: 0, max: 1 },
  better: "higher",
  meaning: "A model's verdict: correct 1, partly 0.5, wrong and no answer 0; over the tasks with a verdict.",
  judge: "needed",
};
