import { plainSubject } from "../../../domain/mail/plain-subject.js";
import { contentWords, stemsOf } from "../../../models/baseline/keywords.js";

/** In how many mails of a mailbox each stem occurs. */
export type DocumentFrequencies = ReadonlyMap<string, number>;

export function documentFrequencies(texts: Iterable<string>): DocumentFrequencies {
  const counts = new Map<string, number>();
  for (const text of texts) for (const stem of stemsOf(text)) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  return counts;
}

/** Words a topic has. */
const TOPIC_WORDS = { min: 2, max: 3 } as const;

/** Words of the form of a mail, which say nothing about its topic. */
const FORM_WORDS: ReadonlySet<string> = new Set(
  "re fw fwd fyi asap please thanks thank regards sincerely attached attachment below above am pm".split(" "),
);

/**
 * The rarest words of a passage and its mail's subject, in the order they are written in; null where there are too few.
 * No topic holds a word of `known`: what is asked for, and what the question says anyhow.
 */
export function topicOf(
  subject: string,
  passage: string,
  known: string,
  frequencies: DocumentFrequencies,
): string | null {
  const knownWords = new Set(known.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
  const words = contentWords(`${plainSubject(subject)} ${passage}`).filter(
    (word) =>
      /^\p{L}[\p{L}'’-]{2,20}$/u.test(word) &&
      !FORM_WORDS.has(word.toLowerCase()) &&
      !knownWords.has(word.toLowerCase()),
  );
  const rarity = (word: string) => Math.min(...[...stemsOf(word)].map((stem) => frequencies.get(stem) ?? 0));
  const rarest = [...words].sort((a, b) => rarity(a) - rarity(b)).slice(0, TOPIC_WORDS.max);
  if (rarest.length < TOPIC_WORDS.min) return null;
  const chosen = new Set(rarest);
  return words.filter((word) => chosen.has(word)).join(" ");
}
