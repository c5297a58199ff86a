import type { ScorerEntry } from "../domain/scores/score.js";

/** The punctuation that the published script removes: Python's `string.punctuation`. */
const PUNCTUATION = /[!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]/g;

/** As in SQuAD's evaluation script: lower case, without punctuation and articles, split at white space. */
function tokensOf(text: string): string[] {
  const plain = text.toLowerCase().replace(PUNCTUATION, "");
  return plain.replace(/\b(a|an|the)\b/g, " ").match(/\S+/g) ?? [];
}

/** SQuAD's token F1 (Rajpurkar et al. 2016, evaluate-v2.0): 1 if neither has a token, 0 if only one has. */
function overlapF1(answer: readonly string[], gold: readonly string[]): number {
  if (answer.length === 0 || gold.length === 0) return answer.length === gold.length ? 1 : 0;
  const remaining = new Map<string, number>();
  for (const token of gold) remaining.set(token, (remaining.get(token) ?? 0) + 1);
  let shared = 0;
  for (const token of answer) {
    const count = remaining.get(token) ?? 0;
    if (count === 0) continue;
    shared++;
    remaining.set(token, count - 1);
  }
  return (2 * shared) / (answer.length + gold.length);
}

export const tokenF1: ScorerEntry = {
  score: ({ answer, task }) => ({ value: overlapF1(tokensOf(answer ?? ""), tokensOf(task.answer)) }),
  label: "Token F1",
  kind: "mean",
  scale: { min: 0, max: 1 },
  better: "higher",
  meaning:
    "F1 of the words shared by answer and gold answer, as SQuAD computes it: without case, punctuation and articles; 0 to 1.",
};
