// The Python functions with which exported cases and assertions check an answer (`answer_checks.py`). The patterns and
// word lists for dates and numbers are generated from the TypeScript ones, so that each is defined once.
import { readBuiltFile } from "../../platform/program-files.js";
import { DATE_AND_NUMBER_RULES } from "../../text/dates-and-numbers.js";

type Constant = RegExp | readonly RegExp[] | number | readonly string[] | Readonly<Record<string, number>>;

/** Source of the Python module. */
export const ANSWER_CHECKS = withConstants(readBuiltFile("evals/as-python/answer_checks.py"), DATE_AND_NUMBER_RULES);

/** Inserts the constants after the imports. */
function withConstants(source: string, constants: Readonly<Record<string, Constant>>): string {
  const lines = Object.entries(constants).map(([name, value]) => `${name} = ${pythonOf(value)}`);
  return source.replace("import re\n", (imports) => `${imports}\n${lines.join("\n")}\n`);
}

function pythonOf(value: Constant): string {
  if (value instanceof RegExp) return rawString(pythonPattern(value.source));
  // Numbers, strings, lists and objects in JSON are also valid in Python.
  if (!isPatternList(value)) return JSON.stringify(value);
  return `[\n${value.map((pattern) => `    ${pythonOf(pattern)},\n`).join("")}]`;
}

function isPatternList(value: Constant): value is readonly RegExp[] {
  return Array.isArray(value) && value[0] instanceof RegExp;
}

function rawString(text: string): string {
  return text.includes('"') || text.endsWith("\\") ? JSON.stringify(text) : `r"${text}"`;
}

/**
 * Converts a JavaScript pattern to one for the function `regex` of the Python module, which compiles it with ASCII word
 * characters. White space becomes `~`, because Python's \s differs, and $ becomes \Z, because Python's $ also matches
 * before a line break at the end.
 */
function pythonPattern(source: string): string {
  let converted = "";
  let inClass = false;
  for (const [token] of source.matchAll(/\\.|[^\\]/gsu)) {
    if (token === "~") throw new Error(`the pattern ${source} contains ~, which means white space in Python`);
    if (token === "\\s" && inClass && !converted.endsWith("[")) {
      throw new Error(`the pattern ${source} has white space in a class after other characters`);
    }
    if (token === "[") inClass = true;
    if (token === "]") inClass = false;
    if (token === "\\s") converted += "~";
    else if (token === "\\/") converted += "/";
    else converted += token === "$" && !inClass ? "\\Z" : token;
  }
  return converted;
}
