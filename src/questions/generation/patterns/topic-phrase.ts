import { plainSubject } from "../../../domain/mail/plain-subject.js";
import { contentWords, stemsOf } from "../../../models/baseline/keywords.js";

/** In how many mails of a mailbox each stem occurs. */
export type DocumentFrequencies = ReadonlyMap<string, number>;

export function documentFrequencies(mails: Iterable<ReadonlySet<string>>): DocumentFrequencies {
  const counts = new Map<string, number>();
  for (const stems of mails) for (const stem of stems) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  return counts;
}

/** Content words of a topic. One alone must be rare. */
const TOPIC_WORDS = { min: 2, max: 3 } as const;

/** A word in no more mails than these names a topic alone. */
const RARE_IN_MAILS = 3;

/** Words of the form of a mail, which say nothing about its topic. */
const FORM_WORDS: ReadonlySet<string> = new Set(
  `re fw fwd fyi asap please thanks thank regards sincerely attached attachment below above am pm read important urgent hello hi dear vs
  january february march april june july august september october november december jan feb mar apr jun jul aug sep sept
  oct nov dec`.split(/\s+/),
);

/** Words that hold a phrase together. */
const CONNECTIVES: ReadonlySet<string> = new Set("a an and at by for from in of on the to with".split(" "));

/** Between the parts of a subject. A hyphen inside a word is none, nor the dot of "Rep." */
const PARTS = /[:;,()[\]{}"“”!?|<>*#=_]+|(?<=\p{L}{4})\.(?:\s|$)|\s[-–—/]+\s|-{2,}/u;

/** Two or more words with capitals, as names of companies, projects and places have. */
const PROPER_NAME = /(?<![\p{L}\p{N}])\p{Lu}[\p{L}&'’-]+(?:\s+(?:(?:of|and|the|de|du)\s+)?\p{Lu}[\p{L}&'’-]+){1,3}/gu;

/**
 * What a mail is about, as the rarest phrase of its subject, or else of the proper names of a passage: whole words
 * between prepositions and articles, in the order they are written in. Null where there is none.
 * @param known no topic holds a word of it: what is asked for, and what the question says anyhow
 */
export function topicOf(
  subject: string,
  passage: string,
  known: string,
  frequencies: DocumentFrequencies,
): string | null {
  const knownWords = wordsIn(known);
  const inSubject = plainSubject(subject).split(PARTS).flatMap(phrasesOf);
  const inNames = [...passage.matchAll(PROPER_NAME)].flatMap(([name]) => phrasesOf(name));
  const rarest = (phrases: readonly Phrase[]) => rarestOf(phrases, knownWords, frequencies);
  const topic = rarest(inSubject) ?? rarest(inNames);
  return topic === null ? null : inLowerCaseIfShouted(topic);
}

interface Phrase {
  readonly text: string;
  readonly words: readonly string[];
}

/** The stretches of a text between words that no phrase begins or ends with; of a long one its end. */
function phrasesOf(text: string): Phrase[] {
  const tokens = text.split(/\s+/).filter((token) => token !== "");
  const isTopical = tokens.map(isTopicWord);
  const phrases: Phrase[] = [];
  for (let start = 0; start < tokens.length; start++) {
    if (!isTopical[start]) continue;
    for (let end = start; end < tokens.length; end++) {
      const words = tokens.slice(start, end + 1).filter((_, i) => isTopical[start + i]);
      if (words.length > TOPIC_WORDS.max) break;
      const isWhole = isTopical[end] && !isTopical[end + 1];
      if (!isTopical[end] && !CONNECTIVES.has((tokens[end] ?? "").toLowerCase())) break;
      const isHead = !isTopical[start - 1] || words.length === TOPIC_WORDS.max;
      // "reset" of "Your password has been reset" is no topic; a subject of one word is.
      const isNoun = words.length > 1 || tokens.length === 1 || /^\p{Lu}/u.test(tokens[start] ?? "");
      if (isWhole && isHead && isNoun) phrases.push({ text: tokens.slice(start, end + 1).join(" "), words });
    }
  }
  return phrases;
}

function isTopicWord(token: string): boolean {
  return (
    /^\p{L}[\p{L}'’&/-]{1,24}$/u.test(token) && contentWords(token).length > 0 && !FORM_WORDS.has(token.toLowerCase())
  );
}

function rarestOf(
  phrases: readonly Phrase[],
  known: ReadonlySet<string>,
  frequencies: DocumentFrequencies,
): string | null {
  let best: { text: string; rarity: number } | null = null;
  for (const { text, words } of phrases) {
    const stems = [...stemsOf(text)];
    if (stems.length === 0 || [...wordsIn(text)].some((word) => known.has(word))) continue;
    const counts = stems.map((stem) => frequencies.get(stem) ?? 1);
    if (words.length < TOPIC_WORDS.min && Math.min(...counts) > RARE_IN_MAILS) continue;
    const rarity = counts.reduce((sum, count) => sum - Math.log(count / (frequencies.size + 1)), 0);
    if (rarity > (best?.rarity ?? 0)) best = { text, rarity };
  }
  return best?.text ?? null;
}

function wordsIn(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}

/** Nobody shouts a question; a single word in capitals is an abbreviation. */
function inLowerCaseIfShouted(phrase: string): string {
  return /\s/.test(phrase) && !/\p{Ll}/u.test(phrase) ? phrase.toLowerCase() : phrase;
}
