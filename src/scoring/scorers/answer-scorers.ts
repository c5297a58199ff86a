// Scorers that compare an answer's text with the gold answer.
import { similarity } from "../../text/word-overlap.js";
import type { ScorerEntry } from "../scorer-entry.js";
import { f1 } from "./f1.js";

export const exactMatch: ScorerEntry = {
  score: ({ answer, task }) => ({ value: normalizeAnswer(answer ?? "") === normalizeAnswer(task.answer) ? 1 : 0 }),
  label: "Exact match",
  kind: "rate",
  better: "higher",
  meaning: "The answer equals the gold answer, ignoring case and white space.",
};

/** Lower case, trimmed, white space collapsed to single spaces. */
function normalizeAnswer(text: string): string {
  return text.toLowerCase().trim().replace(/\s+/g, " ");
}

/** The punctuation that SQuAD's script removes: Python's `string.punctuation`. */
const PUNCTUATION = /[!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]/g;

/** Tokens as in SQuAD's evaluation script: lower case, without punctuation or articles, split at white space. */
function tokensOf(text: string): string[] {
  const plain = text.toLowerCase().replace(PUNCTUATION, "");
  return plain.replace(/\b(a|an|the)\b/g, " ").match(/\S+/g) ?? [];
}

/** SQuAD's token F1 (Rajpurkar et al. 2016, evaluate-v2.0): 1 if both texts are empty, 0 if only one is. */
function overlapF1(answer: readonly string[], gold: readonly string[]): number {
  const remaining = new Map<string, number>();
  for (const token of gold) remaining.set(token, (remaining.get(token) ?? 0) + 1);
  let shared = 0;
  for (const token of answer) {
    const count = remaining.get(token) ?? 0;
    if (count === 0) continue;
    shared++;
    remaining.set(token, count - 1);
  }
  return f1(shared, answer.length, gold.length);
}

export const tokenF1: ScorerEntry = {
  score: ({ answer, task }) => ({ value: overlapF1(tokensOf(answer ?? ""), tokensOf(task.answer)) }),
  label: "Token F1",
  kind: "mean",
  scale: { min: 0, max: 1 },
  better: "higher",
  meaning:
    "F1 of the words shared by the answer and the gold answer, following SQuAD: case, punctuation and articles are ignored. 0 to 1.",
};

export const semanticScore: ScorerEntry = {
  score: ({ answer, task }) => ({ value: similarity(answer, task.answer) }),
  label: "Word overlap",
  kind: "mean",
  better: "higher",
  meaning: "Jaccard similarity between the word sets of the answer and the gold answer, 0 to 1.",
  scale: { min: 0, max: 1 },
};

/** Time grows with the product of both word counts, so an answer of a million words would take hours. */
const MAX_WORDS = 10_000;

/** Tokens as in Google's rouge-score without its stemmer: lower-case sequences of ASCII letters and digits. */
function answerWords(text: string): string[] {
  return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).slice(0, MAX_WORDS);
}

/** Length of the longest common subsequence. Keeps only one row of the table in memory. */
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

/** ROUGE-L F1 (Lin 2004, section 3, beta 1, https://aclanthology.org/W04-1013/). 0 if either text is empty. */
export const rougeL: ScorerEntry = {
  score({ answer, task }) {
    const [words, gold] = [answerWords(answer ?? ""), answerWords(task.answer)];
    if (words.length === 0 || gold.length === 0) return { value: 0 };
    return { value: (2 * lcsLength(words, gold)) / (words.length + gold.length) };
  },
  label: "ROUGE-L",
  kind: "mean",
  scale: { min: 0, max: 1 },
  better: "higher",
  meaning: "ROUGE-L F1: based on the longest word sequence common to the answer and the gold answer, 0 to 1.",
};
