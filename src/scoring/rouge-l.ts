import type { ScorerEntry } from "../domain/scores/score.js";

/** The time goes with the words of both multiplied: an answer of a million would take hours. */
const MAX_WORDS = 10_000;

/** As Google's rouge-score package reads words, without its stemmer: lower case, everything but ASCII letters and digits parts them. */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).slice(0, MAX_WORDS);
}

/** Length of the longest common subsequence, in one row of memory. */
function commonLength(a: readonly string[], b: readonly string[]): number {
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

/** ROUGE-L's F with precision and recall weighed alike (Lin 2004, section 3, beta 1): 0 where either has no word. */
export const rougeL: ScorerEntry = {
  score({ answer, task }) {
    const [said, gold] = [wordsOf(answer ?? ""), wordsOf(task.answer)];
    if (said.length === 0 || gold.length === 0) return { value: 0 };
    return { value: (2 * commonLength(said, gold)) / (said.length + gold.length) };
  },
  label: "ROUGE-L",
  kind: "mean",
  scale: { min: 0, max: 1 },
  better: "higher",
  meaning: "ROUGE-L F: how much of answer and gold answer is one common sequence of words, 0 to 1.",
};
