import type { Question } from "../../src/tasks/question.js";
import { STOP_WORDS } from "../../src/text/stop-words.js";
import { below } from "../../test/random.js";

/**
 * Kinds of misspellings of one word in a question, with the corrector for each, or null if other spellings are always
 * found.
 */
export interface Misspelling {
  readonly name: string;
  readonly corrector: string | null;
  readonly write: (question: string, random: () => number, mail: KnownWords) => string | null;
}

/** Restricts which words can be joined and split: both forms must be words of the mail. */
export interface KnownWords {
  /** Whether an email in the question's mailbox contains these words in sequence. */
  readonly standTogether: (words: string) => boolean;
  /** Whether any email contains the word. */
  readonly isWord: (word: string) => boolean;
}

type Edit = (name: string, at: number, letter: string) => string;

/** Names according to their capital letters, except for the first word of a question. */
const NAME = /(?<=\s)[A-Z][a-z]{4,}\b/g;
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const MIN_PART = 3;

export const MISSPELLINGS: readonly Misspelling[] = [
  letterOfName("a letter changed", (name, at, letter) => name.slice(0, at) + letter + name.slice(at + 1)),
  letterOfName("a letter left out", (name, at) => name.slice(0, at) + name.slice(at + 1)),
  letterOfName("a letter put in", (name, at, letter) => name.slice(0, at) + letter + name.slice(at)),
  letterOfName("two letters swapped", (name, at) => {
    const first = Math.min(at, name.length - 2);
    return `${name.slice(0, first)}${name[first + 1]}${name[first]}${name.slice(first + 2)}`;
  }),
  { name: "two words joined", corrector: null, write: joinTwoWords },
  { name: "a word split", corrector: null, write: splitWord },
  { name: "a word cut short", corrector: "prefix", write: cutWord },
];

/** The question with the misspelling in one word, or null if no word can have it. */
export function misspell(question: Question, { write }: Misspelling, random: () => number, mail: KnownWords) {
  const text = write(question.question, random, mail);
  return text === null ? null : { ...question, question: text };
}

function letterOfName(name: string, edit: Edit): Misspelling {
  const write = (question: string, random: () => number) => {
    const found = draw([...question.matchAll(NAME)], random);
    if (found === null) return null;
    for (let written = found[0]; ; ) {
      written = edit(found[0], below(random, found[0].length), LETTERS[below(random, LETTERS.length)] ?? "");
      if (written.toLowerCase() !== found[0].toLowerCase()) return replaceAt(question, found.index, found[0], written);
    }
  };
  return { name, corrector: "spelling", write };
}

function joinTwoWords(question: string, random: () => number, { standTogether }: KnownWords): string | null {
  const pairs = [...question.matchAll(/\b(?=([A-Za-z]{3,})[ -]([a-z]{3,})\b)/g)].filter(
    ([, first = "", second = ""]) =>
      isContent(first) && isContent(second) && standTogether(`${first} ${second}`.toLowerCase()),
  );
  const pair = draw(pairs, random);
  return pair === null ? null : replaceAt(question, pair.index + (pair[1]?.length ?? 0), " ", "");
}

function splitWord(question: string, random: () => number, { isWord }: KnownWords): string | null {
  const cuts = [...question.matchAll(/\b[A-Za-z]{6,}\b/g)].flatMap(({ 0: word, index }) =>
    Array.from({ length: word.length + 1 - 2 * MIN_PART }, (_, i) => i + MIN_PART)
      .filter((at) => isContent(word) && [word.slice(0, at), word.slice(at)].every((one) => isWord(one.toLowerCase())))
      .map((at) => index + at),
  );
  const at = draw(cuts, random);
  return at === null ? null : replaceAt(question, at, "", " ");
}

/** To five or six letters. */
function cutWord(question: string, random: () => number): string | null {
  const word = draw(
    [...question.matchAll(/\b[A-Za-z][a-z]{8,}\b/g)].filter(([one]) => isContent(one)),
    random,
  );
  return word === null ? null : replaceAt(question, word.index, word[0], word[0].slice(0, 5 + below(random, 2)));
}

function isContent(word: string): boolean {
  return !STOP_WORDS.has(word.toLowerCase());
}

function replaceAt(text: string, index: number, old: string, by: string): string {
  return text.slice(0, index) + by + text.slice(index + old.length);
}

function draw<T>(from: readonly T[], random: () => number): T | null {
  return from[below(random, from.length)] ?? null;
}
