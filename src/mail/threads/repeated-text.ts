// Recognizes that an email repeats the text of another one: as a quotation, as a forwarded email or as a copy.

/** Letters and digits at the beginning of a text by which it is recognized. */
const LONGEST_BEGINNING = 40;

/** Shorter texts, such as "Thanks!", occur everywhere. */
const SHORTEST_BEGINNING = 12;

/** Returns the letters and digits of a text. All else changes when a text is quoted: marks, line ends, spaces. */
function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

/** Returns the letters that a text begins with, or null if it is too short to be recognized. */
export function beginningOf(text: string): string | null {
  // Ten times the length is enough for the marks and spaces in between.
  const beginning = lettersOf(text.slice(0, 10 * LONGEST_BEGINNING)).slice(0, LONGEST_BEGINNING);
  return beginning.length < SHORTEST_BEGINNING ? null : beginning;
}

/**
 * Whether a body quotes the beginning of another email's text below other text. Two emails that begin alike, such as
 * daily reports, do not quote each other.
 */
export function repeatsText(body: string, beginning: string): boolean {
  const letters = lettersOf(body);
  return !letters.startsWith(beginning) && letters.includes(beginning);
}
