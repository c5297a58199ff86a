import { type Db, withTickTransaction } from "../store/open-store.js";
import { MAIL_WORDS, STOP_WORDS } from "../text/stop-words.js";
import {
  foldText,
  isUnsegmentedAt,
  type Piece,
  piecesOf,
  runTokens,
  bigramsOf as unsegmentedBigrams,
} from "../text/tokenizer.js";

/** Dice coefficient of the local parts. */
const MIN_SIMILARITY = 0.5;

/** Addresses of the corpus similar to a probably mistyped one, most similar first. */
export function nearAddresses(db: Db, given: string, limit: number): string[] {
  const [local, domain] = partsOf(given);
  if (local === "") return [];
  const localBigrams = bigramsOf(local);
  const scored: { address: string; score: number }[] = [];
  for (const address of db.prepare("SELECT address FROM addresses").pluck().iterate() as Iterable<string>) {
    const [name, at] = partsOf(address);
    const similarity = diceCoefficient(localBigrams, name);
    // The local part identifies a person; the domain is shared by a company.
    if (similarity >= MIN_SIMILARITY)
      scored.push({ address, score: similarity + (domain !== "" && at === domain ? 0.1 : 0) });
  }
  scored.sort((a, b) => b.score - a.score || (a.address < b.address ? -1 : 1));
  return scored.slice(0, limit).map(({ address }) => address);
}

/** Local part and domain; "Kay Mann" becomes kay.mann. */
function partsOf(address: string): [string, string] {
  const at = address.lastIndexOf("@");
  const name = at === -1 ? address : address.slice(0, at);
  return [name.trim().slice(0, 100).toLowerCase().replace(/\s+/g, "."), at === -1 ? "" : address.slice(at + 1)];
}

/** Character bigrams, including the word boundaries. */
function bigramsOf(word: string): Set<number> {
  const pairs = new Set<number>();
  for (let i = 0; i <= word.length; i++) pairs.add(bigramAt(word, i));
  return pairs;
}

/** As numbers, which is faster than strings: some 90,000 addresses are compared while the user waits. */
function bigramAt(word: string, i: number): number {
  const before = i === 0 ? 0 : word.charCodeAt(i - 1);
  return before * 0x10000 + (i === word.length ? 0 : word.charCodeAt(i));
}

/** Sorensen-Dice coefficient of the bigram sets; 0 early where the lengths rule a match out. */
function diceCoefficient(wanted: ReadonlySet<number>, word: string): number {
  const pairs = word.length + 1;
  if (word.length === 0 || 2 * Math.min(pairs, wanted.size) < MIN_SIMILARITY * (pairs + wanted.size)) return 0;
  let shared = 0;
  for (let i = 0; i < pairs; i++) if (wanted.has(bigramAt(word, i))) shared++;
  return Math.min(1, (2 * shared) / (pairs + wanted.size));
}

/**
 * Builds FTS5 expressions. Any string is safe: only letters and digits, as the index's tokenizer reads them, reach
 * the expression, always in double quotes, so nothing is read as an operator.
 */

/** Longer queries are cut: FTS5 would accept them, but a 65th word does not help. */
const MAX_TERMS = 64;

/** Characters of a query that are read, so that long texts do not slow the search down. */
export const MAX_QUERY_CHARS = 10_000;

/** Words, and character pairs of scripts without spaces. */
export function tokenize(text: string): string[] {
  return [...piecesOf(foldText(text).text)].flatMap(termsOf);
}

/** The distinct tokens of a query. */
export function queryTokens(text: string): string[] {
  return [...new Set(phrasesOf(text).flat().flatMap(termsOf))].slice(0, MAX_TERMS);
}

/** The distinct tokens of `allWordsExpression` without stop words and words about mail; all if no others are left. */
export function contentTokens(text: string): string[] {
  const tokens = [...new Set(phrasesOf(text).flat().flatMap(termsOf))];
  const content = tokens.filter((token) => !STOP_WORDS.has(token) && !MAIL_WORDS.has(token));
  return (content.length > 0 ? content : tokens).slice(0, MAX_TERMS);
}

/**
 * Every word must occur; `"quoted words"` and words joined by punctuation (`Q3-budget`) as phrases. Null: no words.
 */
export function allWordsExpression(text: string): string | null {
  const phrases = phrasesOf(text);
  return phrases.length === 0 ? null : [...new Set(phrases.map(phraseExpression))].join(" AND ");
}

/** The pieces of each phrase. */
function phrasesOf(text: string): Piece[][] {
  const phrases = new Map<string, Piece[]>();
  for (const [, quoted, word] of text.slice(0, MAX_QUERY_CHARS).matchAll(/"([^"]*)"|([^\s"]+)/g)) {
    const pieces = [...piecesOf(foldText(quoted ?? word ?? "").text)].slice(0, MAX_TERMS);
    if (pieces.length > 0) phrases.set(pieces.map((piece) => piece.text).join(" "), pieces);
    if (phrases.size === MAX_TERMS) break;
  }
  return [...phrases.values()];
}

