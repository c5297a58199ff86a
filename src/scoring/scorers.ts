import type { SameMail, Score, Scorer } from "../domain/score.js";
import type { Trace } from "../domain/trace.js";
import { exactMatch } from "./exact-match.js";
import { foundGold, readGold, sourcesCorrect } from "./gold-mail.js";
import { semanticScore } from "./semantic-score.js";

/** Name to scorer. A new one is a file beside these and a line here. */
export const SCORERS = {
  exactMatch,
  semanticScore,
  sourcesCorrect,
  foundGold,
  readGold,
} as const satisfies Record<string, Scorer>;

export type ScorerName = keyof typeof SCORERS;

export function scoreTrace(trace: Omit<Trace, "scores">, sameMail: SameMail): Record<ScorerName, Score> {
  const entries = Object.entries(SCORERS).map(([name, scorer]) => [name, scorer(trace, sameMail)]);
  return Object.fromEntries(entries) as Record<ScorerName, Score>;
}
