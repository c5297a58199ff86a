// Routes for mailboxes, emails, sessions, models, and the corpus copy that queue workers fetch.
import { z } from "zod";
import { listAgents } from "../../agents/registry-store.js";
import { corpusDescriptionSchema } from "../../mail/corpus-transfer.js";
import type { Message } from "../../models/model.js";
import { parseListQuery } from "../../store/list-query.js";
import { getMail } from "../../tools/search-mailbox.js";
import { type ChatSession, getSession, sessionMessages } from "../../traces/chats-store.js";
import { SESSION_FIELDS } from "../../traces/list-fields.js";
import { ApiError } from "../app/api-error.js";
import { defineRoute, offsetQuery, type Route, type Services, searchQuery, sendFile } from "../app/route.js";
import {
  inboxesShape,
  mailShape,
  messageShape,
  modelsShape,
  sessionPageShape,
  sessionShape,
  snakeKeys,
} from "../response-shapes.js";

/** Available mailboxes and models, and the health check. */
export function metaRoutes({ db, lists, models, chats, version }: Services): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/inboxes",
      tag: "mail",
      summary: "List the imported mailboxes with the dates of their email and example questions",
      status: 200,
      response: inboxesShape,
      handle: async () => snakeKeys(await lists.read("inboxes", null)),
    }),
    defineRoute({
      method: "get",
      path: "/api/models",
      tag: "models",
      summary: "List one example model per configured provider (other models of these providers work too)",
      status: 200,
      response: modelsShape,
      handle: () => ({ models: models.examples(), default_model: models.fallback() }),
    }),
    defineRoute({
      method: "get",
      path: "/api/health",
      tag: "health",
      summary: "Check that the server and its database respond",
      status: 200,
      response: z.strictObject({ status: z.literal("ok"), version: z.string(), chats: z.number().int() }),
      handle() {
        listAgents(db);
        return { status: "ok", version, chats: chats.count };
      },
    }),
  ];
}

export function sessionRoutes({ db, lists }: Services): Route[] {
  const tag = "sessions";
  return [
    defineRoute({
      method: "get",
      path: "/api/sessions",
      tag,
      summary: "List sessions, the one with the newest question first, or sorted",
      query: z.strictObject({ ...searchQuery(SESSION_FIELDS), ...offsetQuery }),
      status: 200,
      response: sessionPageShape,
      async handle({ query: { q, ...page } }) {
        const { sessions, total } = await lists.read("sessions", { terms: parseListQuery(q, SESSION_FIELDS), ...page });
        const has_more = page.offset + sessions.length < total;
        return { sessions: sessions.map(sessionJson), has_more, total_count: total };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/sessions/:id",
      tag,
      summary: "Get a session with its messages",
      status: 200,
      response: sessionShape.extend({ messages: z.array(messageShape) }),
      handle: ({ params }) => ({
        ...sessionJson(getSession(db, params.id)),
        messages: sessionMessages(db, params.id).map(messageJson),
      }),
    }),
  ];
}

function sessionJson({ inbox, ...session }: ChatSession) {
  return { ...snakeKeys(session), inbox_address: inbox };
}

function messageJson(message: Message) {
  const { role, content } = message;
  if (role === "tool") return { role, content, tool_call_id: message.toolCallId, is_error: message.isError };
  if (role !== "assistant" || message.toolCalls.length === 0) return { role, content };
  const calls = message.toolCalls.map((call) => ({ id: call.id, tool_name: call.name, arguments: call.arguments }));
  return { role, content, tool_calls: calls };
}

export function mailRoutes({ db }: Pick<Services, "db">): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/mails/:id",
      tag: "mail",
      summary: "Get an email by its Message-ID",
      status: 200,
      response: mailShape,
      handle({ params }) {
        const { messageId, subject, sender, to, cc, bcc, date, body } = getMail(db, params.id);
        return { message_id: messageId, subject, sender, to, cc, bcc, date, body };
      },
    }),
  ];
}

/** The server's mail for workers on other machines. It never contains runs, chats or agents. */
export function corpusRoutes({ corpus }: Services): Route[] {
  const tag = "corpus";
  return [
    defineRoute({
      method: "get",
      path: "/api/corpus",
      tag,
      summary: "Describe the mail and its corpus copy, a compressed database that is created on the first request",
      status: 200,
      response: corpusDescriptionSchema,
      handle: () => corpus.describe(),
    }),
    defineRoute({
      method: "get",
      path: "/api/corpus/:fingerprint/snapshot",
      tag,
      summary: "Download the corpus copy (gzip; Range with If-Range continues a download)",
      status: 200,
      response: null,
      async handle({ params, header }) {
        const copy = await corpus.open(params.fingerprint);
        if (copy === null) throw new ApiError("NOT_FOUND", "Unknown corpus copy. See /api/corpus.");
        const { path, file } = copy;
        return sendFile({ path, bytes: file.bytes, type: "application/gzip", etag: `"${file.sha256}"` }, header);
      },
    }),
  ];
}
