import { insertTopK } from "../../../platform/top-k.js";
import type { Candidate } from "../candidate-generation.js";
import type { ScoredMail } from "./score-mail.js";

/**
 * The `wanted` best candidates by score, of equal ones the newer. Candidates come by descending weight; once the
 * upper bound of a score (`bound`) is below the worst hit, the rest is not read.
 */
export function rankCandidates(
  candidates: readonly Candidate[],
  wanted: number,
  bound: (weight: number) => number,
  scoreAt: (position: number) => ScoredMail,
): ScoredMail[] {
  const found: ScoredMail[] = [];
  for (const { position, weight } of candidates) {
    const worst = found.length < wanted ? undefined : found.at(-1);
    if (worst !== undefined && bound(weight) < worst.score) break;
    insertTopK(found, scoreAt(position), wanted, isBetter);
  }
  return found;
}

function isBetter(a: ScoredMail, b: ScoredMail): boolean {
  return a.score > b.score || (a.score === b.score && a.position < b.position);
}