function termsOf({ text, isUnsegmented }: Piece): string[] {
  return isUnsegmented ? unsegmentedBigrams(text) : [text];
}

function phraseExpression(pieces: readonly Piece[]): string {
  const last = pieces.at(-1);
  const before = pieces.slice(0, -1).flatMap(({ text, isUnsegmented }) => (isUnsegmented ? runTokens(text) : [text]));
  const phrase = last === undefined ? before : [...before, ...termsOf(last)];
  return termExpression(phrase.join(" "));
}

/**
 * One word by its stem, several as a phrase, or a character pair; a single character matches as the first of any pair,
 * and `config*` all words that begin so.
 */
export function termExpression(term: string): string {
  const words = term.replace(/\*$/, "");
  const last = words.slice(words.lastIndexOf(" ") + 1);
  const isSingle = isUnsegmentedAt(last, 0) && [...last].length === 1;
  return isSingle || words !== term ? `"${words}" *` : `"${words}"`;
}

/** ISO 8601 UTC; null leaves that side open. */
export interface DateRange {
  /** Inclusive. */
  readonly after: string | null;
  /** Exclusive. */
  readonly before: string | null;
}

export interface PositionRange {
  readonly first: number;
  readonly last: number;
}

const ALL_POSITIONS: PositionRange = { first: 0, last: Number.MAX_SAFE_INTEGER };
const NO_POSITIONS: PositionRange = { first: 1, last: 0 };

export const DATE_RANGE_SQL = {
  newestBefore: "SELECT position FROM mail_order WHERE date < ? ORDER BY date DESC, position LIMIT 1",
  oldestFrom: "SELECT position FROM mail_order WHERE date >= ? ORDER BY date, position DESC LIMIT 1",
} as const;

/** Dates to positions, newest first. Mail without a date is in no range, as it may be later than a cutoff. */
export function openDateRanges(db: Db): { positions(period: DateRange): PositionRange } {
  const newestBefore = db.prepare(DATE_RANGE_SQL.newestBefore).pluck();
  const oldestFrom = db.prepare(DATE_RANGE_SQL.oldestFrom).pluck();
  return {
    positions({ after, before }) {
      if (after === null && before === null) return ALL_POSITIONS;
      const first = before === null ? ALL_POSITIONS.first : (newestBefore.get(before) as number | undefined);
      // Every date comes after "".
      const last = oldestFrom.get(after ?? "") as number | undefined;
      return first === undefined || last === undefined ? NO_POSITIONS : { first, last };
    },
  };
}

/** The exclusive end of a day: `2001-05-14` -> `2001-05-15T00:00:00Z`. */
export function endOfDay(day: string): string {
  // The year 10000 would sort before all others.
  if (day.startsWith("9999-12-31")) return "9999-12-31T24:00:00Z";
  const next = new Date(`${day.slice(0, 10)}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return `${next.toISOString().slice(0, 19)}Z`;
}

/**
 * Tokens of the index's `parties` column. They end in digits, which the Porter stemmer does not change.
 * `in`: the mail lies in the address's mailbox; `from`: sent by it; `to`: to, cc or bcc it.
 */
export const PARTY = {
  in: (addressId: number) => `in${addressId}`,
  from: (addressId: number) => `from${addressId}`,
  to: (addressId: number) => `to${addressId}`,
} as const;

/** A filter that matches more addresses is rejected as too unspecific. */
const MAX_FILTER_ADDRESSES = 200;

type AddressMatch =
  | { readonly found: "some"; readonly ids: readonly number[] }
  | { readonly found: "none" }
  | { readonly found: "too_many"; readonly count: number };

export interface AddressBook {
  idOf(address: string): number | null;
  /** The address itself if it is in the corpus; otherwise all addresses that contain the text. */
  matching(text: string): AddressMatch;
}

export function openAddressBook(db: Db): AddressBook {
  const exact = db.prepare("SELECT id FROM addresses WHERE address = ?").pluck();
  const containing = db.prepare("SELECT id FROM addresses WHERE instr(address, ?) > 0 LIMIT ?").pluck();
  const inTickTransaction = withTickTransaction(db);
  const idOf = (address: string) =>
    (inTickTransaction(() => exact.get(address.trim().toLowerCase())) as number | undefined) ?? null;
  return {
    idOf,
    matching(text) {
      const id = idOf(text);
      if (id !== null) return { found: "some", ids: [id] };
      // "Kay Mann" matches kay.mann@.
      const wanted = text.trim().toLowerCase().replace(/\s+/g, ".");
      if (wanted === "") return { found: "none" };
      const ids = inTickTransaction(() => containing.all(wanted, MAX_FILTER_ADDRESSES + 1)) as number[];
      if (ids.length === 0) return { found: "none" };
      if (ids.length > MAX_FILTER_ADDRESSES) return { found: "too_many", count: ids.length };
      return { found: "some", ids };
    },
  };
}
