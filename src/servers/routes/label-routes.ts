import { z } from "zod";
import { summarizeLabels } from "../../app/evals/label-counts.js";
import { openLabelling } from "../../app/evals/open-labelling.js";
import { saveGivenLabel } from "../../app/evals/save-label.js";
import { criterionNameSchema, OVERALL } from "../../domain/evals/label.js";
import { estimateSchema } from "../../domain/scores/estimate-schema.js";
import type { Db } from "../../store/connection/open-store.js";
import { deletePersonLabel } from "../../store/evals/labels.js";
import { ApiError } from "../http/api-error.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";

const criterion = criterionNameSchema.default(OVERALL).meta({ description: "The failure mode that labels are about" });

const summaryShape = z.strictObject({
  labels: z.record(z.string(), z.number().int()).meta({ description: "Traces that are good, bad, neutral or skipped" }),
  self_agreement: estimateSchema.meta({ description: "How often the same was said of a trace that was asked again" }),
});

/** The first of the queue: labels change the order of the rest. */
const MAX_QUEUED = 200;

export function labelRoutes({ db }: Services): Route[] {
  const tag = "evals";
  return [
    defineRoute({
      method: "get",
      path: "/api/evals/label-queue",
      tag,
      summary: "Traces that no person has labelled, the most urgent first, and some to ask again",
      query: z.object({
        run_id: z.string().min(1).optional().meta({ description: "A run, or latest; without it: chats" }),
        criterion,
        limit: z.coerce.number().int().min(1).max(MAX_QUEUED).default(50),
        seed: z.coerce.number().int().min(0).max(2_147_483_647).default(1),
      }),
      status: 200,
      response: summaryShape.extend({
        run_id: z.string().nullable(),
        waiting: z.number().int().meta({ description: "Traces that no person has labelled" }),
        queue: z.array(z.strictObject({ trace_id: z.string(), is_repeat: z.boolean() })),
      }),
      async handle({ query }) {
        const { run_id = null, limit, ...options } = query;
        const { runId, waiting, queue } = await openLabelling(db, { run: run_id, ...options });
        const first = [...queue].slice(0, limit);
        return {
          run_id: runId,
          waiting,
          queue: first.map(({ traceId, isRepeat }) => ({ trace_id: traceId, is_repeat: isRepeat })),
          ...summaryJson(db, options.criterion),
        };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/evals/labels",
      tag,
      summary: "Label a trace",
      body: z.object({
        trace_id: z.string().min(1),
        criterion,
        label: z.enum(["good", "bad", "skip"]),
        note: z.string().max(10_000).nullish().meta({ description: "Why" }),
        is_repeat: z.boolean().default(false).meta({ description: "It was labelled before, and asked again" }),
      }),
      status: 201,
      response: summaryShape.extend({ id: z.number().int() }),
      handle({ body }) {
        const { trace_id: traceId, is_repeat: isRepeat, label } = body;
        const note = body.note?.trim() || null;
        const id = saveGivenLabel(db, { traceId, criterion: body.criterion, label, note, isRepeat });
        return { id, ...summaryJson(db, body.criterion) };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/evals/labels/:id",
      tag,
      summary: "Take back a label that a person gave",
      status: 204,
      response: null,
      handle({ params }) {
        if (!/^\d{1,15}$/.test(params.id) || !deletePersonLabel(db, Number(params.id))) {
          throw new ApiError("NOT_FOUND", `There is no label ${params.id.slice(0, 100)} of a person.`);
        }
      },
    }),
  ];
}

function summaryJson(db: Db, criterion: string) {
  const { labels, selfAgreement } = summarizeLabels(db, criterion);
  return { labels, self_agreement: selfAgreement };
}
