// Suggests known names for a mistyped one.
import { distance } from "fastest-levenshtein";

/** Maximum number of wrong letters: a third of the word without the dashes of a flag, and at least one. */
const wrongLetters = (name: string) => Math.max(1, Math.floor(name.replace(/^-+/, "").length / 3));

/** Returns up to three known names that a mistyped one probably meant, most similar first. */
export function nearestNames(mistyped: string, names: Iterable<string>): string[] {
  const word = spelled(mistyped);
  const limit = wrongLetters(word);
  return [...names]
    .map((name) => ({ name, wrong: wrongIn(word, spelled(name)) }))
    .filter(({ wrong }) => wrong <= limit)
    .sort((a, b) => a.wrong - b.wrong)
    .slice(0, 3)
    .map(({ name }) => name);
}

/** Returns a name in lower case without separators: `isOkNow`, `is-ok-now` and `is_ok_now` are the same name. */
function spelled(name: string): string {
  return name.toLowerCase().replace(/(?<=[^-_.\s])[-_.\s]+/g, "");
}

function wrongIn(word: string, name: string): number {
  if (word.length >= 2 && name.startsWith(word)) return 0;
  // Letters in another order count as one mistake, not as two.
  return sorted(word) === sorted(name) ? 1 : distance(word, name);
}

function sorted(word: string): string {
  return [...word].sort().join("");
}

/** Returns `Did you mean --limit? ` with a trailing space, or an empty string if no name is similar. */
export function didYouMean(mistyped: string, names: Iterable<string>): string {
  const near = nearestNames(mistyped, names);
  return near.length === 0 ? "" : `Did you mean ${near.join(" or ")}? `;
}
