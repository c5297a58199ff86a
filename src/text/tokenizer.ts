// Splits text into the pieces that the index contains, also in languages without spaces.
import { readBuiltFile } from "../platform/program-files.js";
import { identifierRuns, plainSeparators } from "./identifiers.js";
import { withoutInflection } from "./inflection.js";
import { isAscii, plainLetters, withoutUmlauts } from "./plain-letters.js";

/** A word, or a sequence of characters in an unsegmented script. */
export interface Piece {
  readonly text: string;
  readonly isUnsegmented: boolean;
}

/**
 * A text folded like the index's tokenizer (`unicode61 remove_diacritics 2`): lower case, without accents, and with a
 * space in place of each separator beyond ASCII.
 */
interface FoldedText {
  readonly text: string;
  /** The original index of each character, followed by the original length, or null if unchanged. */
  readonly positions: Uint32Array | null;
}

/**
 * Folding table of FTS5's tokenizer. FTS5's Unicode version differs from Node's, so the table is a file generated from
 * FTS5. A test compares the two.
 */
interface Characters {
  /** Per code unit: the folded unit, a space for separators, `MARK` or `SURROGATE`. */
  readonly basic: Uint16Array;
  /** Folds a code point beyond the basic plane to another such code point or a space. */
  foldBeyond(code: number): number;
}

/**
 * Chinese, Japanese, Thai, Lao, Khmer and Burmese are written without spaces, and Korean joins particles to words, so
 * FTS5's tokenizer treats a sentence as one word. Such text is also indexed and searched by character bigrams, as in
 * Lucene's CJKAnalyzer.
 */

/** Letters of these scripts, and the high surrogates of the rarer Chinese characters (U+20000 to U+3FFFF). */
const UNSEGMENTED =
  /[\ud840-\ud8bf\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f]/;

/** Separates subject and body, so that no phrase spans both. */
const BREAK = "\ue000";

/** Script of each code unit: 0 unknown, 1 segmented, 2 unsegmented. */
const scriptCache = new Uint8Array(0x10000);

/** Returns whether the character at an index of a folded text belongs to an unsegmented script. */
export function isUnsegmentedAt(text: string, index: number): boolean {
  let unit = text.charCodeAt(index);
  if (unit < 0x0e00 || Number.isNaN(unit)) return false;
  if (unit >= 0xdc00 && unit <= 0xdfff) unit = text.charCodeAt(index - 1);
  let script = scriptCache[unit] as number;
  if (script === 0) {
    script = UNSEGMENTED.test(String.fromCharCode(unit)) ? 2 : 1;
    scriptCache[unit] = script;
  }
  return script === 2;
}

/** Yields the pieces of a folded text in order. */
export function* piecesOf(folded: string): Generator<Piece> {
  let start = 0;
  while (start < folded.length) {
    if (!isWordUnit(folded.charCodeAt(start))) {
      start++;
      continue;
    }
    const isUnsegmented = isUnsegmentedAt(folded, start);
    let end = start + 1;
    while (
      end < folded.length &&
      isWordUnit(folded.charCodeAt(end)) &&
      isUnsegmentedAt(folded, end) === isUnsegmented
    ) {
      end++;
    }
    yield { text: folded.slice(start, end), isUnsegmented };
    start = end;
  }
}

/** Returns the pairs of adjacent characters, or the character itself if there is only one. */
export function bigramsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}

/**
 * Returns the bigrams and the last character. Every character starts a token, and bigrams of two runs are not adjacent.
 */
export function runTokens(run: string): string[] {
  const pairs = bigramsOf(run);
  const last = [...run].at(-1) ?? "";
  return pairs.length === 1 && pairs[0] === last ? pairs : [...pairs, last];
}

/**
 * Returns the text to index in addition to an email: all of it as bigrams if it contains unsegmented text, otherwise
 * its words with unusual letters in their plain spelling. Words without inflection, and identifiers in pieces as one
 * word, follow. Returns null if the email contains none of these.
 */
export function bigramText(subject: string, body: string): string | null {
  const identifiers = [subject, body].flatMap(joinedIdentifiers);
  if (isAscii(subject) && isAscii(body)) return identifiers.length === 0 ? null : identifiers.join(" ");
  const others = [subject, body].flatMap((part) => [...withoutUmlauts(part), ...withoutInflection(part)]);
  const pieces = UNSEGMENTED.test(subject) || UNSEGMENTED.test(body) ? piecesOfMail(subject, body) : null;
  const words = pieces ?? [subject, body].flatMap(respelledWords).join(" ");
  const text = [words, ...others, ...identifiers].filter((each) => each !== "").join(" ");
  return text === "" ? null : text;
}

function joinedIdentifiers(text: string): string[] {
  const runs = identifierRuns(plainSeparators(text));
  return runs.length === 0 ? [] : [...new Set(runs.map(({ joined }) => joined))];
}

