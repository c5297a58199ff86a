import type { FuncKeywordDefinition } from "ajv";
import type { JsonValue } from "../../domain/json.js";

/** References followed while one value is checked. A real schema follows a few for each object of the value. */
const MAX_REFS_FOLLOWED = 100_000;

/** Stands beside every `$ref` of a compiled schema. */
export const COUNT_REF = "x-count-ref";

/**
 * Bounds the time of a recursive schema: `properties` and `patternProperties` that both refer to the root double the
 * work at every level of the value.
 */
export class RefCounter {
  private followed = 0;

  reset(): void {
    this.followed = 0;
  }

  readonly keyword: FuncKeywordDefinition = {
    keyword: COUNT_REF,
    schema: false,
    errors: false,
    validate: () => {
      this.followed++;
      if (this.followed > MAX_REFS_FOLLOWED) throw new Error("it leads the schema through too many references");
      return true;
    },
  };
}

/** In linear time: ajv's own compares every item with every other where their type is not known to be simple. */
export const uniqueItems: FuncKeywordDefinition = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  error: { message: "must not have the same item twice" },
  validate: (isUnique: boolean, items: readonly JsonValue[]) =>
    !isUnique || new Set(items.map(canonicalJson)).size === items.length,
};

/** Equal for equal values: the keys of objects are sorted. */
function canonicalJson(value: JsonValue): string {
  return JSON.stringify(value, (_, inner: JsonValue) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return { entries: Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)) };
  });
}
