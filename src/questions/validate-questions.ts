import { UserError } from "../domain/errors.js";
import { type Question, questionSchema, type Split } from "../domain/tasks/question.js";
import type { RawRow } from "./raw-row.js";

export interface ValidateRequest {
  /** Name of the file or dataset, for messages. */
  readonly name: string;
  /** The requested split, for files that hold both. */
  readonly wanted: Split;
  /** The split of rows without one. */
  readonly unmarked: Split;
}

/**
 * Validates raw rows and selects a split. One bad row rejects the dataset, as a benchmark over some of its questions
 * is another benchmark.
 * @throws UserError for no rows, bad rows or duplicate ids
 */
export function validateQuestions(
  rows: readonly RawRow[],
  request: ValidateRequest,
): { split: Split; questions: readonly Question[] } {
  const { name, wanted, unmarked } = request;
  const all = checkRows(rows, name).map((question) => ({ ...question, split: question.split ?? unmarked }));
  const split = all.every((question) => question.split === all[0]?.split) ? (all[0]?.split ?? unmarked) : wanted;
  const questions = all.filter((question) => question.split === split);
  checkUniqueIds(questions, name);
  return { split, questions };
}

/** The questions of all rows, of both splits. */
export function checkRows(rows: readonly RawRow[], name: string): readonly Question[] {
  if (rows.length === 0) {
    throw new UserError("questions_empty", `${name} holds no questions`, "Give a file with at least one row.");
  }
  const questions: Question[] = [];
  let firstProblem: string | null = null;
  for (const { where, value } of rows) {
    const row = normalizeRow(value);
    const parsed = questionSchema.safeParse(row);
    if (parsed.success) {
      questions.push(parsed.data);
      continue;
    }
    const [issue] = parsed.error.issues;
    firstProblem ??= `${where}, ${describe(issue?.path ?? [], issue?.message ?? "", row)}`;
  }
  if (firstProblem === null) return questions;
  const bad = rows.length - questions.length;
  throw new UserError(
    "question_rows_bad",
    `${name}: ${firstProblem} (${bad} of ${rows.length} rows ${bad === 1 ? "is" : "are"} bad)`,
    "Every row needs id, question, answer, message_ids, how_realistic (0 to 1), inbox_address and query_date (YYYY-MM-DD).",
  );
}

function describe(path: readonly PropertyKey[], message: string, row: unknown): string {
  const [field] = path;
  if (field === undefined) return message;
  const missing = typeof row === "object" && row !== null && (row as Record<PropertyKey, unknown>)[field] === undefined;
  return missing ? `field "${String(field)}" is missing` : `field "${path.map(String).join(".")}": ${message}`;
}

/** Removes differences between the published forms of the dataset. */
function normalizeRow(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const row: Record<string, unknown> = { ...value };
  // A float32 0.7 reads as 0.699999988079071; six digits are exact in a float32.
  if (typeof row.how_realistic === "number") row.how_realistic = Number(row.how_realistic.toPrecision(6));
  // Both datasets have [''] for some empty lists.
  if (Array.isArray(row.message_ids)) row.message_ids = row.message_ids.filter((id) => id !== "");
  if (row.split === null) delete row.split;
  return row;
}

export function checkUniqueIds(questions: readonly Question[], name: string): void {
  const seen = new Set<number>();
  const repeated = new Set<number>();
  for (const { id } of questions) (seen.has(id) ? repeated : seen).add(id);
  if (repeated.size === 0) return;
  const shown = [...repeated].slice(0, 10).join(", ");
  throw new UserError(
    "question_ids_repeated",
    `${name}: ids occur more than once: ${shown}${repeated.size > 10 ? ` and ${repeated.size - 10} more` : ""}`,
    "Results are kept by id: give every question its own.",
  );
}
