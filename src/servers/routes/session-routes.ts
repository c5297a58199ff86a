import { z } from "zod";
import type { Message } from "../../domain/models/conversation.js";
import type { ChatSession } from "../../domain/runs/chat.js";
import { getSession, listSessions, sessionMessages } from "../../store/chats/sessions.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";
import { messageShape, sessionShape } from "./response-schemas.js";

export function sessionRoutes({ db }: Services): Route[] {
  const tag = "sessions";
  return [
    defineRoute({
      method: "get",
      path: "/api/sessions",
      tag,
      summary: "Sessions, newest first",
      query: z.object({
        agent_id: z.string().optional(),
        limit: z.coerce.number().int().min(1).max(200).default(50),
        offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
      }),
      status: 200,
      response: z.strictObject({
        sessions: z.array(sessionShape),
        has_more: z.boolean(),
        total_count: z.number().int(),
      }),
      handle({ query: { agent_id = null, offset, limit } }) {
        const { sessions, total } = listSessions(db, agent_id, offset, limit);
        const lines = sessions.map(({ chats, question, ...session }) => ({ ...sessionJson(session), chats, question }));
        return { sessions: lines, has_more: offset + lines.length < total, total_count: total };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/sessions/:id",
      tag,
      summary: "One session, with what has been said in it",
      status: 200,
      response: sessionShape.extend({ messages: z.array(messageShape) }),
      handle: ({ params }) => ({
        ...sessionJson(getSession(db, params.id)),
        messages: sessionMessages(db, params.id).map(messageJson),
      }),
    }),
  ];
}

function sessionJson({ id, agentId, inbox, queryDate, createdAt, updatedAt }: ChatSession) {
  return {
    id,
    agent_id: agentId,
    inbox_address: inbox,
    query_date: queryDate,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}

function messageJson(message: Message) {
  const { role, content } = message;
  if (role === "tool") return { role, content, tool_call_id: message.toolCallId, is_error: message.isError };
  if (role !== "assistant" || message.toolCalls.length === 0) return { role, content };
  const calls = message.toolCalls.map((call) => ({ id: call.id, tool_name: call.name, arguments: call.arguments }));
  return { role, content, tool_calls: calls };
}
