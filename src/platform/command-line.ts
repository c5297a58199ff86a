// Command lines as text: for users to paste, and split into words.
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
  const needsNone = line.endsWith(" --help") || line.includes(" --db ");
  return shownDatabase === null || needsNone ? line : `${line} --db ${shellWord(shownDatabase)}`;
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

/** Returns an option's flag: `maxTaskCost` becomes `--max-task-cost`. */
export function flagName(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
