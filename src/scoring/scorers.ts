import type { SameMail, Score, ScorerEntry } from "../domain/score.js";
import type { Trace } from "../domain/trace.js";
import { exactMatch } from "./exact-match.js";
import { foundGold, readGold, sourcesCorrect } from "./gold-mail.js";
import { semanticScore } from "./semantic-score.js";

/** Name to scorer. A new one is a file beside these and a line here. */
export const SCORERS = {
  exactMatch: {
    score: exactMatch,
    label: "Exact match",
    kind: "rate",
    better: "higher",
    meaning: "The answer equals the gold answer once case and white space are set aside.",
  },
  semanticScore: {
    score: semanticScore,
    label: "Semantic score",
    kind: "mean",
    better: "higher",
    meaning: "Jaccard similarity of the word sets of answer and gold answer, 0 to 1.",
  },
  sourcesCorrect: {
    score: sourcesCorrect,
    label: "Sources correct",
    kind: "rate",
    better: "higher",
    meaning: "The answer's sources name a gold mail.",
    needsGoldMail: true,
  },
  foundGold: {
    score: foundGold,
    label: "Gold mail found",
    kind: "rate",
    better: "higher",
    meaning: "A search listed a gold mail.",
    needsGoldMail: true,
  },
  readGold: {
    score: readGold,
    label: "Gold mail read",
    kind: "rate",
    better: "higher",
    meaning: "The agent opened a gold mail.",
    needsGoldMail: true,
  },
} as const satisfies Record<string, ScorerEntry>;

export type ScorerName = keyof typeof SCORERS;

export function scoreTrace(trace: Omit<Trace, "scores">, sameMail: SameMail): Record<ScorerName, Score> {
  const same = remembering(sameMail);
  const entries = Object.entries(SCORERS).map(([name, { score }]) => [name, score(trace, same)]);
  return Object.fromEntries(entries) as Record<ScorerName, Score>;
}

/** Several scorers ask about the same few mails, and each question goes to the file. */
function remembering(sameMail: SameMail): SameMail {
  const known = new Map<string, string>();
  return (id) => {
    let name = known.get(id);
    if (name === undefined) {
      name = sameMail(id);
      known.set(id, name);
    }
    return name;
  };
}
