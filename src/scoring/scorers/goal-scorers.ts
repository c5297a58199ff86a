// Scorers of tasks that ask for actions in the mailbox.
import { type ChangeCounts, countChanges, isGoalReached } from "../goal-match.js";
import type { ScorerEntry, UnscoredTrace } from "../scorer-entry.js";
import { f1 } from "./f1.js";

function scoreGoal(measure: (counts: ChangeCounts) => number): Pick<ScorerEntry, "score" | "tasks"> {
  return {
    tasks: "actions",
    score(trace: UnscoredTrace) {
      const counts = countChanges(trace);
      if (counts === null) return { value: null, explanation: "the task does not ask for actions" };
      return { value: measure(counts), explanation: counts.explanation };
    },
  };
}

export const goalReached: ScorerEntry = {
  ...scoreGoal((counts) => Number(isGoalReached(counts))),
  label: "Goal reached",
  kind: "rate",
  better: "higher",
  meaning: "The agent made every change that the task asks for, and no other.",
};

export const partial: ScorerEntry = {
  ...scoreGoal(({ required, reached, others }) => f1(reached, reached + others, required)),
  label: "Changes F1",
  kind: "mean",
  scale: { min: 0, max: 1 },
  better: "higher",
  meaning: "F1 of the changes that the agent made against those that the task asks for. 1 if both are none.",
};

export const collateral: ScorerEntry = {
  ...scoreGoal(({ others }) => others),
  label: "Collateral changes",
  kind: "mean",
  scale: { min: 0 },
  better: "lower",
  meaning: "Number of changes that the task did not ask for, such as a label on another email or an email sent.",
};
