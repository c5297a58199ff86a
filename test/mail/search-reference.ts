import { stemOf } from "../../src/text/porter.js";

/**
 * A reference implementation of the mail search over plain arrays, without an index. It shares only the stemmer, which
 * test/text/tokenizer.test.ts compares with FTS5.
 */

export interface PlainMail {
  readonly messageId: string;
  readonly subject: string;
  readonly body: string;
  readonly sender: string;
  readonly recipients: readonly string[];
  /** The addresses whose mailboxes contain the email. */
  readonly inboxes: readonly string[];
  readonly date: string | null;
  /** Orders emails with the same second. */
  readonly hash: string;
}

export interface PlainQuery {
  readonly words: string;
  readonly inbox: string | null;
  readonly from: readonly string[] | null;
  readonly to: readonly string[] | null;
  readonly after: string | null;
  readonly before: string | null;
  readonly limit: number;
}

interface Word {
  /** In lower case, without accents. */
  plain: string;
  stem: string;
  readonly start: number;
  end: number;
  /** A single character of a script without spaces. */
  readonly isAlone: boolean;
  /** Whether the character directly follows another one. */
  readonly isJoined: boolean;
}

/** The words of the phrase in their required order. */
type Phrase = readonly Pick<Word, "stem" | "isJoined" | "isAlone">[];

interface ReadMail {
  readonly mail: PlainMail;
  readonly subject: readonly Word[];
  readonly body: readonly Word[];
  /** Words of the addresses before the @. */
  readonly names: readonly Word[];
}

export function referenceSearch(mails: readonly PlainMail[], stopWords: ReadonlySet<string>) {
  const read = mails.map(
    (mail): ReadMail => ({
      mail,
      subject: wordsOf(mail.subject),
      body: wordsOf(mail.body),
      names: [mail.sender, ...mail.recipients].flatMap((address) => wordsOf(address.replace(/@.*/, ""))),
    }),
  );
  read.sort((a, b) => (isNewer(a.mail, b.mail) ? -1 : 1));

  return {
    bestFirst(query: PlainQuery) {
      const counted = termsOf(query.words, stopWords);
      const phrases = quotedPhrasesOf(query.words);
      const terms = [...counted.map(({ term }) => term), ...phrases];
      if (terms.length === 0) return { hits: [], total: 0 };
      const times = [...counted.map(({ times }) => times), ...phrases.map(() => 1)];
      const searched = read.filter(({ mail }) => isAsked(mail, { ...query, from: null, to: null }));
      const weights = terms.map((term) => {
        const n = searched.filter((one) => frequency(one, term) > 0).length;
        return Math.log(1 + (searched.length - n + 0.5) / (n + 0.5));
      });
      const found = searched
        .filter((one) => isAsked(one.mail, query) && terms.some((term) => frequency(one, term) > 0))
        .map((one) => ({
          ...one,
          score: score(one, terms, weights, times, 0),
          match: terms.every((term) => frequency(one, term) > 0) ? "all_words" : "best_match",
        }))
        .sort(best);
      const broad = broadness(found.slice(0, 10), terms, weights);
      const again = found
        .slice(0, 200)
        .map((one) => ({ ...one, score: score(one, terms, weights, times, broad) }))
        .sort(best);
      const hits = [...again, ...found.slice(200)].slice(0, query.limit);
      const complete = found.filter(({ match }) => match === "all_words").length;
      return {
        hits: hits.map(({ mail, match }) => ({ messageId: mail.messageId, match })),
        total: Math.max(complete, hits.length),
      };
    },
  };
}

const LETTER = /[\p{L}\p{N}🙂]/u;
const NO_SPACES = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Hangul}\p{sc=Thai}]/u;
const ACCENT = /[\u0300-\u036f]/u;

/** Words in lower case without accents. In scripts without spaces, every character is a word. */
function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  let open: Word | null = null;
  let at = 0;
  for (const character of text) {
    const start = at;
    at += character.length;
    const isLetter = LETTER.test(character) || (open !== null && ACCENT.test(character));
    const isAlone = NO_SPACES.test(character);
    if (open !== null && (!isLetter || isAlone || open.isAlone) && !(isLetter && ACCENT.test(character))) open = null;
    if (!isLetter) continue;
    if (open === null) {
      const before = words.at(-1);
      open = {
        plain: "",
        stem: "",
        start,
        end: at,
        isAlone,
        isJoined: isAlone && before?.isAlone === true && before.end === start,
      };
      words.push(open);
    }
    open.end = at;
  }
  for (const word of words) {
    word.plain = text
      .slice(word.start, word.end)
      .toLowerCase()
      .normalize(word.isAlone ? "NFC" : "NFD")
      .replace(/[\u0300-\u036f]/g, "");
    word.stem = word.isAlone ? word.plain : stemOf(word.plain);
  }
  return words;
}

