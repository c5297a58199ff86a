// The files next to a dataset: how each question was made (provenance) and how people reviewed it.
import { z } from "zod";

/** Possible decisions about a question. */
export const REVIEW_DECISIONS = ["accepted", "edited", "rejected"] as const;

export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

/** The text of a question, which a reviewer can edit. */
export const questionWordingSchema = z.object({
  question: z.string().trim().min(1, "must not be empty").max(4_000),
  answer: z.string().trim().min(1, "must not be empty").max(20_000),
});

export type QuestionWording = z.output<typeof questionWordingSchema>;

/** A person's decision about one question, stored as a line of the review file next to a dataset. */
export const questionReviewSchema = z.object({
  id: z.number().int(),
  decision: z.enum(REVIEW_DECISIONS),
  question: z.string().describe("Question text in the dataset. The decision applies to this text"),
  answer: z.string().describe("Gold answer in the dataset"),
  edited: questionWordingSchema.nullable().describe("The edited question, or null if not edited"),
  reason: z.string().nullable(),
  decided_at: z.iso.datetime().describe("Time of the decision. Distinguishes it from a later one"),
});

export type QuestionReview = z.output<typeof questionReviewSchema>;

/** The kind of answer a question asks for. */
export const QUESTION_KINDS = ["who", "when", "how_much", "where", "what", "decision", "change"] as const;

export type QuestionKind = (typeof QUESTION_KINDS)[number];

/** The checks that a question must pass before it is included. */
export const QUESTION_CHECKS = [
  "gold",
  "sources",
  "each_mail",
  "earlier_mails",
  "without_mail",
  "other_mails",
] as const;

export const questionCheckSchema = z.object({
  check: z
    .enum(QUESTION_CHECKS)
    .describe(
      "gold: the gold answer is consistent with the cited emails; sources: answered from the cited emails; each_mail: answered from each cited email alone; earlier_mails: answered from the emails before the change; without_mail: answered without any email; other_mails: answered from the best other matches",
    ),
  by: z.string().describe("Model that checked the question, or rules"),
  passed: z.boolean(),
  answer: z.string().nullable().describe("The checker's answer, or null if it found none"),
  reason: z.string(),
});

export type QuestionCheck = z.output<typeof questionCheckSchema>;

/** A passage of an email, word for word except for white space. */
const passageSchema = z.object({ message_id: z.string(), text: z.string() });

export type Passage = z.output<typeof passageSchema>;

/** How one question was made, stored as a line of the provenance file next to a dataset. */
export const questionProvenanceSchema = z.object({
  id: z.number().int(),
  made_by: z.string().describe("Writing model, or offline/patterns"),
  kind: z.enum(QUESTION_KINDS),
  synthetic: z.boolean().describe("Whether the question was filled into a template instead of written by a model"),
  unanswerable: z
    .enum(["mail_later", "detail_absent"])
    .nullable()
    .describe(
      "mail_later: the answering email is after the query date; detail_absent: no email contains the answer. Answerable questions have null",
    ),
  easy: z
    .boolean()
    .describe("Whether the question repeats a phrase of its email and the first search finds that email"),
  passages: z.array(passageSchema).describe("Passages that contain the answer"),
  checks: z.array(questionCheckSchema),
});

export type QuestionProvenance = z.output<typeof questionProvenanceSchema>;
