import { existsSync, readFileSync } from "node:fs";
import type { z } from "zod";
import { UserError } from "../../../domain/errors.js";
import { type QuestionProvenance, questionProvenanceSchema } from "../../../domain/tasks/question-provenance.js";
import { type QuestionReview, questionReviewSchema } from "../../../domain/tasks/question-review.js";
import { encodeTable } from "../../../exports/tables/encode-table.js";
import { questionsTable } from "../../../exports/tables/questions-table.js";
import { writeFileAtomically } from "../../../platform/atomic-file.js";
import { jsonLinesRows } from "../../../questions/json-rows.js";
import { replaceJsonTexts } from "../../../questions/review/replace-json-texts.js";
import { sidecarPath } from "../sidecar-path.js";
import type { ReviewedFile } from "./open-dataset.js";

/** `my.jsonl` -> `my.review.jsonl`: what was decided. */
export function reviewPath(dataset: string): string {
  return sidecarPath(dataset, ".review.jsonl");
}

/** `my.jsonl` -> `my.reviewed.jsonl`: the questions that were accepted, as they stood or as they were edited. */
export function reviewedPath(dataset: string): string {
  return sidecarPath(dataset, ".reviewed.jsonl");
}

/** How the questions of a dataset were made, by id; empty where that is not known. */
export function readProvenance(path: string): ReadonlyMap<number, QuestionProvenance> {
  return new Map(readLines(path, questionProvenanceSchema).map((line) => [line.id, line]));
}

/** What was decided so far, by id. */
export function readReviews(path: string): ReadonlyMap<number, QuestionReview> {
  return new Map(readLines(path, questionReviewSchema).map((line) => [line.id, line]));
}

/** The decisions first: the reviewed dataset can be written again from them. */
export async function writeReviews(file: ReviewedFile, reviews: ReadonlyMap<number, QuestionReview>): Promise<void> {
  const lines = [...reviews.values()].sort((a, b) => a.id - b.id).map((review) => `${JSON.stringify(review)}\n`);
  await writeFileAtomically(reviewPath(file.path), lines);
  await writeReviewed(file, reviews);
}

/** Lines of JSON lines stay byte for byte, but for the words that were edited. */
async function writeReviewed(
  { path, questions, lines }: ReviewedFile,
  reviews: ReadonlyMap<number, QuestionReview>,
): Promise<void> {
  const chosen = questions.flatMap((question, i) => {
    const review = reviews.get(question.id);
    return review === undefined || review.decision === "rejected" || !isAbout(review, question)
      ? []
      : [{ question, line: lines?.[i], edited: review.edited ?? {} }];
  });
  const pieces =
    lines === null
      ? await encodeTable(
          "jsonl",
          questionsTable("jsonl"),
          chosen.map(({ question, edited }) => ({ ...question, ...edited })),
        )
      : chosen.map(({ line = "", edited }) => `${replaceJsonTexts(line, edited)}\n`);
  await writeFileAtomically(reviewedPath(path), pieces);
}

/** Whether it was decided about these words: a dataset may have been made again, with other questions. */
export function isAbout(review: QuestionReview, { question, answer }: { question: string; answer: string }): boolean {
  return review.question === question && review.answer === answer;
}

function readLines<T extends z.ZodType>(path: string, schema: T): z.output<T>[] {
  if (!existsSync(path)) return [];
  try {
    return jsonLinesRows(readFileSync(path, "utf8")).map(({ where, value }) => {
      const { data, error } = schema.safeParse(value);
      if (data !== undefined) return data;
      const [issue] = error?.issues ?? [];
      throw new Error(`${where}: ${issue?.path.join(".") || "it"}: ${issue?.message ?? "cannot be used"}`);
    });
  } catch (cause) {
    throw new UserError(
      "review_unreadable",
      `${path} cannot be used: ${(cause as Error).message}`,
      "It is written beside the dataset: mend the line, or move the file away.",
      2,
      { cause },
    );
  }
}
