import { readFile } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import { UserError } from "../domain/errors.js";
import type { QuestionSet, Split } from "../domain/tasks/question.js";
import { sha256Of } from "../platform/download/download-cache.js";
import { detectQuestionFormat } from "./detect-question-format.js";
import { jsonLinesRows, jsonRows } from "./json-rows.js";
import type { RawRow } from "./raw-row.js";
import { validateQuestions } from "./validate-questions.js";

const FORMS = "Give a Parquet, CSV, JSON or JSONL file with the columns of corbt/enron_emails_sample_questions.";

/**
 * Questions from a file. The split is that of the rows, else of the file name, else `wanted`.
 * @throws UserError that names the file, and the bad row if any
 */
export async function loadQuestionFile(path: string, wanted: Split, signal: AbortSignal): Promise<QuestionSet> {
  const bytes = await readQuestionFile(path);
  signal.throwIfAborted();
  const { rows } = await readRows(path, bytes);
  const checked = validateQuestions(rows, { name: path, wanted, unmarked: splitInName(path) ?? wanted });
  return { source: resolve(path), revision: null, sha256: sha256Of(bytes), ...checked };
}

/** The bytes of a file of questions; throws a UserError where it cannot be read. */
export async function readQuestionFile(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
    const reason = { ENOENT: "there is no such file", EISDIR: "it is a folder, not a file" }[code] ?? code;
    throw new UserError("questions_unreadable", `could not read questions from ${path}: ${reason}`, FORMS, undefined, {
      cause,
    });
  }
}

export interface QuestionRows {
  readonly rows: readonly RawRow[];
  /** The lines that the rows of JSON lines stand on, byte for byte; null for any other format. */
  readonly lines: readonly string[] | null;
}

/** The rows of a file of questions, in any format. Throws a UserError that names the file. */
export async function readRows(path: string, bytes: Buffer): Promise<QuestionRows> {
  const text = decodeUtf8(bytes);
  const format = detectQuestionFormat(path, bytes, text);
  if (format === null || (text === null && format !== "parquet"))
    throw unreadable(path, explainUnknownFormat(path, text));
  try {
    // Each format's library is loaded where it is met.
    if (format === "parquet")
      return { rows: await (await import("./parquet-rows.js")).parquetRows(bytes), lines: null };
    if (format === "csv") return { rows: (await import("./csv-rows.js")).csvRows(text ?? ""), lines: null };
    if (format === "jsonl") {
      const rows = jsonLinesRows(text ?? "");
      return { rows, lines: (text ?? "").split("\n").filter((line) => line.trim() !== "") };
    }
    const rows = jsonRows(JSON.parse(text ?? ""));
    if (rows !== null) return { rows, lines: null };
  } catch (cause) {
    throw unreadable(path, cause instanceof Error ? cause.message : String(cause), cause);
  }
  throw unreadable(path, "the JSON is neither an array of questions nor {rows: [...]}");
}

function unreadable(path: string, reason: string, cause?: unknown): UserError {
  return new UserError("questions_unreadable", `could not read questions from ${path}: ${reason}`, FORMS, undefined, {
    cause,
  });
}

function decodeUtf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function explainUnknownFormat(path: string, text: string | null): string {
  if (text?.startsWith("version https://git-lfs.github.com/spec/")) {
    return "it is a Git LFS pointer, not the file itself (run `git lfs pull` where it was cloned)";
  }
  if (text?.trim() === "") return "it is empty";
  if (extname(path).toLowerCase() === ".parquet") return "it is not a Parquet file, whatever its name says";
  return text === null ? "it is neither Parquet nor UTF-8 text" : "it is neither Parquet, CSV, JSON nor JSONL";
}

/** `test-00000-of-00001.parquet`, `my_train.csv`; not `latest.csv`. Null where it names none or both. */
function splitInName(path: string): Split | null {
  const words = basename(path)
    .toLowerCase()
    .split(/[^a-z]+/);
  const [train, test] = [words.includes("train"), words.includes("test")];
  if (train === test) return null;
  return train ? "train" : "test";
}
