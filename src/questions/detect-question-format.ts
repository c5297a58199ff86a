import { extname } from "node:path";
import { parseJsonOrNull } from "../platform/parse-json.js";

export type QuestionFormat = "parquet" | "csv" | "json" | "jsonl";

/**
 * The format of a file of questions by its content, and by its extension where that is ambiguous.
 * @param text null where the content is not UTF-8
 * @returns null for an unknown format
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

/** JSON lines if the first line is an object, unless it is the only one and holds the rows. */
function jsonOrLines(text: string, extension: string): QuestionFormat {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const first = parseJsonOrNull(lines[0] ?? "");
  if (first === null) return extension === ".jsonl" ? "jsonl" : "json";
  if (lines.length > 1) return "jsonl";
  return typeof first === "object" && "rows" in first ? "json" : "jsonl";
}