/** Null if the email has no unsegmented text. */
function piecesOfMail(subject: string, body: string): string | null {
  const texts = [subject, body].map((text) => [...piecesOf(foldText(plainLetters(text)).text)]);
  if (!texts.flat().some(({ isUnsegmented }) => isUnsegmented)) return null;
  const tokens = ({ text, isUnsegmented }: Piece) => (isUnsegmented ? runTokens(text).join(" ") : text);
  return texts.map((pieces) => pieces.map(tokens).join(" ")).join(` ${BREAK} `);
}

/** The words whose plain spelling is another, in that spelling. */
function respelledWords(text: string): string[] {
  const words = text.split(/\s+/).filter((word) => !isAscii(word));
  return words.flatMap((word) => {
    const plain = plainLetters(word);
    if (plain === word) return [];
    const known = new Set(foldText(word).text.split(" "));
    return foldText(plain)
      .text.split(" ")
      .filter((each) => each !== "" && !known.has(each));
  });
}

const SPACE = 0x20;
/** Table value of a combining accent, which is dropped. */
const MARK = 1;
const SURROGATE = 2;

export function foldText(text: string): FoldedText {
  // Almost all mail is ASCII.
  if (isAscii(text)) return { text: text.toLowerCase(), positions: null };
  const { basic, foldBeyond } = readCharacters();
  const folded = new Uint16Array(text.length);
  let marks = 0;
  let isInWord = false;
  for (let i = 0; i < text.length; i++) {
    const unit = basic[text.charCodeAt(i)] as number;
    if (unit === SURROGATE) {
      const to = foldBeyond(text.codePointAt(i) as number);
      isInWord = to !== SPACE;
      folded[i] = isInWord ? 0xd800 + ((to - 0x10000) >> 10) : SPACE;
      // A lone surrogate separates words, like the U+FFFD that SQLite replaces it with.
      if (!isPairAt(text, i)) continue;
      folded[++i] = isInWord ? 0xdc00 + (to & 0x3ff) : SPACE;
    } else if (unit !== MARK) {
      folded[i] = unit;
      isInWord = unit !== SPACE;
    } else if (isInWord) {
      folded[i] = MARK;
      marks++;
    } else {
      folded[i] = SPACE;
    }
  }
  return marks === 0 ? { text: toText(folded), positions: null } : withoutMarks(folded, marks);
}

/** Drops combining accents (`e` and U+0301), which shortens the text. */
function withoutMarks(folded: Uint16Array, marks: number): FoldedText {
  const units = new Uint16Array(folded.length - marks);
  const positions = new Uint32Array(units.length + 1);
  let length = 0;
  for (let i = 0; i < folded.length; i++) {
    if (folded[i] === MARK) continue;
    positions[length] = i;
    units[length++] = folded[i] as number;
  }
  positions[length] = folded.length;
  return { text: toText(units), positions };
}

function isPairAt(text: string, index: number): boolean {
  return (text.codePointAt(index) as number) > 0xffff;
}

function toText(units: Uint16Array): string {
  return Buffer.from(units.buffer).toString("utf16le");
}

/** Returns whether a folded character is part of a word. Beyond ASCII, folding has removed all separators. */
export function isWordUnit(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57) || unit >= 0x80;
}

let characters: Characters | undefined;

/** Reads the table on first use, because only text beyond ASCII needs it. */
function readCharacters(): Characters {
  characters ??= toCharacters(JSON.parse(readBuiltFile("text/unicode61.json")));
  return characters;
}

function toCharacters(file: { separators: string; marks: string; folds: string }): Characters {
  const basic = Uint16Array.from({ length: 0x10000 }, (_, code) => (code < 0x80 ? foldAscii(code) : code));
  const beyond = new Map<number, number>();
  const set = (code: number, to: number) => {
    if (code < 0x10000) basic[code] = to;
    else beyond.set(code, to);
  };
  for (const { first, last } of ranges(file.separators)) for (let c = first; c <= last; c++) set(c, SPACE);
  for (const { first, last } of ranges(file.marks)) for (let c = first; c <= last; c++) set(c, MARK);
  for (const { first, last, to, step } of ranges(file.folds)) {
    for (let c = first; c <= last; c++) set(c, to + (c - first) * step);
  }
  basic.fill(SURROGATE, 0xd800, 0xe000);
  const foldBeyond = (code: number) => (code < 0x10000 ? SPACE : (beyond.get(code) ?? code));
  return { basic, foldBeyond };
}

function foldAscii(code: number): number {
  const text = String.fromCharCode(code).toLowerCase();
  return /[a-z0-9]/.test(text) ? text.charCodeAt(0) : SPACE;
}

/**
 * Parses folding ranges. `c0-c5=61` maps all to U+0061; `410-42f+430` maps the first to U+0430, the next to U+0431,
 * etc.
 */
function ranges(text: string): { first: number; last: number; to: number; step: number }[] {
  return text.split(" ").map((range) => {
    const [, first = "", last = first, sign, to = "0"] = /^(\w+)(?:-(\w+))?(?:([=+])(\w+))?$/.exec(range) ?? [];
    return {
      first: Number.parseInt(first, 16),
      last: Number.parseInt(last, 16),
      to: Number.parseInt(to, 16),
      step: sign === "+" ? 1 : 0,
    };
  });
}
