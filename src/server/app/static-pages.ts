import type { Hono } from "hono";
import { z } from "zod";
import { findAgent, getAgent } from "../../agents/registry-store.js";
import { readBuiltFile } from "../../platform/installation.js";
import { deleteSession, pageOfSessions, type SessionDetails, sessionOfAgent } from "../../traces/chats-store.js";
import type { ChatTrace } from "../../traces/trace.js";
import { answerText } from "../openai/chat-completions.js";
import { versionId } from "../routes/agents.js";
import { defineRoute, type Env, offsetQuery, type Route, type Services } from "./route.js";

interface PageFile {
  readonly type: string;
  read(): string;
}

const PAGE = "/";

const FILES: ReadonlyMap<string, PageFile> = new Map([
  [PAGE, { type: "text/html", read: () => readBuiltFile("web/playground/index.html") }],
  ["/page/page.css", { type: "text/css", read: readStyle }],
  ["/page/main.js", { type: "text/javascript", read: () => readBuiltFile("web/playground.js") }],
]);

/** The page can load, execute and request only files of this server, and cannot be framed. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sections of the page: the entire playground, the page of one run, or the page of a review. */
type PageScope = "all" | "run" | "review";

export function addPage(app: Hono<Env>, scope: PageScope): void {
  for (const [path, { type, read }] of FILES) {
    const content = path === PAGE ? read().replace('data-scope="all"', `data-scope="${scope}"`) : read();
    const headers = { "content-type": `${type}; charset=utf-8`, "content-security-policy": POLICY };
    app.get(path, (c) => c.body(content, 200, { ...headers, "cache-control": "no-cache" }));
  }
}

/** The page's files contain no data and therefore require no token. */
export function isPage(path: string): boolean {
  return FILES.has(path);
}

function readStyle(): string {
  const own = ["page", "run", "review"].map((name) => `web/playground/${name}.css`);
  return ["web/theme.css", ...own].map(readBuiltFile).join("");
}

/** Sessions in camel case, as clients of the playground API expect them. */

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
          variables: {
            ...(inbox === null ? {} : { inbox_address: inbox }),
            ...(queryDate === null ? {} : { query_date: queryDate }),
          },
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
