import { RE2JS } from "re2js";
import type { JsonSchema, JsonValue } from "../../domain/json.js";

/** Instructions of a compiled pattern, and instructions times characters of one test: half a second at the most. */
const MAX_INSTRUCTIONS = 1_000;
const MAX_STEPS = 5_000_000;
const MAX_PATTERN_CHARS = 1_000;

/**
 * A `pattern` of a JSON Schema, which whoever offers the tool has written: JavaScript's own engine may take for ever over
 * `^(a+)+$`. A text too long to be tested in time does not fit.
 */
class LinearPattern {
  lastIndex = 0;
  readonly source: string;
  readonly flags = "";
  private readonly compiled: RE2JS;

  constructor(source: string) {
    this.source = source;
    this.compiled = compile(source);
  }

  test(text: string): boolean {
    return text.length * this.compiled.programSize() <= MAX_STEPS && this.compiled.test(text);
  }

  toString(): string {
    return `/${this.source}/`;
  }
}

function compile(source: string): RE2JS {
  const refuse = (why: string) => new Error(`the pattern ${source.slice(0, 100)} cannot be checked: ${why}`);
  if (source.length > MAX_PATTERN_CHARS) throw refuse(`it has more than ${MAX_PATTERN_CHARS} characters`);
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (error) {
    throw refuse(
      `it needs more than a regular language, as lookarounds and backreferences do (${(error as Error).message})`,
    );
  }
  if (compiled.programSize() > MAX_INSTRUCTIONS) throw refuse("it counts too far");
  return compiled;
}

/**
 * Runs zod's conversion of a JSON Schema with `RegExp` giving linear patterns for those of the schema. zod lets nobody choose the
 * engine, and keeps some of the patterns (of `propertyNames`, `contains`, `patternProperties`) where none can be replaced later.
 * The conversion is synchronous: nothing else runs meanwhile. Formats keep zod's own expressions.
 */
export function withLinearPatterns<T>(schema: JsonSchema, convert: () => T): T {
  const patterns = patternsIn(schema);
  if (patterns.size === 0) return convert();
  const native = globalThis.RegExp;
  globalThis.RegExp = new Proxy(native, {
    construct(_, [source, flags]: [string | RegExp, string | undefined]) {
      // What is none is refused in the engine's own words.
      const expression = new native(source, flags);
      return typeof source === "string" && patterns.has(source) ? new LinearPattern(source) : expression;
    },
  });
  try {
    return convert();
  } finally {
    globalThis.RegExp = native;
  }
}

function patternsIn(schema: JsonSchema): Set<string> {
  const patterns = new Set<string>();
  const waiting: JsonValue[] = [schema];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== "object" || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "pattern" && typeof inner === "string") patterns.add(inner);
      if (key === "patternProperties" && typeof inner === "object" && inner !== null) {
        for (const pattern of Object.keys(inner)) patterns.add(pattern);
      }
      waiting.push(inner as JsonValue);
    }
  }
  return patterns;
}
