// Serves the page on which a person reviews questions.
import { z } from "zod";
import type { DatasetReview, QuestionDetails } from "../questions/dataset-review.js";
import { questionWordingSchema, REVIEW_DECISIONS } from "../questions/provenance.js";
import type { Db } from "../store/open-store.js";
import { ApiError } from "./app/api-error.js";
import type { HttpServer } from "./app/http-server.js";
import { defineRoute, type Route } from "./app/route.js";
import { openPageServer } from "./create-app.js";
import { questionDetailsShape, reviewListShape, savedReviewShape, snakeKeys } from "./response-shapes.js";
import { mailRoutes } from "./routes/mail.js";

/** Serves the page of a review until it is closed. Throws a UserError if the port is in use. */
export function startReviewServer(
  db: Db,
  review: DatasetReview,
  options: Parameters<typeof openPageServer>[2],
): Promise<HttpServer> {
  return openPageServer("review", [...reviewRoutes(review), ...mailRoutes({ db })], options);
}

/** The API of the review page. */
function reviewRoutes(review: DatasetReview): Route[] {
  const tag = "review";
  return [
    defineRoute({
      method: "get",
      path: "/api/review",
      tag,
      summary: "List the questions in the dataset with their decisions",
      status: 200,
      response: reviewListShape,
      async handle() {
        return {
          dataset: review.path,
          reviewed_dataset: review.reviewedPath,
          questions: review.list().map((one) => ({ id: one.question.id, decision: one.review?.decision ?? null })),
          ...(await summaryJson(review)),
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/review/questions/:id",
      tag,
      summary: "Get a question with its cited emails and the results of the checks",
      status: 200,
      response: questionDetailsShape,
      handle: async ({ params }) => detailsJson(await review.details(idOf(params.id))),
    }),
    defineRoute({
      method: "post",
      path: "/api/review/questions/:id",
      tag,
      summary: "Save or undo a decision about a question",
      body: z
        .object({
          decision: z.enum(REVIEW_DECISIONS).nullable().meta({ description: "Null undoes the last decision" }),
          edited: questionWordingSchema
            .nullable()
            .default(null)
            .meta({ description: 'New wording, for the decision "edited"' }),
          reason: z.string().trim().max(10_000).nullable().default(null),
          seen: z.string().nullable().meta({ description: "decided_at of the displayed decision, or null" }),
        })
        .refine(({ decision, edited }) => (decision === "edited") === (edited !== null), {
          path: ["edited"],
          message: "is allowed only with the decision edited",
        }),
      status: 200,
      response: savedReviewShape,
      async handle({ params, body }) {
        const saved = await review.decide(idOf(params.id), { ...body, reason: body.reason || null });
        return { review: saved, ...(await summaryJson(review)) };
      },
    }),
  ];
}

function idOf(text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new ApiError("NOT_FOUND", `Unknown question "${text.slice(0, 100)}".`);
}

async function summaryJson(review: DatasetReview) {
  const { counts, agreement } = await review.summary();
  return { counts, agreement: snakeKeys(agreement) };
}

function detailsJson({ question, provenance, checks, mails, review }: QuestionDetails) {
  const { message_ids: _, split: __, ...rest } = question;
  return {
    ...rest,
    made_by: provenance?.made_by ?? null,
    kind: provenance?.kind ?? null,
    unanswerable: provenance?.unanswerable ?? null,
    easy: provenance?.easy ?? false,
    checks,
    mails: mails.map(({ mail, ...evidence }) => ({
      ...snakeKeys(evidence),
      mail: mail && {
        subject: mail.subject,
        sender: mail.sender,
        to: mail.to,
        cc: mail.cc,
        date: mail.date,
        body: mail.body,
      },
    })),
    review,
  };
}
