// Command lines as text: for users to paste, split into words, and names that a mistyped one probably meant.
import { distance } from "fastest-levenshtein";
import { split } from "shlex";
import { UserError } from "./errors.js";

/** Database for command lines in messages, or null for the one that a call without --db opens. */
let shownDatabase: string | null = null;

/** Sets the database for this process. Notes and errors from many places all address one user with one database. */
export function showDatabase(path: string | null): void {
  shownDatabase = path;
}

/** Returns how to call this program, for command lines in messages. */
let shownProgram = () => "art-e";

/** Sets how command lines in messages call this program, which might not be on the PATH. */
export function showProgram(call: () => string): void {
  shownProgram = call;
}

/**
 * Returns a command line for the user to paste: commandLine`art-e show ${traceId}`. A list becomes several words.
 * Quotes values for a shell if necessary, calls the program as the user can, and adds the database if a call without
 * --db would open another one.
 */
export function commandLine(
  words: TemplateStringsArray,
  ...values: readonly (string | number | readonly string[])[]
): string {
  const written = values.map((value) =>
    [value]
      .flat()
      .map((word) => shellWord(String(word)))
      .join(" "),
  );
  const line = words
    .reduce((before, part, i) => `${before}${written[i - 1]}${part}`)
    .replace(/^art-e(?= )/, shownProgram);
  return shownDatabase === null || line.endsWith(" --help") ? line : `${line} --db ${shellWord(shownDatabase)}`;
}

/** Returns `See art-e agents set --help.` for the path of a command, which is empty for the program itself. */
export function helpHint(path: string): string {
  const words = path.split(" ").filter((word) => word !== "");
  return `See ${commandLine`art-e ${[...words, "--help"]}`}.`;
}

/** Quotes a text as one word for bash, zsh and fish. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Splits a command line into words like a POSIX shell: quotes and backslashes work as in bash, and nothing is expanded.
 * @throws UserError that names the flag, for an unclosed quote or a backslash at the end
 */
export function splitShellWords(line: string, flag: string): string[] {
  try {
    return split(line);
  } catch (cause) {
    const isEscape = (cause as Error).message.includes("escape");
    const [problem, hint] = isEscape
      ? ["a backslash ends the command line", "Double or remove it."]
      : ["a quote is not closed", "Close or remove it."];
    throw new UserError("flag_invalid", `${flag}: ${problem}.`, hint, undefined, { cause });
  }
}

/** Maximum number of wrong letters: a third of the word, and at least one. */
const wrongLetters = (name: string) => Math.max(1, Math.floor(name.length / 3));

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

/** Returns a name without the case and separators in which `isOkNow`, `is-ok-now` and `is_ok_now` differ. */
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

/** Returns an option's flag: `maxTaskCost` becomes `--max-task-cost`. */
export function flagName(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
