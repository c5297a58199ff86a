import { z } from "zod";

/** What a person may find of a question. */
export const REVIEW_DECISIONS = ["accepted", "edited", "rejected"] as const;

export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

/** A question in words, as a reviewer may change it. */
export const questionWordingSchema = z.object({
  question: z.string().trim().min(1, "must not be empty").max(4_000),
  answer: z.string().trim().min(1, "must not be empty").max(20_000),
});

export type QuestionWording = z.output<typeof questionWordingSchema>;

/** What a person decided about one question: a line of the file beside a dataset. */
export const questionReviewSchema = z.object({
  id: z.number().int(),
  decision: z.enum(REVIEW_DECISIONS),
  question: z.string().describe("As it stands in the dataset: a decision is about these words"),
  answer: z.string().describe("As it stands in the dataset"),
  edited: questionWordingSchema.nullable().describe("How it is to be; null: not edited"),
  reason: z.string().nullable(),
  decided_at: z.iso.datetime().describe("Tells one decision about a question from a later one"),
});

export type QuestionReview = z.output<typeof questionReviewSchema>;
