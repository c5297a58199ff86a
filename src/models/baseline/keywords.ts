import { stemmer } from "stemmer";
import { MAIL_WORDS, STOP_WORDS } from "../../domain/mail/stop-words.js";

/** As in the index; the stemmer takes long over what is no word. */
const LONGEST_STEMMED = 64;

/** Letters and digits, with the marks that hold a name, an amount or an address together. */
const WORD = /[\p{L}\p{N}]+(?:[.'’@&-][\p{L}\p{N}]+)*/gu;

/** Words as they are written, in order. */
export function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

/** Different content words as they are written, without their possessive 's. */
export function contentWords(text: string): string[] {
  const words = wordsOf(text).map((word) => word.replace(/['’]s$/i, ""));
  const byLowerCase = new Map(words.map((word) => [word.toLowerCase(), word]));
  return [...byLowerCase].filter(([lower]) => isContent(lower)).map(([, word]) => word);
}

function isContent(lower: string): boolean {
  return !STOP_WORDS.has(lower) && !MAIL_WORDS.has(lower) && lower !== "according";
}

/** Stems of the content words, compound words also by their parts. */
export function stemsOf(text: string): Set<string> {
  const words = contentWords(text).flatMap((word) => [word, ...word.split(/[.'’@&-]/)]);
  const lower = words.map((word) => word.toLowerCase()).filter((word) => word !== "" && isContent(word));
  return new Set(lower.map((word) => (word.length > LONGEST_STEMMED ? word : stemmer(word))));
}

/**
 * Up to `limit` words of a question that are likely to be rare in a mailbox, the likeliest first: numbers, names,
 * long words. The order decides which word a search drops first: the last.
 */
export function rareWords(question: string, limit: number): string[] {
  const first = wordsOf(question)[0];
  const rarity = (word: string) =>
    (/\d/.test(word) ? 20 : 0) + (/^\p{Lu}/u.test(word) && word !== first ? 15 : 0) + word.length;
  const ranked = contentWords(question).map((word, i) => ({ word, i, rarity: rarity(word) }));
  ranked.sort((a, b) => b.rarity - a.rarity || a.i - b.i);
  return ranked.slice(0, limit).map(({ word }) => word);
}
