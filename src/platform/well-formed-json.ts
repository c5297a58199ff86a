/** A lone surrogate as JSON.stringify escapes it, after an even number of backslashes. */
const LONE_SURROGATE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/**
 * Returns JSON for other programs, with U+FFFD in place of each lone surrogate. JSON.stringify escapes lone surrogates,
 * whose handling is unpredictable (https://www.rfc-editor.org/rfc/rfc8259#section-8.2): jq, DuckDB and Python's UTF-8
 * encoder reject them.
 */
export function toWellFormedJson(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, null, indent);
  return json.includes("\\ud") ? json.replace(LONE_SURROGATE, "$1\ufffd") : json;
}
