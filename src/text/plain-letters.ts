/**
 * Plain spellings of letters that the index's tokenizer keeps apart: compatibility forms (`ﬁ`, full-width letters, `²`)
 * by NFKC, and letters that Unicode does not decompose (`ß`, `ł`, `ø`).
 */

/** Superscripts, letterlike symbols, enclosed and full-width characters, ligatures, mathematical alphabets. */
const COMPATIBILITY =
  /[ªº²³¹\u2070-\u209f\u2100-\u214f\u2460-\u24ff\uf900-\ufaff\ufb00-\ufb4f\ufe30-\ufe4f\uff01-\uffef\u{1d400}-\u{1d7ff}]+/gu;

// biome-ignore format: rows of a table
const LETTERS: Readonly<Record<string, string>> = {
  ß: "ss", ẞ: "SS", æ: "ae", Æ: "AE", œ: "oe", Œ: "OE", þ: "th", Þ: "Th", ł: "l", Ł: "L", ø: "o", Ø: "O",
  đ: "d", Đ: "D", ð: "d", Ð: "D", ħ: "h", Ħ: "H", ŧ: "t", Ŧ: "T", ı: "i", ſ: "s",
};
const LETTER = new RegExp(`[${Object.keys(LETTERS).join("")}]`, "g");

export function plainLetters(text: string): string {
  if (isAscii(text)) return text;
  return text
    .replace(COMPATIBILITY, (letter) => letter.normalize("NFKC"))
    .replace(LETTER, (letter) => LETTERS[letter] ?? letter);
}

const UMLAUTS: Readonly<Record<string, string>> = { ä: "ae", ö: "oe", ü: "ue", å: "aa", ø: "oe" };

/** The words of a text with umlauts, spelled without them: `mueller` for `Müller`. */
export function withoutUmlauts(text: string): string[] {
  if (isAscii(text)) return [];
  const words =
    text
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]*[äöüåø][\p{L}\p{N}]*/gu) ?? [];
  return words.map((word) => plainLetters(word.replace(/[äöüåø]/g, (letter) => UMLAUTS[letter] ?? letter)));
}

/** Comparing these lengths is the fastest check. */
export function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
