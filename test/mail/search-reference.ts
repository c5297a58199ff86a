import { stemmer } from "stemmer";

/**
 * A reference implementation of the mail search (mail-search, fts-query and bm25f of src/mail) over plain
 * arrays: no index, no pruning, no shared code.
 */

export interface PlainMail {
  readonly messageId: string;
  readonly subject: string;
  readonly body: string;
  readonly sender: string;
  readonly recipients: readonly string[];
  /** Everybody in whose mailbox it lies. */
  readonly inboxes: readonly string[];
  readonly date: string | null;
  /** Puts mails of one second in order. */
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
  /** One character of a script without spaces, */
  readonly isAlone: boolean;
  /** and it follows another one at once. */
  readonly isJoined: boolean;
}

/** What is looked for in the order in which it must stand. */
type Phrase = readonly Pick<Word, "stem" | "isJoined">[];

const REACH = 8_000;

export function referenceSearch(mails: readonly PlainMail[], stopWords: ReadonlySet<string>) {
  const read = mails.map((mail) => ({ mail, subject: wordsOf(mail.subject), body: wordsOf(mail.body) }));
  read.sort((a, b) => (isNewer(a.mail, b.mail) ? -1 : 1));
  type Read = (typeof read)[number];

  const allWords = (query: PlainQuery): Read[] => {
    const phrases = phrasesOf(query.words);
    if (phrases.length === 0) return [];
    return read.filter(
      ({ mail, subject, body }) =>
        isAsked(mail, query) && phrases.every((phrase) => holds(subject, phrase) || holds(body, phrase)),
    );
  };

  return {
    newestFirst: (query: PlainQuery) => allWords(query).slice(0, query.limit).map(marked("all_words")),

    bestFirst(query: PlainQuery) {
      const every = allWords(query);
      const all = every.slice(0, 60);
      const asked = read.filter(({ mail }) => isAsked(mail, query));
      const terms = termsOf(query.words, stopWords);
      const size = read.filter(({ mail }) => query.inbox === null || mail.inboxes.includes(query.inbox)).length;
      const having = terms.map((term) => asked.filter((one) => has(one, term)));
      const counts = having.map((list) => (list.length > 1_000 ? Math.max(1_000, size / 4) : list.length));
      const weights = counts.map((n) => Math.log(1 + (size - Math.min(n, size) + 0.5) / (Math.min(n, size) + 0.5)));
      const ranked = (list: readonly Read[]) =>
        byNumber(list, (one) => score(one, terms, weights)).map(({ one }) => one);
      const rare = having.map((list) => list.length <= 1_000);
      const named = new Set(having.filter((_, i) => rare[i]).flat()).size;
      const telling = rare.map((one) => one || named < query.limit);
      const naming = having.flatMap((list, i) => (telling[i] ? [list.slice(0, 1_001)] : []));
      const namingWeights = weights.filter((_, i) => telling[i]);
      const nominated = byNumber(asked, (one) => sum(namingWeights.filter((_, i) => naming[i]?.includes(one))))
        .filter(({ number }) => number > 0)
        .slice(0, query.limit + 20)
        .map(({ one }) => one);
      const rest = all.length < query.limit ? ranked(nominated.filter((one) => !all.includes(one))) : [];
      const hits = [...ranked(all).map(marked("all_words")), ...rest.map(marked("best_match"))].slice(0, query.limit);
      return { hits, total: Math.max(Math.min(every.length, 1_000), hits.length) };
    },
  };

  /** Greatest first, the newest of equals first. What differs by rounding only is equal. */
  function byNumber(list: readonly Read[], number: (one: Read) => number) {
    return list
      .map((one) => ({ one, number: Math.round(number(one) * 1e9) / 1e9 }))
      .sort((a, b) => b.number - a.number || (isNewer(a.one.mail, b.one.mail) ? -1 : 1));
  }
}

function marked(match: "all_words" | "best_match") {
  return ({ mail }: { mail: PlainMail }) => ({ messageId: mail.messageId, match });
}

const LETTER = /[\p{L}\p{N}🙂]/u;
const NO_SPACES = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Hangul}\p{sc=Thai}]/u;
const ACCENT = /[\u0300-\u036f]/u;

/** Words in lower case without accents; of scripts without spaces every character is one. */
export function wordsOf(text: string): Word[] {
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
    word.stem = word.isAlone ? word.plain : stemmer(word.plain);
  }
  return words;
}

