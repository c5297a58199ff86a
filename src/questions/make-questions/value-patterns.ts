// Finds dates, amounts, phone numbers and similar values in emails, and the topic of an email, for template questions.
import { plainSubject } from "../../mail/subject.js";
import { MONTH_NAMES, NUMBER, parseDatesAndTimes, SCALE_WORDS } from "../../text/dates-and-numbers.js";
import { contentWords, stemsOf } from "../../text/passages.js";
import type { QuestionKind } from "../provenance.js";

interface FoundValue {
  readonly value: string;
  /** The part of the passage before the value. */
  readonly before: string;
  readonly passage: string;
}

/** A kind of value that a regular expression can find, and the wording of a question about it. */
export interface ValuePattern {
  readonly name: string;
  readonly kind: QuestionKind;
  /** A global expression. The value is the first group, or the entire match if there is no group. */
  readonly value: RegExp;
  /** Expression that must also match the passage, or null if there is no such condition. */
  readonly context: RegExp | null;
  /** Whether the value is contact information, which does not answer a question if it is in a signature. */
  readonly isContact: boolean;
  /** The question words and the verb, as in "... did Bo Kim give". */
  ask(value: FoundValue): { readonly what: string; readonly verb: string };
}

/** The number of emails in a mailbox that contain each stem. */
export type DocumentFrequencies = ReadonlyMap<string, number>;

interface Phrase {
  readonly text: string;
  readonly words: readonly string[];
}

const WEEKDAY = "(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\\s+)?";
// "Jan 02" is as often a month as a day.
const NAMED_DAY = `(?:${MONTH_NAMES})\\.?\\s+(?!0)\\d{1,2}(?:st|nd|rd|th)?(?:,?\\s+\\d{4})?`;
// Excludes fractions such as "1/2" and parts of longer numbers.
const NUMERIC_DAY =
  "(?<![\\d/])(?!(?:1/[234]|[23]/[34])(?![\\d/]))\\d{1,2}/\\d{1,2}(?:/\\d{2,4})?(?!\\s*(?:hours?|hrs?|min(?:ute)?s?|days?|miles?|%))";
const STREET =
  "(?:[Ss]treet|St\\.|[Aa]venue|Ave\\.?|[Rr]oad|Rd\\.|[Bb]oulevard|Blvd\\.?|Drive|Dr\\.|Lane|Ln\\.|Parkway|Pkwy\\.?|Plaza|Court)";
const EVENT =
  /\b(meeting|call|conference|lunch|dinner|breakfast|interview|presentation|session|class|appointment|party|flight|training)\b/i;
const DEADLINE = /\b(?:due|deadline|no later than|by)\W+(?:\w+\W+){0,2}$/i;
const CODES = "USD|EUR|GBP|CHF|CAD|AUD|NZD|HKD|SGD|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK";
// `US$`, `C$` and `HK$` are other currencies than `$`.
const CURRENCY = `(?:(?:US|CA?|AU?|HK|NZ|S|R)?[$€£¥]|\\b(?:${CODES})\\b)`;
const SCALE = `(?:(?:${SCALE_WORDS}|mm|[mbk])\\b)`;
const UNIT = `(?:\\s?${SCALE})?(?:\\s?\\/\\s?[a-z]+(?:-[a-z]+)?)?`;

