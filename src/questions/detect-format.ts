import { extname } from "node:path";
import { parseJsonOrNull } from "../platform/parse-json.js";

export type QuestionFormat = "parquet" | "csv" | "json" | "jsonl";

/**
 * The form of a file of questions, from its content; where that fits several, from its extension.
 * @param text the content as UTF-8, null where it is not
 * @returns null where the content is none of the forms
 */
export function detectQuestionFormat(path: string, bytes: Uint8Array, text: string | null): QuestionFormat | null {
  if (Buffer.from(bytes.subarray(0, 4)).toString("latin1") === "PAR1") return "parquet";
  if (text === null) return null;
  const extension = extname(path).toLowerCase();
  if (/^\s*\[/.test(text)) return "json";
  if (/^\s*\{/.test(text)) return jsonOrLines(text, extension);
  const header = text.trimStart().split("\n", 1)[0] ?? "";
  return extension === ".csv" || header.includes("question") ? "csv" : null;
}

/** Lines where the first one is an object of its own, unless it is the whole document and holds the rows. */
function jsonOrLines(text: string, extension: string): QuestionFormat {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const first = parseJsonOrNull(lines[0] ?? "");
  if (first === null) return extension === ".jsonl" ? "jsonl" : "json";
  if (lines.length > 1) return "jsonl";
  return typeof first === "object" && "rows" in first ? "json" : "jsonl";
}
