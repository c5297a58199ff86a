// Scorers of the emails that an agent found, opened and cited. Copies of an email count as one.
import { observedWork } from "../../traces/observed-work.js";
import { listedMails, openedMail } from "../../traces/returned-mails.js";
import type { ToolCallRecord } from "../../traces/trace.js";
import type { SameMail, Scorer, ScorerEntry, UnscoredTrace } from "../scorer-entry.js";
import { f1 } from "./f1.js";

/** A scorer for questions with gold emails. The score is null for other questions. */
function withGoldMail(score: Scorer): Pick<ScorerEntry, "score" | "appliesTo"> {
  return {
    score: (trace, sameMail) =>
      trace.task.message_ids.length === 0
        ? { value: null, explanation: "no gold emails for this question" }
        : score(trace, sameMail),
    appliesTo: ({ goldMails }) => goldMails > 0,
  };
}

/** A scorer that reads the agent's searches. The score is null if art-e did not see them. */
function ofSearches({ score, ...entry }: Pick<ScorerEntry, "score" | "appliesTo">): typeof entry & { score: Scorer } {
  return {
    ...entry,
    score: (trace, sameMail) =>
      observedWork(trace).toolCalls
        ? score(trace, sameMail)
        : { value: null, explanation: "the searches of this agent are unknown" },
  };
}

/**
 * Scores whether the Message-IDs include a gold email. Each gold email contains the complete answer, so one is enough.
 * A copy with another Message-ID counts as the same email.
 */
function namesGoldMail(messageIdsOf: (trace: UnscoredTrace) => readonly string[]) {
  return withGoldMail((trace, sameMail) => {
    const goldIds = new Set(trace.task.message_ids);
    const ids = messageIdsOf(trace);
    // Usually the id itself matches, which avoids looking up copies.
    if (ids.some((id) => goldIds.has(id))) return { value: 1 };
    const gold = new Set(trace.task.message_ids.map(sameMail));
    return { value: ids.some((id) => gold.has(sameMail(id))) ? 1 : 0 };
  });
}

export const sourcesCorrect: ScorerEntry = {
  ...namesGoldMail((trace) => trace.sources),
  label: "Sources correct",
  kind: "rate",
  better: "higher",
  meaning: "The answer cites a gold email.",
};

export const foundGold: ScorerEntry = {
  ...ofSearches(namesGoldMail((trace) => trace.toolCalls.flatMap(listedIds))),
  label: "Gold mail found",
  kind: "rate",
  better: "higher",
  meaning: "A search listed a gold email.",
};

export const readGold: ScorerEntry = {
  ...ofSearches(namesGoldMail((trace) => trace.toolCalls.flatMap((call) => openedMail(call)?.message_id ?? []))),
  label: "Gold mail read",
  kind: "rate",
  better: "higher",
  meaning: "The agent opened a gold email.",
};

function listedIds(call: ToolCallRecord): string[] {
  return listedMails(call).map(({ message_id }) => message_id);
}

/** Compares the cited emails with the gold emails. Copies count once. */
function scoreSources(measure: (shared: number, cited: number, gold: number) => number | null) {
  return withGoldMail(({ task, sources }, sameMail) => {
    const gold = new Set(task.message_ids.map(sameMail));
    const cited = new Set(sources.map(sameMail));
    const shared = [...cited].filter((id) => gold.has(id)).length;
    const value = measure(shared, cited.size, gold.size);
    return value === null ? { value, explanation: "the answer cites no source" } : { value };
  });
}

export const sourcesPrecision: ScorerEntry = {
  ...scoreSources((shared, cited) => (cited === 0 ? null : shared / cited)),
  label: "Sources precision",
  kind: "mean",
  better: "higher",
  meaning: "Fraction of the cited emails that are gold emails, over the answers that cite any.",
  scale: { min: 0, max: 1 },
};

export const sourcesRecall: ScorerEntry = {
  ...scoreSources((shared, _, gold) => shared / gold),
  label: "Sources recall",
  kind: "mean",
  better: "higher",
  meaning: "Fraction of the gold emails that the answer cites.",
  scale: { min: 0, max: 1 },
};

export const sourcesF1: ScorerEntry = {
  ...scoreSources(f1),
  label: "Sources F1",
  kind: "mean",
  better: "higher",
  meaning: "F1 of the cited emails against the gold emails, or 0 without citations.",
  scale: { min: 0, max: 1 },
};

/** The rank, from 1, of the first gold email in each search of the trace. 0 for a search without one. */
function goldRanks({ task, toolCalls }: UnscoredTrace, sameMail: SameMail): number[] {
  const gold = new Set(task.message_ids.map(sameMail));
  return toolCalls.map((call) => listedIds(call).findIndex((id) => gold.has(sameMail(id))) + 1);
}

function foundWithin(depth: number): ScorerEntry {
  return {
    ...ofSearches(
      withGoldMail((trace, sameMail) => ({
        value: goldRanks(trace, sameMail).some((rank) => rank > 0 && rank <= depth) ? 1 : 0,
      })),
    ),
    label: `Hit@${depth}`,
    kind: "rate",
    better: "higher",
    meaning: `At least one search listed a gold email ${depth === 1 ? "first" : `among its first ${depth}`}.`,
  };
}

export const foundAt1 = foundWithin(1);
export const foundAt5 = foundWithin(5);
export const foundAt10 = foundWithin(10);

export const goldRank: ScorerEntry = {
  ...ofSearches(
    withGoldMail((trace, sameMail) => {
      const rank = goldRanks(trace, sameMail).find((each) => each > 0);
      return rank === undefined ? { value: null, explanation: "no search listed a gold email" } : { value: rank };
    }),
  ),
  label: "Gold rank",
  kind: "mean",
  better: "lower",
  meaning: "Rank, from 1, of the gold email in the first search that listed it, over the tasks with such a search.",
  scale: { min: 1 },
};