/** Ordered by how reliably a value can be recognized. */
export const VALUE_PATTERNS: readonly ValuePattern[] = [
  {
    name: "time of an appointment",
    kind: "when",
    value: /(?<![\w:.$])(\d{1,2}(?::\d{2})?\s*(?:[ap](?:\.m\.|m\b)|noon\b)|\d{1,2}:\d{2}(?![\d:]))/gi,
    context: EVENT,
    isContact: false,
    ask: ({ passage }) => ({
      what: "What time",
      verb: `give for the ${(EVENT.exec(passage)?.[0] ?? "appointment").toLowerCase()}`,
    }),
  },
  {
    name: "date",
    kind: "when",
    value: new RegExp(`${WEEKDAY}(?<!\\w)(?:${NAMED_DAY}|${NUMERIC_DAY})`, "gi"),
    context: null,
    isContact: false,
    ask: ({ before }) =>
      DEADLINE.test(before) ? { what: "Which deadline", verb: "give" } : { what: "Which date", verb: "mention" },
  },
  {
    name: "amount of money",
    kind: "how_much",
    value: new RegExp(
      `${CURRENCY}\\s?${NUMBER}${UNIT}|(?<![\\d.,])${NUMBER}\\s?(?:€|(?:${CODES}|dollars|euros)\\b)`,
      "gi",
    ),
    context: null,
    isContact: false,
    ask: () => ({ what: "What amount of money", verb: "mention" }),
  },
  {
    name: "telephone number",
    kind: "what",
    value:
      /(?<![\d-])(?:(?:(?:\+?1[-. ])?\(?\d{3}\)?[-. ]{1,2}\d{3}[-. ]\d{4}|\+\d{1,3}(?:[-./ ]?\(?\d{1,5}\)?){2,5})(?:,?\s?(?:x|ext\.?|extension)\s?\d{1,6})?)/gi,
    context: /\b(call|phone|number|fax|dial|cell|reach|pager|contact|tel)\b/i,
    isContact: true,
    ask: ({ passage }) => ({ what: `Which ${/\bfax\b/i.test(passage) ? "fax" : "telephone"} number`, verb: "give" }),
  },
  {
    name: "street address",
    kind: "where",
    value: new RegExp(
      `(?<![\\w$.,])\\d{1,5}\\s+(?:(?:[NSEW]\\.?|\\d{1,3}(?:st|nd|rd|th)|[A-Z][\\w.]+)\\s+){1,3}${STREET}(?!\\w)`,
      "g",
    ),
    context: null,
    isContact: true,
    ask: () => ({ what: "Which street address", verb: "give" }),
  },
  {
    name: "room",
    kind: "where",
    value: /\b(?:EB\s?-?\d{3,4}\w?|(?:conference\s+)?room\s+\w*\d\w*)/gi,
    context: null,
    isContact: true,
    ask: () => ({ what: "Which room", verb: "name" }),
  },
  {
    name: "mail address",
    kind: "what",
    // RFC 5322 3.2.3 and RFC 6531: all characters of an atom.
    value: /[\p{L}\p{N}_][\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]*@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu,
    context: /\b(e-?mail|address|contact|send|sent|write|reach|forward|account)\b/i,
    isContact: true,
    ask: () => ({ what: "Which e-mail address", verb: "give" }),
  },
];

/** Before a value: white space, an opening bracket or quote, or punctuation that does not continue a word. */
const START = /(?:^|[\s"“”„«»‹›([{<:;,!?*|~>—…]|(?<![\p{L}\p{N}])['’‘_])$/u;
/** After a value: white space, or punctuation that no letter, digit or sign follows. */
const END = /^(?:$|\s|—|[.,;:!?)\]}>"“”»’'…*|_~-]+(?:$|[\s"”)\]<>—]))/u;
/** One value, or one of two joined by these words and signs, is part of a range: `7 to 8 pm`, `June 7 and 9`. */
const RANGE_BEFORE =
  /\d(?:st|nd|rd|th|\s?[ap]\.?m\.?)?\s*(?:-|–|—|\/|\b(?:to|and|or|until|till|bis|und|through)\b)\s*$/i;
const RANGE_AFTER =
  /^\s*(?:-|–|—|\/|(?:to|and|or|until|till|bis|und|through)\b|,(?=\s*\d+(?:,|\s+(?:and|or)\b)))\s*[$€£]?\d/i;
/** What changes an amount: `minus $5`, `HK $5`; `$3 1/2 million`, `$5 (five) million`, `5 EUR 50`, `$5 Canadian`. */
const QUALIFIED_BEFORE = new RegExp(`\\b(?:minus|negative|CA|AU|HK|NZ|${CODES})\\s$`, "i");
const QUALIFIED_AFTER = new RegExp(
  `^\\s?(?:[½¼¾]|\\d+/\\d|(?:\\([^)]{1,40}\\)\\s?)?${SCALE}|(?:${CODES}|Canadian|Australian)\\b)`,
  "i",
);

