// Scorers of tasks that ask which emails meet a description. An empty selection is right if no email does.
import { countMatches, type MatchedEmail, type SelectionCounts } from "../../tasks/selection.js";
import { counted } from "../../text/format.js";
import type { ScorerEntry } from "../scorer-entry.js";
import { matchSelection } from "../selection-match.js";
import { f1 } from "./f1.js";

/** A score of 0 for an agent that did not answer, because an empty selection would be right in some tasks. */
function scoreSelection(
  measure: (counts: SelectionCounts, matches: readonly MatchedEmail[]) => number | null,
): Pick<ScorerEntry, "score" | "tasks" | "kind" | "scale" | "better"> {
  return {
    tasks: "emails",
    score({ task: { select }, answer, sources }, sameMail) {
      if (select === undefined) return { value: null, explanation: "the task does not ask for emails" };
      if (answer === null) return { value: 0, explanation: "no answer" };
      const matches = matchSelection(select, sources, sameMail);
      const counts = countMatches(matches);
      const { hits, misses, falseAlarms } = counts;
      const explanation = `${hits} of ${hits + misses} emails, and ${counted(falseAlarms, "other")}`;
      return { value: measure(counts, matches), explanation };
    },
    kind: "mean",
    scale: { min: 0, max: 1 },
    better: "higher",
  };
}

export const selectionF1: ScorerEntry = {
  ...scoreSelection(({ hits, misses, falseAlarms }) => f1(hits, hits + falseAlarms, hits + misses)),
  label: "Emails F1",
  meaning: "F1 of the emails that the agent selected against the right ones. 1 if both are none.",
};

export const selectionPrecision: ScorerEntry = {
  ...scoreSelection(({ hits, falseAlarms }) => fraction(hits, hits + falseAlarms)),
  label: "Emails precision",
  meaning: "Fraction of the selected emails that are right, over the tasks in which the agent selected any.",
};

export const selectionRecall: ScorerEntry = {
  ...scoreSelection(({ hits, misses }) => fraction(hits, hits + misses)),
  label: "Emails recall",
  meaning: "Fraction of the right emails that the agent selected, over the tasks that have any.",
};

/** Average precision without interpolation, as in TREC (Manning et al. 2008, Introduction to IR, section 8.4). */
export const averagePrecision: ScorerEntry = {
  ...scoreSelection(({ hits, misses, falseAlarms }, matches) => {
    if (hits + misses === 0) return falseAlarms === 0 ? 1 : 0;
    let sum = 0;
    let found = 0;
    for (const [i, { state }] of matches.entries()) {
      if (state === "hit") sum += ++found / (i + 1);
    }
    return sum / (hits + misses);
  }),
  label: "Average precision",
  meaning:
    "Precision at the rank of each right email in the agent's order, averaged over the right emails. 1 if there are none and none was selected.",
};

function fraction(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
