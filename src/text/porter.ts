/**
 * Porter's stemmer (https://tartarus.org/martin/PorterStemmer/) with the same results as SQLite's FTS5. It works on the
 * UTF-8 bytes of a token, so a letter beyond ASCII counts as two to four consonants, and it treats `y` like FTS5.
 * Libraries differ in both.
 */

/** FTS5_PORTER_MAX_TOKEN. Longer tokens are not stemmed, nor are tokens of fewer than three bytes. */
const MAX_STEMMED_BYTES = 64;

/** FTS5_MAX_TOKEN_SIZE. Longer tokens are truncated. */
const MAX_TOKEN_BYTES = 32_768;

type Rule = readonly [suffix: string, becomes: string];

const STEP_2 = rules(
  `ational:ate tional:tion enci:ence anci:ance izer:ize logi:log bli:ble alli:al entli:ent eli:e ousli:ous ization:ize
  ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble`,
);
const STEP_3 = rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:");
const STEP_4 = rules(
  `al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:`,
);

/** Returns the stem of a folded token, one character per UTF-8 byte. Tokens with equal stems are equal in the index. */
export function stemOf(token: string): string {
  const bytes = bytesOf(token);
  if (bytes.length < 3 || bytes.length > MAX_STEMMED_BYTES) return bytes.slice(0, MAX_TOKEN_BYTES);
  let stem = step1b(step1a(bytes));
  if (stem.endsWith("y") && hasVowel(stem.slice(0, -1))) stem = `${stem.slice(0, -1)}i`;
  stem = replaceSuffix(stem, STEP_2, (rest) => measure(rest) > 0);
  stem = replaceSuffix(stem, STEP_3, (rest) => measure(rest) > 0);
  stem = replaceSuffix(stem, STEP_4, (rest, suffix) => measure(rest) > 1 && (suffix !== "ion" || /[st]$/.test(rest)));
  return step5(stem);
}

const UTF8 = new TextEncoder();

function bytesOf(token: string): string {
  if (!/[^ -~]/.test(token)) return token;
  return Array.from(UTF8.encode(token), (byte) => String.fromCharCode(byte)).join("");
}

/** Removes plural endings. */
function step1a(word: string): string {
  if (!word.endsWith("s") || word.endsWith("ss")) return word;
  const isShortened = word.endsWith("es") && ((word.length > 4 && word.endsWith("sses")) || /.ies$/s.test(word));
  return word.slice(0, isShortened ? -2 : -1);
}

/** Removes `-eed`, `-ed` and `-ing`. */
function step1b(word: string): string {
  if (word.length > 3 && word.endsWith("eed")) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const cut = word.endsWith("ed") ? 2 : word.endsWith("ing") ? 3 : 0;
  const rest = word.slice(0, word.length - cut);
  if (cut === 0 || rest === "" || !hasVowel(rest)) return word;
  if (rest.length > 2 && /(?:at|bl|iz)$/.test(rest)) return `${rest}e`;
  const last = rest.at(-1) ?? "";
  if (last === rest.at(-2) && !"aeioulsz".includes(last)) return rest.slice(0, -1);
  return measure(rest) === 1 && endsShort(rest) ? `${rest}e` : rest;
}

/** Removes a final `e`, and the second `l` of a final `ll`. */
function step5(word: string): string {
  let stem = word;
  if (stem.endsWith("e")) {
    const rest = stem.slice(0, -1);
    const sequences = measure(rest);
    if (sequences > 1 || (sequences === 1 && !endsShort(rest))) stem = rest;
  }
  return stem.endsWith("ll") && measure(stem.slice(0, -1)) > 1 ? stem.slice(0, -1) : stem;
}

/** Applies only the first rule with a matching suffix, and only if `may` accepts the rest of the word. */
function replaceSuffix(
  word: string,
  rulesOfStep: readonly Rule[],
  may: (rest: string, suffix: string) => boolean,
): string {
  const rule = rulesOfStep.find(([suffix]) => word.length > suffix.length && word.endsWith(suffix));
  if (rule === undefined) return word;
  const [suffix, becomes] = rule;
  const rest = word.slice(0, -suffix.length);
  return may(rest, suffix) ? rest + becomes : word;
}

function rules(text: string): Rule[] {
  return text.split(/\s+/).map((rule) => rule.split(":") as [string, string]);
}

function isVowel(letter: string, afterConsonant: boolean): boolean {
  return "aeiou".includes(letter) || (afterConsonant && letter === "y");
}

/** Counts the vowel-consonant sequences (Porter's m), up to two. */
function measure(word: string): number {
  let sequences = 0;
  let isConsonant = false;
  let hadVowel = false;
  for (const letter of word) {
    isConsonant = !isVowel(letter, isConsonant);
    if (!isConsonant) hadVowel = true;
    else if (hadVowel) {
      hadVowel = false;
      if (++sequences === 2) return 2;
    }
  }
  return sequences;
}

/** Returns whether a word contains a vowel. A `y` counts unless it is the first letter. */
function hasVowel(word: string): boolean {
  return /[aeiou]|(?<=.)y/s.test(word);
}

/** Returns whether a word ends with consonant, vowel, consonant, and the last is not `w`, `x` or `y`. */
function endsShort(word: string): boolean {
  if (/[wxy]$/.test(word)) return false;
  let ending = "";
  let isConsonant = false;
  for (const letter of word) {
    isConsonant = !isVowel(letter, isConsonant);
    ending = (ending + (isConsonant ? "c" : "v")).slice(-3);
  }
  return ending === "cvc";
}
