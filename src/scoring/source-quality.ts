import type { Scorer, ScorerEntry } from "../domain/scores/score.js";
import { hasGoldMail } from "./gold-mail.js";

/** Compares the cited mails with the gold mails; copies of a mail count once. */
function scoreSources(measure: (shared: number, cited: number, gold: number) => number | null): Scorer {
  return ({ task, sources }, sameMail) => {
    if (task.message_ids.length === 0) return { value: null, explanation: "the question has no gold mail" };
    const gold = new Set(task.message_ids.map(sameMail));
    const cited = new Set(sources.map(sameMail));
    const shared = [...cited].filter((id) => gold.has(id)).length;
    const value = measure(shared, cited.size, gold.size);
    return value === null ? { value, explanation: "the answer names no source" } : { value };
  };
}

export const sourcesPrecision: ScorerEntry = {
  score: scoreSources((shared, cited) => (cited === 0 ? null : shared / cited)),
  label: "Sources precision",
  kind: "mean",
  better: "higher",
  meaning: "Share of the cited mails that are gold mails; over the answers that cite any.",
  scale: { min: 0, max: 1 },
  appliesTo: hasGoldMail,
};

export const sourcesRecall: ScorerEntry = {
  score: scoreSources((shared, _, gold) => shared / gold),
  label: "Sources recall",
  kind: "mean",
  better: "higher",
  meaning: "Share of the gold mails that are cited.",
  scale: { min: 0, max: 1 },
  appliesTo: hasGoldMail,
};

export const sourcesF1: ScorerEntry = {
  score: scoreSources((shared, cited, gold) => (2 * shared) / (cited + gold)),
  label: "Sources F1",
  kind: "mean",
  better: "higher",
  meaning: "F1 of the cited mails against the gold mails, 0 where none is cited.",
  scale: { min: 0, max: 1 },
  appliesTo: hasGoldMail,
};
