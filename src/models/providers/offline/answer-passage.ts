// The baseline's answer: the sentence of the found emails that best covers the question.
import { MONTH_NAMES } from "../../../text/dates-and-numbers.js";
import { contentWords, splitPassages, stemsOf, wordsOf } from "../../../text/passages.js";

export interface SeenMail {
  readonly messageId: string;
  readonly subject: string;
  /** The body, or the snippet if the email was not opened. */
  readonly text: string;
}

interface FoundPassage {
  readonly passage: string;
  /** Weights of the question's words in the subject, in the passage and near it. */
  readonly fit: number;
}

const MAX_ANSWER = 200;

/**
 * Factor by which a passage from a lower-ranked email must fit better, because the search order itself is strong
 * evidence.
 */
const CLEARLY_BETTER = 1.6;

/** Patterns for kinds of questions, and for the answers that they expect. The first matching kind applies. */
const KINDS: readonly { readonly asks: RegExp; readonly wants: RegExp }[] = [
  { asks: /\b(phone|telephone|fax|extension|cell|pager)\b/i, wants: /\d{3}[-.) ]+\d{4}|\bx\s?\d{4,5}\b/ },
  { asks: /\be-?mail address\b/i, wants: /[^\s@]@[^\s@]+\.\w/ },
  {
    asks: /\b(what time|at which time|how early|how late)\b/i,
    wants: /\b\d{1,2}(:\d\d)?\s?([ap]\.?m\b)|\b\d{1,2}:\d\d\b|\bnoon\b/i,
  },
  {
    asks: /\bhow (much|long|far|old|large|big)\b|\b(price|cost|amount|fee|salary|value|rate)\b/i,
    wants: /\$\s?\d|\d/,
  },
  {
    asks: /\bhow many\b|\bwhat (number|percentage)\b/i,
    wants: /\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|dozen)\b/i,
  },
  {
    asks: /\bwhen\b|\bwhat (date|day|month|year)\b|\b(which|what) (day|date)\b|\bdeadline\b/i,
    wants: new RegExp(
      `\\b(${MONTH_NAMES})\\b|\\d{1,2}/\\d{1,2}|\\b(mon|tues|wednes|thurs|fri|satur|sun)day\\b|\\b(19|20)\\d\\d\\b`,
      "i",
    ),
  },
  {
    asks: /\bwhere\b|\b(location|address|room|city|place)\b/i,
    wants: /\b(room|floor|street|st\.|suite|building|conference|hotel|avenue|EB\s?\d+)\b|\bEB\d|\bin [A-Z]\w+/,
  },
  { asks: /\bwho(m|se)?\b|\bwhich (person|people)\b/i, wants: /\b[A-Z][a-z]+ [A-Z][a-z]+\b/ },
];

/**
 * Returns the sentence or line that best covers the question, with its email, or null if there are no emails. `mails`
 * are in search order, best first. Depends only on its arguments.
 */
export function pickPassage(
  question: string,
  mails: readonly SeenMail[],
  background: readonly string[],
): { mail: SeenMail; passage: string } | null {
  const weights = weigh(question, mails, background);
  const wants = KINDS.find(({ asks }) => asks.test(question))?.wants;
  let best: { mail: SeenMail; found: FoundPassage } | null = null;
  for (const mail of mails) {
    const candidate = bestPassage(mail, weights, wants);
    // Compare passages, not emails, because a long email is more likely to contain the words somewhere.
    if (best === null || candidate.fit > best.found.fit * CLEARLY_BETTER) best = { mail, found: candidate };
  }
  return best === null ? null : { mail: best.mail, passage: shorten(best.found.passage, weights, wants) };
}

/** Returns the weight of each stem. Words that occur in fewer texts have a higher weight. */
function weigh(question: string, mails: readonly SeenMail[], background: readonly string[]): Map<string, number> {
  const texts = [...mails.map((mail) => `${mail.subject}\n${mail.text}`), ...background].map(stemsOf);
  const weights = [...stemsOf(question)].map((stem): [string, number] => {
    const holding = texts.filter((text) => text.has(stem)).length;
    return [stem, Math.log(1 + (texts.length + 1) / (holding + 0.5))];
  });
  return new Map(weights);
}

function coverage(text: string, weights: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const stem of stemsOf(text)) sum += weights.get(stem) ?? 0;
  return sum;
}

function bestPassage(mail: SeenMail, weights: ReadonlyMap<string, number>, wants: RegExp | undefined): FoundPassage {
  const passages = splitPassages(mail.text);
  const total = [...weights.values()].reduce((a, b) => a + b, 0);
  const own = passages.map((passage) => coverage(passage, weights));
  const ofSubject = coverage(mail.subject, weights);
  let best = { passage: mail.subject, score: 0 };
  for (const [i, passage] of passages.entries()) {
    // In a table or list, the question's words are in the line above the answer.
    const around = 0.4 * (own[i - 1] ?? 0) + 0.2 * (own[i + 1] ?? 0);
    const kind = wants?.test(passage) ? 0.65 * total : 0;
    const score = (own[i] ?? 0) + around + kind;
    if (score > best.score) best = { passage, score };
  }
  return { passage: best.passage, fit: ofSubject + best.score };
}

/** Returns a window of whole words around the expected kind of answer, otherwise around the question's words. */
function shorten(passage: string, weights: ReadonlyMap<string, number>, wants: RegExp | undefined): string {
  if (passage.length <= MAX_ANSWER) return passage;
  const position = wants === undefined ? -1 : passage.search(wants);
  const word = [...passage.matchAll(/\S+/g)].find(([text]) => coverage(text, weights) > 0);
  const centre = position === -1 ? (word?.index ?? 0) : position;
  const from = Math.max(0, Math.min(centre - MAX_ANSWER / 2, passage.length - MAX_ANSWER));
  const cut = passage.slice(from, from + MAX_ANSWER);
  const start = from === 0 ? 0 : cut.indexOf(" ") + 1;
  const end = from + MAX_ANSWER >= passage.length ? cut.length : cut.lastIndexOf(" ");
  return cut.slice(start, end > start ? end : cut.length).trim();
}

/**
 * Returns up to `limit` words of a question that are probably rare in a mailbox, rarest first: numbers, names, long
 * words. Searches drop the last words first.
 */
export function rareWords(question: string, limit: number): string[] {
  const first = wordsOf(question)[0];
  const rarity = (word: string) =>
    (/\d/.test(word) ? 20 : 0) + (/^\p{Lu}/u.test(word) && word !== first ? 15 : 0) + word.length;
  const ranked = contentWords(question).map((word, i) => ({ word, i, rarity: rarity(word) }));
  ranked.sort((a, b) => b.rarity - a.rarity || a.i - b.i);
  return ranked.slice(0, limit).map(({ word }) => word);
}
