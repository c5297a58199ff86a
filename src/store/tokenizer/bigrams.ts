import { foldText, isWordUnit } from "./fold.js";

/**
 * Chinese, Japanese, Thai, Lao, Khmer and Burmese are written without spaces, and Korean joins particles to words, so
 * the tokenizer takes a sentence for one word. Such text is also indexed and searched by character bigrams, as in
 * Lucene's CJKAnalyzer.
 */

/** Letters of these scripts, and the high surrogates of U+20000 to U+3FFFF, the rarer Chinese characters. */
const UNSEGMENTED =
  /[\ud840-\ud8bf\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f]/;

/** Between subject and body, so that no phrase spans both. */
const BREAK = "\ue000";

/** By code unit: 0 unknown, 1 segmented, 2 unsegmented. */
const scriptCache = new Uint8Array(0x10000);

/** Whether the character at an index of a folded text belongs to such a script. */
export function isUnsegmentedAt(text: string, index: number): boolean {
  let unit = text.charCodeAt(index);
  if (unit < 0x0e00 || Number.isNaN(unit)) return false;
  if (unit >= 0xdc00 && unit <= 0xdfff) unit = text.charCodeAt(index - 1);
  let found = scriptCache[unit] as number;
  if (found === 0) {
    found = UNSEGMENTED.test(String.fromCharCode(unit)) ? 2 : 1;
    scriptCache[unit] = found;
  }
  return found === 2;
}

/** One word of a text, or one run of characters of such a script. */
export interface Piece {
  readonly text: string;
  readonly isUnsegmented: boolean;
}

/** The pieces of a folded text, in order. */
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

/** Pairs of adjacent characters; a single character stays as it is. */
export function bigramsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}

/** Bigrams and the last character: so every character begins a token, and bigrams of two runs are not adjacent. */
export function runTokens(run: string): string[] {
  const pairs = bigramsOf(run);
  const last = [...run].at(-1) ?? "";
  return pairs.length === 1 && pairs[0] === last ? pairs : [...pairs, last];
}

/** The bigram text to index for a mail; null if it has no unsegmented text. */
export function bigramText(subject: string, body: string): string | null {
  if (!UNSEGMENTED.test(subject) && !UNSEGMENTED.test(body)) return null;
  const texts = [subject, body].map((text) => [...piecesOf(foldText(text).text)]);
  if (!texts.flat().some(({ isUnsegmented }) => isUnsegmented)) return null;
  const tokens = ({ text, isUnsegmented }: Piece) => (isUnsegmented ? runTokens(text).join(" ") : text);
  return texts.map((pieces) => pieces.map(tokens).join(" ")).join(` ${BREAK} `);
}
