// Plain spellings of letters and digits, the same in the index and in a query.
import { readBuiltFile } from "../platform/program-files.js";

/**
 * The tokenizer of the index keeps these apart: compatibility forms (`ﬁ`, full-width letters, `²`) by NFKC, letters
 * that Unicode does not decompose (`ß`, `ł`, `ø`), Greek accents, `ё`, the variants and vowel signs of Arabic, Persian
 * and Hebrew, digits of other scripts, and traditional Chinese characters (`會`) as simplified ones.
 */

/** Superscripts, letterlike symbols, enclosed and full-width characters, ligatures, mathematical alphabets. */
const COMPATIBILITY =
  /[ªº²³¹\u2070-\u209f\u2100-\u214f\u2460-\u24ff\uf900-\ufaff\ufb00-\ufb4f\ufe30-\ufe4f\uff01-\uffef\u{1d400}-\u{1d7ff}]+/gu;

// biome-ignore format: rows of a table
const LETTERS: Readonly<Record<string, string>> = {
  ß: "ss", ẞ: "SS", æ: "ae", Æ: "AE", œ: "oe", Œ: "OE", þ: "th", Þ: "Th", ł: "l", Ł: "L", ø: "o", Ø: "O",
  đ: "d", Đ: "D", ð: "d", Ð: "D", ħ: "h", Ħ: "H", ŧ: "t", Ŧ: "T", ı: "i", ſ: "s",
};
// biome-ignore format: rows of a table
const OTHER_LETTERS: Readonly<Record<string, string>> = {
  ς: "σ", ё: "е", Ё: "Е", ґ: "г", Ґ: "Г",
  آ: "ا", أ: "ا", إ: "ا", ٱ: "ا", ى: "ي", ی: "ي", ئ: "ي", ې: "ي", ے: "ي", ک: "ك", ڪ: "ك",
  ة: "ه", ہ: "ه", ە: "ه", ۀ: "ه", ھ: "ه", ۃ: "ه", ؤ: "و",
};
const OTHER_LETTER = new RegExp(`[${Object.keys(OTHER_LETTERS).join("")}]`, "g");
const LETTER = new RegExp(`[${Object.keys(LETTERS).join("")}]`, "g");

/** Greek, Cyrillic, Hebrew, Arabic and digits, the only text that needs the steps after the Latin letters. */
const BEYOND_LATIN = /[\u0370-\u06ff\u0750-\u077f\u08a0-\u08ff\u1f00-\u1fff]|(?=[^0-9])\p{Nd}/u;

/** Accents on Greek letters, the vowel signs of Hebrew and Arabic, and Arabic's elongation (tatweel). */
const MARKS =
  /(?<=\p{Script=Greek}\p{M}*)\p{M}|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]/gu;

/** The signs with which Persian separates the parts of a word. */
const JOINERS = /(?<=\p{Script=Arabic})[\u200c\u200d](?=\p{Script=Arabic})/gu;

const GREEK = /[\u0370-\u03ff\u1f00-\u1fff]+/g;
const DIGIT = /(?=[^0-9])\p{Nd}/gu;

export function plainLetters(text: string): string {
  if (isAscii(text)) return text;
  const latin = text
    .replace(COMPATIBILITY, (letter) => letter.normalize("NFKC"))
    .replace(LETTER, (letter) => LETTERS[letter] ?? letter);
  const simplified = simplifiedChinese(latin);
  if (!BEYOND_LATIN.test(simplified)) return simplified;
  return simplified
    .normalize("NFC")
    .replace(GREEK, (letters) => letters.normalize("NFD"))
    .replace(MARKS, "")
    .replace(JOINERS, "")
    .replace(OTHER_LETTER, (letter) => OTHER_LETTERS[letter] ?? letter)
    .replace(DIGIT, digitOf);
}

const CHINESE = /[\u3400-\u9fff]/;
const CHINESE_CHARACTERS = /[\u3400-\u9fff]/g;

/**
 * Returns a text of the same length with simplified Chinese characters in place of traditional ones. Only characters
 * are replaced. Regions also use different words (`軟體` and `软件`), which stay different.
 */
export function simplifiedChinese(text: string): string {
  if (!CHINESE.test(text)) return text;
  const table = readSimplified();
  return text.replace(CHINESE_CHARACTERS, (character) => table.get(character) ?? character);
}

let simplifiedForms: ReadonlyMap<string, string> | undefined;

/**
 * Reads the table on first use, because only Chinese and Japanese text needs it. It is the transform
 * Traditional-Simplified of Unicode's CLDR 42 (`uconv -x Traditional-Simplified` of ICU 72) for single characters, with
 * the few that lead to another traditional character resolved.
 */
function readSimplified(): ReadonlyMap<string, string> {
  simplifiedForms ??= toMap(JSON.parse(readBuiltFile("text/chinese-characters.json")));
  return simplifiedForms;
}

function toMap({ traditional, simplified }: { traditional: string; simplified: string }): Map<string, string> {
  return new Map([...traditional].map((character, i) => [character, simplified[i] as string]));
}

/** The digits of a script are ten consecutive code points, and the one before them is not a digit. */
function digitOf(digit: string): string {
  const code = digit.codePointAt(0) as number;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++;
  return String(value);
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
