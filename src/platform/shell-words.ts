import { UserError } from "../domain/errors.js";

/** Splits a command line into words at white space; single and double quotes group. No shell is involved. */
export function splitShellWords(line: string, flag: string): string[] {
  const words: string[] = [];
  let rest = line.trimStart();
  while (rest !== "") {
    const [whole = "", word = ""] = /^((?:[^\s"']|"[^"]*"|'[^']*')+)/.exec(rest) ?? [];
    if (whole === "") {
      throw new UserError("flag_invalid", `${flag}: a quote is not closed.`, "Close it, or leave it out.");
    }
    words.push(word.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ""));
    rest = rest.slice(whole.length);
    if (rest !== "" && !/^\s/.test(rest)) {
      throw new UserError("flag_invalid", `${flag}: a quote is not closed.`, "Close it, or leave it out.");
    }
    rest = rest.trimStart();
  }
  return words;
}
