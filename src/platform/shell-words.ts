import { UserError } from "../domain/errors.js";

/**
 * Splits a command line into words: white space separates them, quotes keep them together, nothing is expanded.
 * The library string-argv does the same, but accepts a quote that is not closed.
 */
export function splitShellWords(line: string, flag: string): string[] {
  if (!/^(?:[^"']|"[^"]*"|'[^']*')*$/.test(line)) {
    throw new UserError("flag_invalid", `${flag}: a quote is not closed.`, "Close it, or leave it out.");
  }
  const words = line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  return words.map((word) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ""),
  );
}
