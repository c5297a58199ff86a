import type { ScorerEntry } from "../domain/scores/score.js";

/** Time is the product of both word counts: an answer of a million words would take hours. */
const MAX_WORDS = 10_000;

/** Tokens as in Google's rouge-score without its stemmer: lower-case runs of ASCII letters and digits. */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).slice(0, MAX_WORDS);
}

/** Length of the longest common subsequence, with one row of the table in memory. */
function lcsLength(a: readonly string[], b: readonly string[]): number {
  const row = new Uint32Array(b.length + 1);
  for (const word of a) {
    let diagonal = 0;
    for (let j = 1; j <= b.length; j++) {
      const above = row[j] ?? 0;
      row[j] = word === b[j - 1] ? diagonal + 1 : Math.max(above, row[j - 1] ?? 0);
      diagonal = above;
    }
  }
  return row[b.length] ?? 0;
}

/** ROUGE-L F1 (Lin 2004, section 3, beta 1): 0 if either text has no word. */
export const rougeL: ScorerEntry = {
  score({ answer, task }) {
    const [words, gold] = [wordsOf(answer ?? ""), wordsOf(task.answer)];
    if (words.length === 0 || gold.length === 0) return { value: 0 };
    return { value: (2 * lcsLength(words, gold)) / (words.length + gold.length) };
  },
  label: "ROUGE-L",
  kind: "mean",
  scale: { min: 0, max: 1 },
  better: "higher",
  meaning: "ROUGE-L F: how much of answer and gold answer is one common sequence of words, 0 to 1.",
};
