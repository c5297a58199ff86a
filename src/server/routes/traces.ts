// Routes for traces, labels and feedback.
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { notesOfTrace } from "../../error-analysis/coding.js";
import { criterionNameSchema, OVERALL, sentenceSchema, writeCriterion } from "../../evals/criteria.js";
import { summarizeLabels } from "../../evals/label-agreement.js";
import { saveGivenLabel } from "../../evals/labeling.js";
import { deletePersonLabel, labelsOfTrace, withValidDraw } from "../../evals/labels.js";
import { SCORES } from "../../scoring/scorers.js";
import { parseListQuery } from "../../store/list-query.js";
import type { Db } from "../../store/open-store.js";
import { iofoldSteps } from "../../trace-formats/formats.js";
import {
  deleteFeedback,
  getFeedback,
  listFeedback,
  pageOfFeedback,
  RATINGS,
  saveFeedback,
  updateFeedback,
} from "../../traces/feedback-store.js";
import { TRACE_FIELDS } from "../../traces/list-fields.js";
import { getRun } from "../../traces/runs-store.js";
import { askedOf, type ChatTrace, type Trace } from "../../traces/trace.js";
import { getTrace, type TraceSummary } from "../../traces/traces-store.js";
import { ApiError } from "../app/api-error.js";
import { cursorQuery, defineRoute, pageEnd, type Route, readCursor, type Services, searchQuery } from "../app/route.js";
import { repeatedTask } from "../chat/repeated-task.js";
import {
  feedbackShape,
  judgmentsShape,
  labelQueueShape,
  repeatShape,
  savedLabelShape,
  snakeKeys,
  traceDetailsShape,
  tracePageShape,
} from "../response-shapes.js";

const listQuery = z.strictObject({
  ...searchQuery(TRACE_FIELDS),
  run_id: z.string().optional().meta({ description: "Only traces of this run" }),
  session_id: z.string().optional().meta({ description: "Only traces of this chat session" }),
  ...cursorQuery,
});

export function traceRoutes({ db, lists }: Pick<Services, "db" | "lists">): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/traces",
      tag: "traces",
      summary: "List traces of runs and chats, newest first",
      query: listQuery,
      status: 200,
      response: tracePageShape,
      async handle({ query }) {
        const { q, sort, limit, run_id: run, session_id: session } = query;
        const given = { run, session };
        const ids = Object.entries(given).flatMap(([field, value]) =>
          value === undefined ? [] : [{ field, operator: "=" as const, value }],
        );
        const terms = [...ids, ...parseListQuery(q, TRACE_FIELDS)];
        const cursor = readCursor(query.cursor);
        const isSorted = sort !== "";
        const before = isSorted ? Number(cursor?.at ?? 0) || 0 : null;
        const after = isSorted ? before : cursor && { startedAt: cursor.at, id: cursor.id };
        const { lines, hasMore, total } = await lists.read("traces", { terms, sort, limit, after });
        const last = lines.at(-1);
        const at = before === null ? last?.startedAt : String(before + lines.length);
        return {
          traces: lines.map(traceSummaryJson),
          ...pageEnd(hasMore, last && at !== undefined ? { at, id: last.id } : undefined),
          total_count: total,
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/traces/:id/judgments",
      tag: "traces",
      summary: "Get the labels and coding notes of a trace",
      status: 200,
      response: judgmentsShape,
      handle: ({ params }) => judgmentsJson(db, getTrace(db, params.id).traceId),
    }),
    defineRoute({
      method: "get",
      path: "/api/traces/:id/repeat",
      tag: "traces",
      summary: "Get the recorded agent and question of a trace, with which the playground can repeat it",
      status: 200,
      response: repeatShape,
      handle({ params }) {
        const { trace, agent, agentVersion, model, modelServer } = repeatedTask(db, params.id);
        const { prompt, settings } = agent;
        return {
          trace_id: trace.traceId,
          agent_id: agent.id,
          agent_version: agentVersion,
          model,
          base_url: modelServer?.baseUrl ?? null,
          prompt,
          settings,
          inbox: trace.kind === "chat" ? trace.inbox : trace.task.inbox_address,
          query_date: trace.kind === "chat" ? trace.queryDate : trace.task.query_date,
          question: askedOf(trace),
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/traces/:id",
      tag: "traces",
      summary: "Get a trace, with its steps and in full",
      status: 200,
      response: traceDetailsShape,
      handle({ params }) {
        const trace = getTrace(db, params.id);
        return {
          ...headJson(trace),
          scores: Object.entries(trace.scores).map(([name, { value, explanation = null }]) => {
            return { name, label: labelOf(name), value, explanation };
          }),
          steps: iofoldSteps(trace).map((line) => JSON.parse(line)),
          feedback: listFeedback(db, trace.traceId).map(snakeKeys),
          ...judgmentsJson(db, trace.traceId),
          trace,
        };
      },
    }),
  ];
}

/** What people and models said about a trace. */
function judgmentsJson(db: Db, traceId: string) {
  return {
    labels: labelsOfTrace(db, traceId).map(snakeKeys),
    notes: notesOfTrace(db, traceId).map(snakeKeys),
  };
}

function labelOf(score: string): string {
  return SCORES[score]?.label ?? score;
}

function traceSummaryJson({ score, ...summary }: TraceSummary) {
  return {
    ...snakeKeys(summary),
    trace_id: summary.id,
    score: score && { ...score, label: labelOf(score.scorer) },
  };
}

