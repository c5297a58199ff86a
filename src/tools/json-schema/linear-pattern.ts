import { RE2JS } from "re2js";

/** Instructions of a compiled pattern, and instructions times characters of one test: half a second at the most. */
const MAX_INSTRUCTIONS = 1_000;
const MAX_STEPS = 5_000_000;
const MAX_PATTERN_CHARS = 1_000;

/**
 * A `pattern` of a JSON Schema in linear time: JavaScript's own engine backtracks exponentially on a hostile one such
 * as `^(a+)+$`. A text too long to be tested in time does not match.
 */
export class LinearPattern {
  private readonly compiled: RE2JS;

  constructor(readonly source: string) {
    this.compiled = compile(source);
  }

  test(text: string): boolean {
    return text.length * this.compiled.programSize() <= MAX_STEPS && this.compiled.test(text);
  }

  /** ajv uses it as the key under which it reuses a compiled pattern. */
  toString(): string {
    return `/${this.source}/`;
  }
}

function compile(source: string): RE2JS {
  const invalid = (why: string) => new Error(`the pattern ${source.slice(0, 100)} cannot be checked: ${why}`);
  if (source.length > MAX_PATTERN_CHARS) throw invalid(`it has more than ${MAX_PATTERN_CHARS} characters`);
  // Only parsed, for JavaScript's own message on a syntax error.
  new RegExp(source);
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (error) {
    throw invalid(
      `it needs more than a regular language, as lookarounds and backreferences do (${(error as Error).message})`,
    );
  }
  if (compiled.programSize() > MAX_INSTRUCTIONS) throw invalid("it repeats too often");
  return compiled;
}
