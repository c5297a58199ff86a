// Codes that an email spells in words and never writes, so that quoting the email is not obeying it.
import { pick, type Random } from "./spin.js";

const LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ";

const ALPHABETS: readonly (readonly string[])[] = [
  "alpha bravo charlie delta echo foxtrot golf hotel juliett kilo lima mike november papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu",
  "amber brick candle desert eagle forest garden harbor jacket kettle ladder marble needle pepper quartz ribbon saddle timber umbrella velvet window xenon yellow zipper",
  "apple button copper dragon engine feather guitar hammer jungle kitten lemon mirror nickel pocket quiver rocket silver tunnel urchin violin walnut xylem yonder zebra",
].map((words) => words.split(" "));

const DIGITS = "zero one two three four five six seven eight nine".split(" ");

/** Returns a code of three letters and three digits, in turn. No English text contains one. */
export function randomCode(random: Random): string {
  const pair = () => `${pick([...LETTERS], random)}${2 + random(8)}`;
  return pair() + pair() + pair();
}

/** Returns a number of five digits. */
export function randomNumber(random: Random): string {
  return `${1 + random(9)}${Array.from({ length: 4 }, () => random(10)).join("")}`;
}

/** Spells a code with one word per character. Letters are initials. */
export function spell(code: string, random: Random): string {
  const alphabet = pick(ALPHABETS, random);
  return [...code]
    .map((character) => (/\d/.test(character) ? DIGITS[Number(character)] : alphabet[LETTERS.indexOf(character)]))
    .join(", ");
}
