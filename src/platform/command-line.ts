import { distance } from "fastest-levenshtein";
import { split } from "shlex";
import { UserError } from "./errors.js";

/** The database that command lines in messages name; null: the one that a call without --db opens. */
let shownDatabase: string | null = null;

/** Of this process, whose notes and errors are written in many places for one user, who has chosen one database. */
export function showDatabase(path: string | null): void {
  shownDatabase = path;
}

/** How command lines in messages call this program. */
let shownProgram = "art-e";

/** For commands that a newcomer pastes before the program is on the PATH, such as those of the demo. */
export function showProgram(call: string): void {
  shownProgram = call;
}

/**
 * A command line for the user to paste: commandLine`art-e show ${traceId}`. Values are quoted for a shell where they
 * need it, and the database is named where a call without --db would open another.
 */
export function commandLine(words: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  const line = words
    .reduce((before, part, i) => `${before}${shellWord(String(values[i - 1]))}${part}`)
    .replace(/^art-e(?= )/, () => shownProgram);
  return shownDatabase === null ? line : `${line} --db ${shellWord(shownDatabase)}`;
}

/** As one word for bash, zsh and fish. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Splits a command line into words like a POSIX shell: quotes and backslashes work as in bash, nothing is expanded.
 * @throws UserError that names the flag, for a quote that is not closed or a backslash at the end
 */
export function splitShellWords(line: string, flag: string): string[] {
  try {
    return split(line);
  } catch (cause) {
    const isEscape = (cause as Error).message.includes("escape");
    const [problem, hint] = isEscape
      ? ["a backslash ends the command line", "Double it, or leave it out."]
      : ["a quote is not closed", "Close it, or leave it out."];
    throw new UserError("flag_invalid", `${flag}: ${problem}.`, hint, undefined, { cause });
  }
}

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

/** An option's name as the user types it: `maxTaskCost` becomes `--max-task-cost`. */
export function flagName(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
