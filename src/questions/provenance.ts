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

/** What a question asks for. */
export const QUESTION_KINDS = ["who", "when", "how_much", "where", "what", "decision", "change"] as const;

export type QuestionKind = (typeof QUESTION_KINDS)[number];

/** Checks that a question passes before it is kept. */
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
      "gold: what the dataset says holds together; sources: answered from the cited mails; each_mail: answered from each of them alone; earlier_mails: answered from those before the one that changed it; without_mail: answered from nothing; other_mails: answered from the best other matches",
    ),
  by: z.string().describe("The model that checked, or rules"),
  passed: z.boolean(),
  answer: z.string().nullable().describe("What the checker answered; null: nothing"),
  reason: z.string(),
});

export type QuestionCheck = z.output<typeof questionCheckSchema>;

/** A piece of a mail, word for word but for white space. */
const passageSchema = z.object({ message_id: z.string(), text: z.string() });

export type Passage = z.output<typeof passageSchema>;

/** How one question was made: a line of the file beside a dataset. */
export const questionProvenanceSchema = z.object({
  id: z.number().int(),
  made_by: z.string().describe("The model, or offline/patterns"),
  kind: z.enum(QUESTION_KINDS),
  synthetic: z.boolean().describe("True: filled into a template, not asked as a person would"),
  unanswerable: z
    .enum(["mail_later", "detail_absent"])
    .nullable()
    .describe("mail_later: the mail that answers is after the query date; detail_absent: no mail holds it"),
  easy: z.boolean().describe("True: the question repeats the wording of its mail, and the first search finds it"),
  passages: z.array(passageSchema).describe("Where the answer stands"),
  checks: z.array(questionCheckSchema),
});

export type QuestionProvenance = z.output<typeof questionProvenanceSchema>;
