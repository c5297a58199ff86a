// The reading of dates, times, numbers and abstentions as Python, for programs that run without art-e: exported evals
// and the grader of exported tasks. The patterns and words are generated from the TypeScript ones, so that each is
// defined once.
import { readBuiltFile } from "../platform/program-files.js";
import { ABSTENTION_RULES } from "./abstention.js";
import { DATE_AND_NUMBER_RULES } from "./dates-and-numbers.js";

type Constant = RegExp | readonly RegExp[] | number | readonly string[] | Readonly<Record<string, number>>;

const CONSTANTS: Readonly<Record<string, Constant>> = { ...DATE_AND_NUMBER_RULES, ...ABSTENTION_RULES };

/** Adds the functions to a Python program, which imports `math` and `re`, after its imports. */
export function withProseRules(program: string): string {
  const constants = Object.entries(CONSTANTS).map(([name, value]) => `${name} = ${pythonOf(value)}`);
  const rules = `${constants.join("\n")}\n\n${readBuiltFile("text/as-python/prose_rules.py")}`;
  return program.replace(/(?:^import .*\n)+/m, (imports) => `${imports}\n${rules}\n`);
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