/** Stems that must stand one behind the other. */
function phrasesOf(query: string): Word[][] {
  const pieces: string[] = [];
  const parts = query.split('"');
  // Between an opening and a closing quote; a last quote without a partner is none.
  parts.forEach((part, i) => {
    if (i % 2 === 1 && i < parts.length - 1) pieces.push(part);
    else pieces.push(...part.split(/\s/));
  });
  return pieces.map(wordsOf).filter((phrase) => phrase.length > 0);
}

function termsOf(query: string, stopWords: ReadonlySet<string>): Phrase[] {
  const words = phrasesOf(query).flat();
  const telling = words.filter(({ plain }) => !stopWords.has(plain));
  const chosen = telling.length > 0 ? telling : words;
  const terms = chosen.flatMap((word, i): Phrase[] => {
    if (!word.isAlone) return [[word]];
    if (word.isJoined) return [[{ ...(chosen[i - 1] as Word), isJoined: false }, word]];
    return chosen[i + 1]?.isJoined ? [] : [[word]];
  });
  return [...new Map(terms.map((term) => [term.map(({ stem }) => stem).join(), term])).values()];
}

/** Whether the words from one on are the phrase; the first may follow anything. */
function isAt(text: readonly Word[], at: number, phrase: Phrase): boolean {
  return phrase.every(
    ({ stem, isJoined }, i) => text[at + i]?.stem === stem && (i === 0 || text[at + i]?.isJoined === isJoined),
  );
}

function holds(text: readonly Word[], phrase: Phrase): boolean {
  return text.some((_, at) => isAt(text, at, phrase));
}

/** Where a term stands, none within another. */
function places(text: readonly Word[], term: Phrase): Word[] {
  const found: Word[] = [];
  for (let at = 0; at < text.length; at++) {
    if (!isAt(text, at, term)) continue;
    const last = text[at + term.length - 1] as Word;
    found.push({ ...(text[at] as Word), end: last.end });
    at += term.length - 1;
  }
  return found;
}

function has({ subject, body }: { subject: readonly Word[]; body: readonly Word[] }, term: Phrase): boolean {
  return holds(subject, term) || holds(body, term);
}

function isAsked(mail: PlainMail, { inbox, from, to, after, before }: PlainQuery): boolean {
  if (inbox !== null && !mail.inboxes.includes(inbox)) return false;
  if (from !== null && !from.includes(mail.sender)) return false;
  if (to !== null && !mail.recipients.some((address) => to.includes(address))) return false;
  if (after === null && before === null) return true;
  return mail.date !== null && (after === null || mail.date >= after) && (before === null || mail.date < before);
}

/** Mail without a date counts as the oldest. */
function isNewer(a: PlainMail, b: PlainMail): boolean {
  if (a.date === b.date) return a.hash > b.hash;
  return b.date === null || (a.date !== null && a.date > b.date);
}

/**
 * BM25F with k1 = 1.2 and b = 0.5 of the best passage of 1,500 characters, one of which begins every 750: a word counts
 * three times in the subject and half in quoted mail.
 */
function score(
  { mail, subject, body }: { mail: PlainMail; subject: readonly Word[]; body: readonly Word[] },
  terms: readonly Phrase[],
  weights: readonly number[],
): number {
  const ranked = mail.body.slice(0, REACH);
  const quoted = quotedFrom(ranked);
  const found = terms.map((term) => places(body, term).filter(({ end }) => end <= REACH));
  const passages = [0];
  for (let start = 750; start + 750 < ranked.length; start += 750) passages.push(start);
  const length = 0.5 + (0.5 * Math.min(ranked.length, 1_500)) / 800;
  const scores = passages.map((start) =>
    sum(
      terms.map((term, i) => {
        const inSubject = places(subject, term).length;
        const inPassage = found[i]?.filter((word) => word.start >= start && word.start < start + 1_500) ?? [];
        const own = inPassage.filter((word) => word.start < quoted).length;
        const frequency = 3 * inSubject + own + 0.5 * (inPassage.length - own);
        return ((weights[i] ?? 0) * frequency * 2.2) / (frequency + 1.2 * length);
      }),
    ),
  );
  return Math.max(...scores);
}

/** Line by line: a rule, a `>`, a header, or a line that ends in "wrote:". */
function quotedFrom(body: string): number {
  let at = 0;
  for (const line of body.split("\n")) {
    const low = line.toLowerCase();
    const rule = /---+ *(original message|forwarded by)/.exec(low);
    if (rule !== null) return at + rule.index;
    if (low.startsWith(">") || low.trimStart().startsWith("from: ")) return at;
    if (low.trimEnd().endsWith(" wrote:")) return at + low.lastIndexOf("wrote:");
    at += line.length + 1;
  }
  return Number.POSITIVE_INFINITY;
}

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
