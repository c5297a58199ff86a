import { z } from "zod";

export const SPLITS = ["train", "test"] as const;

export type Split = (typeof SPLITS)[number];

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}/, "must begin with a date YYYY-MM-DD");

/**
 * One question with its gold answer, as in `corbt/enron_emails_sample_questions`.
 * Unknown columns are dropped; `query_date` keeps its day only.
 */
export const questionSchema = z.object({
  id: z.number().int(),
  question: z.string().min(1),
  answer: z.string(),
  message_ids: z.array(z.string()),
  how_realistic: z.number().min(0).max(1),
  inbox_address: z
    .string()
    .min(1)
    .transform((address) => address.trim().toLowerCase()),
  query_date: day.transform((date) => date.slice(0, 10)),
  split: z.enum(SPLITS).optional(),
});

export type Question = z.output<typeof questionSchema>;

/** Tells a question from a task of a suite. */
export function isQuestion(task: Question | { readonly instruction: string }): task is Question {
  return "question" in task;
}

/** Where a set of questions came from, recorded with every run so that it can be had again. */
export interface QuestionSet {
  /** Dataset name with its revision, or the path of a local file. */
  readonly source: string;
  /** The pinned revision; null for local files. */
  readonly revision: string | null;
  /** SHA-256 of the bytes read. */
  readonly sha256: string;
  readonly split: Split;
  readonly questions: readonly Question[];
}
