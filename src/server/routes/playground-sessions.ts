// Chat sessions in the playground API. Its clients expect camel case.
import { z } from "zod";
import { findAgent, getAgent } from "../../agents/registry-store.js";
import { presentProperties } from "../../platform/optional-values.js";
import { deleteSession, pageOfSessions, type SessionDetails, sessionOfAgent } from "../../traces/chats-store.js";
import type { ChatTrace } from "../../traces/trace.js";
import { defineRoute, offsetQuery, type Route, type Services } from "../app/route.js";
import { answerText } from "../openai/chat-completions.js";
import { versionId } from "./agents.js";

const lineShape = z.strictObject({
  id: z.string(),
  agentVersionId: z.string(),
  modelProvider: z.string(),
  modelId: z.string(),
  messageCount: z.number().int(),
  createdAt: z.string(),
  updatedAt: z.string(),
});

const pageShape = z.strictObject({
  total: z.number().int(),
  limit: z.number().int(),
  offset: z.number().int(),
  hasMore: z.boolean(),
});

const toolCallShape = z.strictObject({ id: z.string(), name: z.string(), args: z.string(), result: z.string() });

const messageShape = z.strictObject({
  id: z.string(),
  role: z.enum(["user", "assistant"]),
  content: z.string(),
  timestamp: z.string(),
  traceId: z.string().optional(),
  toolCalls: z.array(toolCallShape).optional().meta({ description: "args and result are JSON strings" }),
});

const pageQuery = z.object(offsetQuery);

export function playgroundSessionRoutes({ db }: Services): Route[] {
  const tag = "playground";
  const page = (agentId: string | null, { limit, offset }: z.output<typeof pageQuery>) => {
    const { sessions, total } = pageOfSessions(db, agentId, offset, limit);
    return { sessions, pagination: { total, limit, offset, hasMore: offset + sessions.length < total } };
  };
  return [
    defineRoute({
      method: "get",
      path: "/api/playground/sessions",
      tag,
      summary: "List the sessions of all agents, newest first",
      query: pageQuery,
      status: 200,
      response: z.strictObject({
        sessions: z.array(lineShape.extend({ agentId: z.string(), agentName: z.string() })),
        pagination: pageShape,
      }),
      handle({ query }) {
        const { sessions, pagination } = page(null, query);
        const withNames = sessions.map((session) => {
          const { agentId } = session;
          return { ...sessionLine(session), agentId, agentName: findAgent(db, agentId)?.name ?? agentId };
        });
        return { sessions: withNames, pagination };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/agents/:id/playground/sessions",
      tag,
      summary: "List the sessions of an agent, newest first",
      query: pageQuery,
      status: 200,
      response: z.strictObject({ sessions: z.array(lineShape), pagination: pageShape }),
      handle({ params, query }) {
        const { sessions, pagination } = page(getAgent(db, params.id).id, query);
        return { sessions: sessions.map(sessionLine), pagination };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/agents/:id/playground/sessions/:sessionId",
      tag,
      summary: "Get a session of an agent with its messages",
      status: 200,
      response: lineShape.omit({ messageCount: true }).extend({
        workspaceId: z.string(),
        agentId: z.string(),
        messages: z.array(messageShape),
        variables: z.record(z.string(), z.string()),
        files: z.record(z.string(), z.string()),
      }),
      handle({ params }) {
        const { session, traces } = sessionOfAgent(db, params.id, params.sessionId);
        const { messageCount: _, ...line } = sessionLine(session);
        const { agentId, inbox, queryDate } = session;
        return {
          ...line,
          workspaceId: "default",
          agentId,
          messages: traces.flatMap(messagesOf),
          variables: presentProperties({ inbox_address: inbox, query_date: queryDate }),
          files: {},
        };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/agents/:id/playground/sessions/:sessionId",
      tag,
      summary: "Delete a session but not its traces",
      status: 204,
      response: null,
      handle: ({ params }) => deleteSession(db, sessionOfAgent(db, params.id, params.sessionId).session.id),
    }),
  ];
}

function sessionLine({ id, agentId, agentVersion, model, chats, createdAt, updatedAt }: SessionDetails) {
  return {
    id,
    agentVersionId: versionId(agentId, agentVersion),
    modelProvider: model.split("/", 1)[0] ?? "",
    modelId: model,
    messageCount: 2 * chats,
    createdAt,
    updatedAt,
  };
}

/** The question of a chat, and its answer with the preceding tool calls. */
function messagesOf(trace: ChatTrace): z.output<typeof messageShape>[] {
  const { traceId, question, startedAt, endedAt, toolCalls } = trace;
  const calls = toolCalls.map((call) => ({
    id: call.id,
    name: call.name,
    args: JSON.stringify(call.arguments),
    result: typeof call.result === "string" ? call.result : JSON.stringify(call.result ?? { error: call.error }),
  }));
  return [
    { id: `${traceId}_question`, role: "user", content: question, timestamp: startedAt },
    {
      id: `${traceId}_answer`,
      role: "assistant",
      content: answerText(trace).text,
      timestamp: endedAt,
      traceId,
      ...(calls.length === 0 ? {} : { toolCalls: calls }),
    },
  ];
}