const AMOUNT = new RegExp(`^${CURRENCY}|(?:€|${CODES}|dollars|euros)$`, "i");

/** Whether a value is not a part of a longer value, such as a number with more groups of digits. */
function isWhole(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 40), start);
  const after = text.slice(end, end + 40);
  const value = text.slice(start, end);
  if (!START.test(before) || !END.test(after)) return false;
  if (RANGE_BEFORE.test(before) || (/[\dm.]$/.test(value) && RANGE_AFTER.test(after))) return false;
  if (/^\d{3}(?!\d)/.test(value) && /\d\s$/.test(before)) return false;
  if (/\d$/.test(value) && /^[ \u00a0\u202f]\d{3}(?!\d)/.test(after)) return false;
  if (AMOUNT.test(value)) {
    if (QUALIFIED_BEFORE.test(before) || QUALIFIED_AFTER.test(after)) return false;
    if (/\D$/.test(value) && /^\s?\d/.test(after)) return false;
  }
  // A sum in brackets is a loss.
  return !(/^[$€£¥]/.test(value) && before.endsWith("(") && after.startsWith(")"));
}

/** Returns the distinct values in a text, as written except for white space. */
export function valuesIn({ value, name }: ValuePattern, text: string): string[] {
  const values = [...text.matchAll(value)].flatMap(({ 0: match, 1: group = match, index }) => {
    const start = index + match.indexOf(group);
    return isWhole(text, start, start + group.length) ? [group.replace(/\s+/g, " ").trim()] : [];
  });
  // "20/30 minutes" and "may 2 people" are not dates.
  const valid =
    name === "date" ? values.filter((one) => !/^may\b/.test(one) && parseDatesAndTimes(one).days.length > 0) : values;
  return [...new Map(valid.map((one) => [one.toLowerCase(), one])).values()];
}

export function documentFrequencies(mails: Iterable<ReadonlySet<string>>): DocumentFrequencies {
  const counts = new Map<string, number>();
  for (const stems of mails) for (const stem of stems) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  return counts;
}

/** Number of content words in a topic. A single word must be rare. */
const TOPIC_WORDS = { min: 2, max: 3 } as const;

/** A word that occurs in at most this many emails can be a topic on its own. */
const RARE_IN_MAILS = 3;

/** Words that belong to the form of an email, not to its topic. */
const FORM_WORDS: ReadonlySet<string> = new Set(
  `re fw fwd fyi asap please thanks thank regards sincerely attached attachment below above am pm read important urgent hello hi dear vs
  january february march april june july august september october november december jan feb mar apr jun jul aug sep sept
  oct nov dec`.split(/\s+/),
);

/** Words that can connect the words of a phrase. */
const CONNECTIVES: ReadonlySet<string> = new Set("a an and at by for from in of on the to with".split(" "));

/** Separators between the parts of a subject. The hyphen inside a word and the dot in "Rep." are not separators. */
const PARTS = /[:;,()[\]{}"“”!?|<>*#=_]+|(?<=\p{L}{4})\.(?:\s|$)|\s[-–—/]+\s|-{2,}/u;

/** Two or more capitalized words, as in the names of companies, projects and places. */
const PROPER_NAME = /(?<![\p{L}\p{N}])\p{Lu}[\p{L}&'’-]+(?:\s+(?:(?:of|and|the|de|du)\s+)?\p{Lu}[\p{L}&'’-]+){1,3}/gu;

/**
 * Returns the topic of an email: the rarest phrase from its subject, otherwise from the proper names in a passage. A
 * phrase consists of whole words in their original order, including prepositions and articles between them. Returns
 * null if neither yields a phrase.
 * @param known text whose words a topic must not contain, because the question already uses them or asks for them
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

/**
 * Returns the phrases in a text. A phrase neither starts nor ends with a connective. Of a long phrase, only the end is
 * returned.
 */
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
      // "reset" in "Your password has been reset" is not a topic, but a one-word subject is.
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

/** Questions are not written in capitals. A single word in capitals is probably an abbreviation. */
function inLowerCaseIfShouted(phrase: string): string {
  return /\s/.test(phrase) && !/\p{Ll}/u.test(phrase) ? phrase.toLowerCase() : phrase;
}
