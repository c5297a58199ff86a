// Sentences and lines of an email, their words, and the passage that contains an answer.
import { stemOf } from "./porter.js";
import { MAIL_WORDS, STOP_WORDS } from "./stop-words.js";

/** A range of a text in UTF-16 code units. The end is exclusive. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** Lines that never contain an answer: headers of quoted emails, separators, greetings. */
const NOISE =
  /^(\s*[-_=*>#]{3,}|>*\s*(from|to|cc|bcc|sent|date|subject):|\s*-+\s*(original message|forwarded by)|(hi|hello|dear)\b.{0,20}[,:]?$)/i;

const DAY_POINT = "(?<![\\p{L}\\p{N}])\\d{1,2}\\.";
const GERMAN_MONTH = "(?:Jan|Jän|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)";

/** Does not match the period after a day: "am 12. März", "am 12. 3. 2001". */
const SENTENCE_END = new RegExp(
  [
    "(?<=[.!?])",
    `(?<!${DAY_POINT}(?=\\s+(?:\\d{1,2}\\.|${GERMAN_MONTH}))|${DAY_POINT}\\s{1,3}\\d{1,2}\\.(?=\\s+\\d{4}))`,
    "\\s+(?=[\"'(]?[\\p{Lu}\\p{N}])",
  ].join(""),
  "u",
);

/** Splits wrapped prose into sentences and all other text into lines. */
export function splitPassages(text: string): string[] {
  return text
    .split(/\n\s*\n/)
    .flatMap((paragraph) => {
      const lines = paragraph.split("\n").filter((line) => line.trim() !== "" && !NOISE.test(line));
      const wrapped = lines.length > 1 && lines.slice(0, -1).every((line) => line.length > 50);
      return (wrapped ? [lines.join(" ")] : lines).flatMap((part) => part.split(SENTENCE_END));
    })
    .map((passage) =>
      passage
        .replace(/\s+/g, " ")
        .replace(/^[>\s]+/, "")
        .trim(),
    )
    .filter((passage) => wordsOf(passage).length > 0);
}

/** Letters and digits, together with the punctuation inside a name, an amount or an address. */
const WORD = /[\p{L}\p{N}]+(?:[.'’@&-][\p{L}\p{N}]+)*/gu;

export function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

/** Returns distinct content words in their original case, without a possessive 's. */
export function contentWords(text: string): string[] {
  const words = wordsOf(text).map((word) => word.replace(/['’]s$/i, ""));
  const byLowerCase = new Map(words.map((word) => [word.toLowerCase(), word]));
  return [...byLowerCase].filter(([lower]) => isContent(lower)).map(([, word]) => word);
}

function isContent(lower: string): boolean {
  return !STOP_WORDS.has(lower) && !MAIL_WORDS.has(lower) && lower !== "according";
}

/** Returns the stems of the content words, and of the parts of compound words. */
export function stemsOf(text: string): Set<string> {
  const words = contentWords(text).flatMap((word) => [word, ...word.split(/[.'’@&-]/)]);
  const lower = words.map((word) => word.toLowerCase()).filter((word) => word !== "" && isContent(word));
  return new Set(lower.map(stemOf));
}

/** Words from the answer locate the passage better than words from the question. */
const ANSWER_WEIGHT = 3;

/**
 * Finds the passage that most likely contains the answer, based on shared words. Returns null if none shares a word.
 */
export function locateAnswer(body: string, task: { question: string; answer: string }): TextSpan | null {
  const ofAnswer = stemsOf(task.answer);
  const ofQuestion = stemsOf(task.question);
  let best: { passage: string; score: number } | null = null;
  for (const passage of splitPassages(body)) {
    const stems = stemsOf(passage);
    const shared = (words: ReadonlySet<string>) => [...words].filter((word) => stems.has(word)).length;
    const score = ANSWER_WEIGHT * shared(ofAnswer) + shared(ofQuestion);
    if (score > (best?.score ?? 0)) best = { passage, score };
  }
  return best === null ? null : locatePassage(body, best.passage);
}

/** Minimum passage length in characters. A shorter passage can match any text by chance. */
const MIN_PASSAGE = 4;

/**
 * Finds a passage in a text, ignoring case, white space and quotation marks of replies (>). Returns null if it is
 * missing.
 */
export function locatePassage(text: string, passage: string): TextSpan | null {
  const densePassage = withoutSpace(passage);
  if (densePassage.text.length < MIN_PASSAGE) return null;
  const dense = withoutSpace(text);
  const at = dense.text.indexOf(densePassage.text);
  if (at === -1) return null;
  const start = dense.positions[at] ?? 0;
  return { start, end: (dense.positions[at + densePassage.text.length - 1] ?? start) + 1 };
}

/** A text in lower case without white space and `>`, with the original position of each remaining unit. */
function withoutSpace(text: string): { readonly text: string; readonly positions: readonly number[] } {
  const positions: number[] = [];
  let dense = "";
  for (let i = 0; i < text.length; i++) {
    const unit = text.charAt(i);
    if (/[>\s]/.test(unit)) continue;
    const lower = unit.toLowerCase();
    // Some letters become two in lower case, which would shift all following positions.
    dense += lower.length === 1 ? lower : unit;
    positions.push(i);
  }
  return { text: dense, positions };
}
