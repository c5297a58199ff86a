// Exports evals as TypeScript files that `evals add` can read again.
import { UserError } from "../../platform/errors.js";
import { canBeRetried, ENDINGS } from "../../tasks/ending.js";
import { type Assertion, type EvalDefinition, type EvalLanguage, type EvalOf, patternParts } from "../definition.js";
import { assertionText } from "../run-evals/run-rules.js";

/**
 * Returns an eval as the source of a TypeScript file, which exports a function `(input, output, trace)` that returns
 * `{score, reason}`. Assertions import nothing. The checks of rules, cases and rubrics are imported from `art-e/evals`.
 * Throws for an eval in Python and for a judge.
 */
export function typescriptSource(definition: EvalDefinition): string {
  if (definition.kind === "typescript") return declaring(definition, "export const reference = true;");
  if (definition.kind === "assertions") return assertionsSource(definition.criterion, definition.answer.all);
  if (definition.kind !== "python" && definition.kind !== "judge") return librarySource(definition);
  const isJudge = definition.kind === "judge";
  throw new UserError(
    "eval_format_unsupported",
    `Cannot export ${definition.name} as TypeScript: it is ${isJudge ? "a judge, which compares answers with gold answers" : "written in Python"}.`,
    `Export it with --format ${isJudge ? "json" : "python"}.`,
  );
}

/** Returns the code of an eval, with the declaration that it needs gold answers if only its JSON file has one. */
export function declaring({ code, reference }: EvalOf<EvalLanguage>, declaration: string): string {
  return !reference || code.includes(declaration) ? code : `${code.trimEnd()}\n\n${declaration}\n`;
}

function librarySource({ reference: _, origin, ...definition }: EvalDefinition): string {
  return [
    'import { evalFunction } from "art-e/evals";',
    "",
    docComment(definition.criterion),
    `export default evalFunction(${sourceText(definition, 2)});`,
    "",
  ].join("\n");
}

function docComment(criterion: string): string {
  return `/** ${criterion.replace(/\s+/g, " ").replaceAll("*/", "* /")} */`;
}

function assertionsSource(criterion: string, assertions: readonly Assertion[]): string {
  const checks = assertions.map((assertion) => {
    const reason = sourceText(`assertion failed: ${assertionText(assertion)}`);
    return `  if (!(${checkOf(assertion)})) return { score: 0, reason: ${reason} };`;
  });
  const uses = (key: string) => assertions.some((assertion) => key in assertion);
  return [
    docComment(criterion),
    "export default function evaluate(",
    "  _input: unknown,",
    "  output: string,",
    "  trace: { ending: string },",
    "): { score: number | null; reason: string } {",
    "  const answer = output.trim();",
    ...(uses("contains") || uses("lacks") ? ["  const text = plain(answer);"] : []),
    ...checks,
    `  if (${sourceText(ENDINGS.filter(canBeRetried))}.includes(trace.ending)) {`,
    '    return { score: null, reason: "the task failed (" + trace.ending + ")" };',
    "  }",
    '  return { score: 1, reason: "all assertions hold" };',
    "}",
    ...(uses("contains") || uses("lacks") ? [PLAIN] : []),
    ...(uses("json") ? [IS_JSON] : []),
    "",
  ].join("\n");
}

function checkOf(assertion: Assertion): string {
  if ("contains" in assertion) return `text.includes(${sourceText(plain(assertion.contains))})`;
  if ("lacks" in assertion) return `!text.includes(${sourceText(plain(assertion.lacks))})`;
  if ("json" in assertion) return `isJson(answer, ${sourceText(assertion.json)})`;
  return `new RegExp(${patternParts(assertion.matches).map(sourceText).join(", ")}).test(answer)`;
}

function sourceText(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent);
}

function plain(text: string): string {
  return text.replace(/\s+/g, " ").toLowerCase();
}

const PLAIN = `
function plain(text: string): string {
  return text.replace(/\\s+/g, " ").toLowerCase();
}`;

const IS_JSON = `
function isJson(text: string, keys: readonly string[]): boolean {
  try {
    const value: unknown = JSON.parse(text);
    if (value === null) return keys.length === 0;
    return keys.every((key) => typeof value === "object" && Object.prototype.hasOwnProperty.call(value, key));
  } catch {
    return false;
  }
}`;
