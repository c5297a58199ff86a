import type { Scorer } from "../domain/scores/score.js";
import { wordSet } from "./normalize-answer.js";

/** Jaccard similarity of the word sets of answer and gold, 0 to 1; 0 if both are empty. */
export const semanticScore: Scorer = ({ answer, task }) => ({ value: similarity(answer, task.answer) });

export function similarity(answer: string | null, gold: string): number {
  return jaccard(wordSet(answer ?? ""), wordSet(gold));
}

function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) if (b.has(word)) shared++;
  const all = a.size + b.size - shared;
  return all === 0 ? 0 : shared / all;
}
