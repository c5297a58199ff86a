import { distance } from "fastest-levenshtein";

/** How many letters may be wrong: a third of the word, and one of a short one. */
const wrongLetters = (name: string) => Math.max(1, Math.floor(name.length / 3));

/** The known names that a mistyped one was probably meant as, most like it first; at most three. */
export function nearestNames(mistyped: string, known: Iterable<string>): string[] {
  const word = mistyped.toLowerCase();
  const limit = wrongLetters(word);
  return [...known]
    .map((name) => ({ name, wrong: wrongIn(word, name.toLowerCase()) }))
    .filter(({ wrong }) => wrong <= limit)
    .sort((a, b) => a.wrong - b.wrong)
    .slice(0, 3)
    .map(({ name }) => name);
}

function wrongIn(word: string, name: string): number {
  if (word.length >= 2 && name.startsWith(word)) return 0;
  // Letters in another order count as one mistake, not as two.
  return sorted(word) === sorted(name) ? 1 : distance(word, name);
}

function sorted(word: string): string {
  return [...word].sort().join("");
}

/** `Did you mean --limit? `, with a space after it; nothing where no name is near. */
export function didYouMean(mistyped: string, known: Iterable<string>): string {
  const near = nearestNames(mistyped, known);
  return near.length === 0 ? "" : `Did you mean ${near.join(" or ")}? `;
}
