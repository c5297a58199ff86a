import { z } from "zod";
import { askedOf, type ChatTrace, isChatTrace, RATINGS } from "../../domain/runs/chat.js";
import type { Trace } from "../../domain/runs/trace.js";
import { ENDINGS } from "../../domain/tasks/task-ending.js";
import { iofoldSteps } from "../../exports/iofold-format.js";
import { listFeedback } from "../../store/chats/feedback.js";
import { getTrace, pageOfTraces, type TraceCursor, type TraceSummary } from "../../store/runs/traces.js";
import { type PageEnd, readCursor, writeCursor } from "../http/cursor.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";
import { feedbackJson } from "./feedback-routes.js";
import { feedbackShape, stepShape, traceLineShape } from "./response-schemas.js";

const dayOrTime = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

const listQuery = z.object({
  agent_id: z.string().optional(),
  run_id: z.string().optional(),
  session_id: z.string().optional(),
  ending: z.enum(ENDINGS).optional(),
  rating: z.enum(RATINGS).optional().meta({ description: "Of the newest feedback" }),
  date_from: dayOrTime.optional().meta({ description: "Started then or later" }),
  date_to: dayOrTime.optional().meta({ description: "Started before then" }),
  cursor: z.string().max(500).optional().meta({ description: "next_cursor of the page before" }),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

export function traceRoutes({ db }: Pick<Services, "db">): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/traces",
      tag: "traces",
      summary: "Traces of runs and chats, newest first",
      query: listQuery,
      status: 200,
      response: z.strictObject({
        traces: z.array(traceLineShape),
        next_cursor: z.string().nullable(),
        has_more: z.boolean(),
        total_count: z.number().int(),
      }),
      handle({ query }) {
        const filter = {
          agentId: query.agent_id ?? null,
          runId: query.run_id ?? null,
          sessionId: query.session_id ?? null,
          ending: query.ending ?? null,
          rating: query.rating ?? null,
          startedFrom: toIso(query.date_from),
          startedBefore: toIso(query.date_to),
        };
        const after = query.cursor === undefined ? null : toCursor(readCursor(query.cursor));
        const { lines, hasMore, total } = pageOfTraces(db, filter, after, query.limit);
        const last = lines.at(-1);
        return {
          traces: lines.map(summaryJson),
          next_cursor: hasMore && last !== undefined ? writeCursor({ at: last.startedAt, id: last.id }) : null,
          has_more: hasMore,
          total_count: total,
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/traces/:id",
      tag: "traces",
      summary: "One trace: its steps, and all of it",
      status: 200,
      response: traceLineShape.omit({ rating: true }).extend({
        steps: z.array(stepShape),
        feedback: z.array(feedbackShape),
        trace: z.looseObject({ traceId: z.string() }).meta({ description: "As export-traces writes it" }),
      }),
      handle({ params }) {
        const trace = getTrace(db, params.id);
        return {
          ...headJson(trace),
          steps: iofoldSteps(withoutHistory(trace)).map((line) => JSON.parse(line)),
          feedback: listFeedback(db, trace.traceId).map(feedbackJson),
          trace,
        };
      },
    }),
  ];
}

function summaryJson({ id, runId, taskId, agentId, sessionId, startedAt, durationMs, ...same }: TraceSummary) {
  return {
    id,
    trace_id: id,
    run_id: runId,
    task_id: taskId,
    agent_id: agentId,
    session_id: sessionId,
    started_at: startedAt,
    duration_ms: durationMs,
    ...same,
  };
}

function headJson(trace: Trace | ChatTrace) {
  const isChat = isChatTrace(trace);
  return {
    id: trace.traceId,
    trace_id: trace.traceId,
    run_id: isChat ? null : trace.runId,
    task_id: isChat ? null : trace.taskId,
    agent_id: trace.agentId,
    session_id: trace.sessionId,
    model: trace.model,
    ending: trace.ending,
    question: askedOf(trace),
    answer: trace.answer,
    started_at: trace.startedAt,
    duration_ms: trace.durationMs,
  };
}

/** Without the messages of earlier chats, which have traces of their own. */
function withoutHistory(trace: Trace | ChatTrace): Trace | ChatTrace {
  if ("task" in trace) return trace;
  return { ...trace, messages: [...trace.messages.slice(0, 1), ...trace.messages.slice(1 + trace.historyLength)] };
}

/** The format of times in traces, so that texts compare in time order. */
function toIso(when: string | undefined): string | null {
  return when === undefined ? null : new Date(when).toISOString();
}

function toCursor({ at, id }: PageEnd): TraceCursor {
  return { startedAt: at, id };
}
