import type { ScoreExplanation } from "../../../store/search/ranking/explain-score.js";
import { count } from "../format-number.js";
import { table } from "../text-table.js";

const two = (value: number) => value.toFixed(2);

/** The parts of a hit's score: a table of the words that the mail holds, and a line for each signal. */
export function explainedScore({ score, words, passage, signals }: ScoreExplanation): string {
  const sum = words.reduce((total, word) => total + word.score, 0);
  const held = words.filter((word) => word.score > 0);
  const missing = words.filter((word) => word.score === 0).map(({ word }) => word);
  const implied = held.filter(({ inSubject, inBody, inQuoted }) => inSubject + inBody + inQuoted === 0);
  const raised = signals.filter(({ raise }) => raise > 0);
  const factor = raised.reduce((total, { raise }) => total + raise, 1);
  const [start, end] = passage;
  return [
    `score ${two(score)} = words ${two(sum)} x signals ${two(factor)}`,
    ...(held.length === 0 ? [] : [wordTable(held)]),
    ...(implied.length === 0
      ? []
      : [`counted once for when it was sent: ${implied.map(({ word }) => word).join(", ")}`]),
    ...(missing.length === 0 ? [] : [`not found: ${missing.join(", ")}`]),
    ...(start === 0 ? [] : [`counted in characters ${count(start)} to ${count(end)} of the body, which fit best`]),
    ...raised.map(({ signal, meaning, raise }) => `+${two(raise)} ${signal}: ${meaning}`),
  ].join("\n");
}

function wordTable(words: ScoreExplanation["words"]): string {
  return table(
    ["word", "idf", "in subject", "in body", "in quoted mail", "score"],
    words.map(({ word, idf, inSubject, inBody, inQuoted, score }) => [
      word,
      two(idf),
      ...[inSubject, inBody, inQuoted].map(count),
      two(score),
    ]),
  );
}