function headJson(trace: Trace | ChatTrace) {
  const isChat = trace.kind === "chat";
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

const criterion = criterionNameSchema.default(OVERALL).meta({ description: "Criterion that the labels are for" });

const queuedTrace = labelQueueShape.shape.queue.element.shape;

const annotator = z.string().trim().min(1).max(100).optional().meta({ description: "Person who labels, if known" });

/** Maximum queue entries, because labels change the order of the rest. */
const MAX_QUEUED = 200;

export function labelRoutes({ db, lists }: Services): Route[] {
  const tag = "evals";
  return [
    defineRoute({
      method: "get",
      path: "/api/evals/label-queue",
      tag,
      summary: "List traces to label: unlabeled ones in random order, and some labeled ones to label again",
      query: z.object({
        run_id: z
          .string()
          .min(1)
          .optional()
          .meta({ description: "Run id, or latest. If absent, lists traces of chats" }),
        criterion,
        limit: z.coerce.number().int().min(1).max(MAX_QUEUED).default(50),
        seed: z.coerce.number().int().min(0).max(2_147_483_647).default(1),
        annotator,
        order: z.enum(["random", "enriched", "disagreements", "confirm"]).default("random").meta({
          description:
            "enriched: likely failures have a higher probability, by which all figures weight the labels. disagreements: traces that annotators labeled differently. confirm: traces whose coding notes say that they have the mode",
        }),
      }),
      status: 200,
      response: labelQueueShape,
      async handle({ query }) {
        const { run_id: run = null, order, annotator = null, ...options } = query;
        const adjudicate = order === "disagreements";
        const { runId, sentence, waiting, queue } = await lists.read("tracesToLabel", {
          run,
          enriched: order === "enriched",
          adjudicate,
          confirm: order === "confirm",
          annotator,
          ...options,
        });
        return {
          run_id: runId,
          run_name: runId === null ? null : getRun(db, runId).name,
          sentence,
          waiting,
          queue: queue.map(({ labels = [], ...trace }) => ({
            ...snakeKeys(trace),
            basis: adjudicate ? "adjudicated" : "direct",
            labels,
          })),
          ...summaryJson(db, options.criterion),
        };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/evals/labels",
      tag,
      summary: "Label a trace",
      body: withValidDraw(
        z.object({
          trace_id: z.string().min(1),
          criterion,
          label: z.enum(["good", "bad", "skip"]),
          note: z.string().max(10_000).nullish().meta({ description: "Reason for the label" }),
          is_repeat: z.boolean().default(false).meta({ description: "Whether the trace was labeled before" }),
          drawn: queuedTrace.drawn.default("unknown"),
          drawn_from: queuedTrace.drawn_from.default(null),
          probability: queuedTrace.probability.default(null),
          basis: queuedTrace.basis.default("direct"),
          annotator,
          seen: z
            .number()
            .int()
            .nullable()
            .default(null)
            .meta({ description: "Id of the label to replace. Otherwise, an existing label leads to a conflict" }),
        }),
      ),
      status: 201,
      response: savedLabelShape,
      handle({ body }) {
        const { trace_id: traceId, is_repeat: isRepeat, drawn_from: drawnFrom, annotator = null } = body;
        const { criterion, label, drawn, probability, basis, seen } = body;
        const note = body.note?.trim() || null;
        const given = { traceId, criterion, label, note, annotator, isRepeat, drawn, drawnFrom, probability, basis };
        const id = saveGivenLabel(db, given, seen);
        return { id, ...summaryJson(db, body.criterion) };
      },
    }),
    defineRoute({
      method: "patch",
      path: "/api/evals/criteria/:name",
      tag,
      summary: "Describe a criterion",
      body: z.object({ sentence: sentenceSchema.meta({ description: "Property of a good trace, in one sentence" }) }),
      status: 200,
      response: z.object({ name: z.string(), sentence: z.string() }),
      handle({ params, body }) {
        const { data: name, error } = criterionNameSchema.safeParse(params.name);
        if (name === undefined) throw new ApiError("VALIDATION_ERROR", error.issues[0]?.message ?? "");
        writeCriterion(db, name, body.sentence);
        return { name, sentence: body.sentence };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/evals/labels/:id",
      tag,
      summary: "Delete a label by a person",
      status: 204,
      response: null,
      handle({ params }) {
        if (!/^\d{1,15}$/.test(params.id) || !deletePersonLabel(db, Number(params.id))) {
          throw new ApiError("NOT_FOUND", `Unknown label "${params.id.slice(0, 100)}" by a person.`);
        }
      },
    }),
  ];
}

function summaryJson(db: Db, criterion: string) {
  const { drawn: _, resolved: __, ...summary } = summarizeLabels(db, criterion);
  return snakeKeys(summary);
}

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
        return snakeKeys(getFeedback(db, id));
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/feedback",
      tag,
      summary: "List feedback on all answers, or on the answers of a trace or an agent, newest first",
      query: z.object({
        trace_id: z.string().min(1).optional(),
        agent_id: z.string().min(1).optional(),
        rating: z.enum(RATINGS).optional(),
        ...cursorQuery,
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
        const { lines, hasMore } = pageOfFeedback(db, filter, readCursor(query.cursor), query.limit);
        const last = lines.at(-1);
        return {
          feedback: lines.map(snakeKeys),
          ...pageEnd(hasMore, last && { at: last.createdAt, id: last.id }),
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
        return snakeKeys(getFeedback(db, before.id));
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