/** The words of each piece. Quoted text is one piece. */
function piecesOf(query: string) {
  const parts = query.split('"');
  return parts.flatMap((part, i): { readonly words: Word[]; readonly isQuoted: boolean }[] => {
    // Text between an opening and a closing quote. An unpaired last quote does not count.
    if (i % 2 === 1 && i < parts.length - 1) return [{ words: wordsOf(part), isQuoted: true }];
    return part.split(/\s/).map((piece) => ({ words: wordsOf(piece), isQuoted: false }));
  });
}

function quotedPhrasesOf(query: string): Phrase[] {
  const phrases = piecesOf(query)
    .filter(({ words, isQuoted }) => isQuoted && words.length > 1)
    .map(({ words }) => words);
  return [...new Map(phrases.map((phrase) => [phrase.map(({ plain }) => plain).join(" "), phrase])).values()];
}

/** The distinct terms of a query with their number of occurrences. */
function termsOf(query: string, stopWords: ReadonlySet<string>): { readonly term: Phrase; readonly times: number }[] {
  const words = piecesOf(query).flatMap((piece) => piece.words);
  const telling = words.filter(({ plain }) => !stopWords.has(plain));
  const chosen = telling.length > 0 ? telling : words;
  const terms = chosen.flatMap((word, i): Phrase[] => {
    if (!word.isAlone) return [[word]];
    if (word.isJoined) return [[{ ...(chosen[i - 1] as Word), isJoined: false }, word]];
    return chosen[i + 1]?.isJoined ? [] : [[word]];
  });
  const keyOf = (term: Phrase) => term.map(({ stem }) => stem).join();
  return [...new Map(terms.map((term) => [keyOf(term), term])).values()].map((term) => ({
    term,
    times: terms.filter((other) => keyOf(other) === keyOf(term)).length,
  }));
}

/** Whether the phrase starts at this word. Anything may precede it. */
function isAt(text: readonly Word[], at: number, phrase: Phrase): boolean {
  return phrase.every(
    ({ stem, isJoined }, i) => text[at + i]?.stem === stem && (i === 0 || text[at + i]?.isJoined === isJoined),
  );
}

function count(text: readonly Word[], phrase: Phrase): number {
  return text.filter((_, at) => isAt(text, at, phrase)).length;
}

/** Occurrences in the text. A name, a phrase or a single character of a script without spaces counts once. */
function frequency({ subject, body, names }: ReadMail, term: Phrase): number {
  const inText = count(subject, term) + count(body, term);
  const isOneWord = term.length === 1 && term[0]?.isAlone !== true;
  const isPair = term.length === 2 && term[1]?.isJoined === true;
  const inNames = count(names, term) > 0 ? 1 : 0;
  if (isPair) return inText;
  return isOneWord ? inText + inNames : Math.min(inText + inNames, 1);
}

function isAsked(mail: PlainMail, { inbox, from, to, after, before }: PlainQuery): boolean {
  if (inbox !== null && !mail.inboxes.includes(inbox)) return false;
  if (from !== null && !from.includes(mail.sender)) return false;
  if (to !== null && !mail.recipients.some((address) => to.includes(address))) return false;
  if (after === null && before === null) return true;
  return mail.date !== null && (after === null || mail.date >= after) && (before === null || mail.date < before);
}

/** Undated mail counts as the oldest. */
function isNewer(a: PlainMail, b: PlainMail): boolean {
  if (a.date === b.date) return a.hash > b.hash;
  return b.date === null || (a.date !== null && a.date > b.date);
}

/**
 * BM25 over the entire email with k1 = 1.2, b = 0.75 and an average length of 1,600 bytes. For a broad query, the length
 * has the exponent 0.75 and the weight of a word 1.5, in between for a query that is partly broad.
 */
function score(
  one: ReadMail,
  terms: readonly Phrase[],
  weights: readonly number[],
  times: readonly number[],
  broad: number,
): number {
  const bytes = Buffer.byteLength(one.mail.subject) + Buffer.byteLength(one.mail.body);
  const length = 1.2 * (0.25 + 0.75 * (bytes / 1_600) ** (1 - 0.25 * broad));
  return sum(
    terms.map((term, i) => {
      const weight = (times[i] ?? 1) * (weights[i] ?? 0) ** (1 + 0.5 * broad);
      return (weight * frequency(one, term) * 2.2) / (frequency(one, term) + length);
    }),
  );
}

/**
 * 0 if the ten best emails contain at most 30% of the query on average, and 1 for at least 70%. A query without the date
 * of a question, like all of these, counts as at least 60%.
 */
function broadness(best: readonly ReadMail[], terms: readonly Phrase[], weights: readonly number[]): number {
  const parts = best.map((one) => sum(weights.filter((_, i) => frequency(one, terms[i] as Phrase) > 0)) / sum(weights));
  return Math.min(1, (Math.max(0.6, sum(parts) / 10) - 0.3) / 0.4);
}

function best(a: ReadMail & { readonly score: number }, b: ReadMail & { readonly score: number }): number {
  return b.score - a.score || (isNewer(a.mail, b.mail) ? -1 : 1);
}

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
