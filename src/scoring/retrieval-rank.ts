import type { QuestionTrace } from "../domain/runs/trace.js";
import type { SameMail, ScorerEntry } from "../domain/scores/score.js";
import { hasGoldMail, listedIds } from "./gold-mail.js";

const NO_GOLD = "the question has no gold mail";

/** The rank, from 1, of the first gold mail in each search of the trace; 0 for a search without one. */
function goldRanks({ task, toolCalls }: Pick<QuestionTrace, "task" | "toolCalls">, sameMail: SameMail): number[] {
  const gold = new Set(task.message_ids.map(sameMail));
  return toolCalls.map((call) => listedIds(call).findIndex((id) => gold.has(sameMail(id))) + 1);
}

function foundWithin(depth: number): ScorerEntry {
  return {
    score(trace, sameMail) {
      if (trace.task.message_ids.length === 0) return { value: null, explanation: NO_GOLD };
      return { value: goldRanks(trace, sameMail).some((rank) => rank > 0 && rank <= depth) ? 1 : 0 };
    },
    label: `Found@${depth}`,
    kind: "rate",
    better: "higher",
    meaning: `Some search listed a gold mail ${depth === 1 ? "first" : `among its first ${depth}`}.`,
    appliesTo: hasGoldMail,
  };
}

export const foundAt1 = foundWithin(1);
export const foundAt5 = foundWithin(5);
export const foundAt10 = foundWithin(10);

export const goldRank: ScorerEntry = {
  score(trace, sameMail) {
    if (trace.task.message_ids.length === 0) return { value: null, explanation: NO_GOLD };
    const rank = goldRanks(trace, sameMail).find((each) => each > 0);
    return rank === undefined ? { value: null, explanation: "no search listed a gold mail" } : { value: rank };
  },
  label: "Gold rank",
  kind: "mean",
  better: "lower",
  meaning: "The rank, from 1, of the gold mail in the first search that listed it; over the tasks where one did.",
  scale: { min: 1 },
  appliesTo: hasGoldMail,
};
