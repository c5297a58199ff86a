import { foldText, isWordUnit } from "./fold.js";

/**
 * Chinese and Japanese are written without spaces, as are Thai, Lao, Khmer and Burmese, and Korean joins its particles
 * to the word: to the tokenizer a sentence is one word. Such text is indexed, and looked for, by its pairs of characters
 * as well (as Lucene's CJKAnalyzer does).
 */

/** The letters of these scripts, and the first halves of those from U+20000 to U+3FFFF, the rarer Chinese ones. */
const UNSEGMENTED =
  /[\ud840-\ud8bf\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f]/;

/** Between a mail's subject and its body: no phrase goes across. */
const BREAK = "\ue000";

/** By code unit, filled as they are asked for: 0 unknown, 1 segmented, 2 not. */
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

/** Pairs of neighbouring characters; one that stands alone is itself. */
export function bigramsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}

/** Pairs, then the last character: with it every character begins a token, and pairs of two runs are no neighbours. */
export function runTokens(run: string): string[] {
  const pairs = bigramsOf(run);
  const last = [...run].at(-1) ?? "";
  return pairs.length === 1 && pairs[0] === last ? pairs : [...pairs, last];
}

/** What the index holds of a mail besides its words; null where the index's own words are all there is. */
export function bigramText(subject: string, body: string): string | null {
  if (!UNSEGMENTED.test(subject) && !UNSEGMENTED.test(body)) return null;
  const texts = [subject, body].map((text) => [...piecesOf(foldText(text).text)]);
  if (!texts.flat().some(({ isUnsegmented }) => isUnsegmented)) return null;
  const tokens = ({ text, isUnsegmented }: Piece) => (isUnsegmented ? runTokens(text).join(" ") : text);
  return texts.map((pieces) => pieces.map(tokens).join(" ")).join(` ${BREAK} `);
}
