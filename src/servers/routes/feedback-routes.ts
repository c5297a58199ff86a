import { randomUUID } from "node:crypto";
import { z } from "zod";
import { RATINGS } from "../../domain/runs/chat.js";
import {
  deleteFeedback,
  type FeedbackLine,
  getFeedback,
  pageOfFeedback,
  saveFeedback,
  updateFeedback,
} from "../../store/chats/feedback.js";
import { getTrace } from "../../store/runs/traces.js";
import { readCursor, writeCursor } from "../http/cursor.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";
import { feedbackShape } from "./response-schemas.js";

const feedbackFields = { rating: z.enum(RATINGS), notes: z.string().max(10_000).nullish() };

export function feedbackRoutes({ db }: Services): Route[] {
  const tag = "feedback";
  return [
    defineRoute({
      method: "post",
      path: "/api/feedback",
      tag,
      summary: "Give feedback on an answer",
      body: z.object({ trace_id: z.string().min(1), ...feedbackFields }),
      status: 201,
      response: feedbackShape,
      handle({ body }) {
        const { traceId } = getTrace(db, body.trace_id);
        const id = `feedback_${randomUUID()}`;
        const notes = body.notes?.trim() || null;
        saveFeedback(db, { id, traceId, rating: body.rating, notes, createdAt: new Date().toISOString() });
        return feedbackJson(getFeedback(db, id));
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/feedback",
      tag,
      summary: "Feedback on all answers, or on those of a trace or an agent, newest first",
      query: z.object({
        trace_id: z.string().min(1).optional(),
        agent_id: z.string().min(1).optional(),
        rating: z.enum(RATINGS).optional(),
        cursor: z.string().max(500).optional().meta({ description: "next_cursor of the page before" }),
        limit: z.coerce.number().int().min(1).max(200).default(50),
      }),
      status: 200,
      response: z.strictObject({
        feedback: z.array(feedbackShape),
        next_cursor: z.string().nullable(),
        has_more: z.boolean(),
      }),
      handle({ query }) {
        const filter = {
          traceId: query.trace_id === undefined ? null : getTrace(db, query.trace_id).traceId,
          agentId: query.agent_id ?? null,
          rating: query.rating ?? null,
        };
        const after = query.cursor === undefined ? null : readCursor(query.cursor);
        const { lines, hasMore } = pageOfFeedback(db, filter, after, query.limit);
        const last = lines.at(-1);
        return {
          feedback: lines.map(feedbackJson),
          next_cursor: hasMore && last !== undefined ? writeCursor({ at: last.createdAt, id: last.id }) : null,
          has_more: hasMore,
        };
      },
    }),
    defineRoute({
      method: "patch",
      path: "/api/feedback/:id",
      tag,
      summary: "Change feedback",
      body: z.object(feedbackFields).partial(),
      status: 200,
      response: feedbackShape,
      handle({ params, body }) {
        const before = getFeedback(db, params.id);
        const notes = body.notes === undefined ? before.notes : body.notes?.trim() || null;
        updateFeedback(db, { id: before.id, rating: body.rating ?? before.rating, notes });
        return feedbackJson(getFeedback(db, before.id));
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/feedback/:id",
      tag,
      summary: "Delete feedback",
      status: 204,
      response: null,
      handle: ({ params }) => deleteFeedback(db, getFeedback(db, params.id).id),
    }),
  ];
}

export function feedbackJson({ id, traceId, agentId, rating, notes, createdAt }: FeedbackLine) {
  return { id, trace_id: traceId, agent_id: agentId, rating, notes, created_at: createdAt };
}
