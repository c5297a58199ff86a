import { readCharacters } from "./unicode61.js";

/**
 * A text as the index's tokenizer (`unicode61 remove_diacritics 2`) reads it: lower case, without accents, and with a
 * space for each separator beyond ASCII.
 */
export interface FoldedText {
  readonly text: string;
  /** The original index of each character, then the original length. Null: unchanged. */
  readonly positions: Uint32Array | null;
}

const SPACE = 0x20;

export function foldText(text: string): FoldedText {
  // Almost all mail is ASCII; comparing these lengths is the fastest check.
  if (Buffer.byteLength(text) === text.length) return { text: text.toLowerCase(), positions: null };
  const { basic, mark, surrogate, foldBeyond } = readCharacters();
  const folded = new Uint16Array(text.length);
  let marks = 0;
  let isInWord = false;
  for (let i = 0; i < text.length; i++) {
    const unit = basic[text.charCodeAt(i)] as number;
    if (unit === surrogate) {
      const to = foldBeyond(text.codePointAt(i) as number);
      isInWord = to !== SPACE;
      folded[i] = isInWord ? 0xd800 + ((to - 0x10000) >> 10) : SPACE;
      // A lone surrogate separates words, like the U+FFFD that SQLite makes of it.
      if (!isPairAt(text, i)) continue;
      folded[++i] = isInWord ? 0xdc00 + (to & 0x3ff) : SPACE;
    } else if (unit !== mark) {
      folded[i] = unit;
      isInWord = unit !== SPACE;
    } else if (isInWord) {
      folded[i] = mark;
      marks++;
    } else {
      folded[i] = SPACE;
    }
  }
  return marks === 0 ? { text: toText(folded), positions: null } : withoutMarks(folded, marks, mark);
}

/** Drops combining accents (`e` and U+0301), which makes the text shorter. */
function withoutMarks(folded: Uint16Array, marks: number, mark: number): FoldedText {
  const kept = new Uint16Array(folded.length - marks);
  const positions = new Uint32Array(kept.length + 1);
  let length = 0;
  for (let i = 0; i < folded.length; i++) {
    if (folded[i] === mark) continue;
    positions[length] = i;
    kept[length++] = folded[i] as number;
  }
  positions[length] = folded.length;
  return { text: toText(kept), positions };
}

function isPairAt(text: string, index: number): boolean {
  return (text.codePointAt(index) as number) > 0xffff;
}

function toText(units: Uint16Array): string {
  return Buffer.from(units.buffer).toString("utf16le");
}

/** Whether a folded character belongs to a word; beyond ASCII, folding left no separators. */
export function isWordUnit(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57) || unit >= 0x80;
}
