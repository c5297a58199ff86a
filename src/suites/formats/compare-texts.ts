import type { JsonObject } from "../../domain/json.js";
import { collapseSpaces, decodeText, stripText } from "./python/text.js";
import { isTruthy } from "./python/values.js";

/**
 * `compare_text_file`, equal in both suites: text-mode reading, so CRLF is LF; a final newline counts. `ignore_blanks`
 * makes runs of white space one blank and trims, but removes none between words.
 */
export function areTextsEqual(result: Buffer, expected: Buffer, options: JsonObject): boolean {
  return normalize(decodeText(result), options) === normalize(decodeText(expected), options);
}

function normalize(text: string, options: JsonObject): string {
  const plain = isTruthy(options.ignore_blanks) ? collapseSpaces(stripText(text)) : text;
  return isTruthy(options.ignore_case) ? plain.toLowerCase() : plain;
}
