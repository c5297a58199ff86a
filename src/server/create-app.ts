// Creates the server: routes, pages, access checks and error responses. It does not know the command line.
import { randomUUID } from "node:crypto";
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Hono, MiddlewareHandler } from "hono";
import { compress } from "hono/compress";
import { cors } from "hono/cors";
import { etag } from "hono/etag";
import { isLoopback } from "../platform/http.js";
import { RunSubscriptions } from "../runs/run-progress.js";
import { type Access, checkContentType, checkHost, checkOrigin, checkToken } from "./access.js";
import { ApiError, toApiError } from "./app/api-error.js";
import { type HttpServer, openHttpServer, refuseOpenAddress } from "./app/http-server.js";
import {
  addRoute,
  type Env,
  isOpenaiPath,
  type LogFields,
  openapiDocument,
  type Route,
  readJsonBody,
  type Services,
} from "./app/route.js";
import { addPage, isPage, type PageScope } from "./app/static-pages.js";
import { ListThreads } from "./lists/lists.js";
import { openaiError, openaiRoutes } from "./openai/chat-completions.js";
import { agentRoutes, versionRoutes } from "./routes/agents.js";
import { chatRoutes } from "./routes/chats.js";
import { errorAnalysisRoutes } from "./routes/error-analysis.js";
import { evalRoutes } from "./routes/evals.js";
import { corpusRoutes, mailRoutes, metaRoutes, sessionRoutes } from "./routes/mail.js";
import { playgroundSessionRoutes } from "./routes/playground-sessions.js";
import { runControlRoutes } from "./routes/run-control.js";
import { isReport, ReportLinks, runRoutes } from "./routes/runs.js";
import { toolRoutes } from "./routes/tools.js";
import { feedbackRoutes, labelRoutes, traceRoutes } from "./routes/traces.js";
import { RunStreams, runStreamRoutes } from "./run-page.js";

/** In addition to one connection per chat. */
const MAX_OTHER_CONNECTIONS = 256;

/** Time for aborted chats to send their last events. */
const LAST_EVENTS_MS = 2_000;

export interface Running {
  /** `http://127.0.0.1:8787` */
  readonly url: string;
  /** Stops accepting requests and gives running chats `graceMs` to finish. Resolves when everything is closed. */
  stop(graceMs: number): Promise<void>;
}

/** The routes and pages of a server. */
interface Served {
  readonly routes: readonly Route[];
  readonly scope: PageScope;
  readonly version: string;
  /** Logs an error caused by a bug in this program. */
  report(fault: unknown, requestId: string): void;
}

/** Writes one JSON line. */
type WriteLog = (line: Readonly<Record<string, unknown>>) => void;

/**
 * Starts the server. Port 0 selects any free port. Throws a UserError if the port is in use or the server would be open
 * to others without a token.
 */
export async function startServer(
  opened: Omit<Services, "lists">,
  access: Access,
  port: number,
  write: WriteLog,
): Promise<Running> {
  refuseOpenAddress(access);
  const lists = new ListThreads(opened.db.name);
  const services = { ...opened, lists };
  const { db, chats, report, version } = services;
  // Other processes execute the runs.
  const subscriptions = new RunSubscriptions(
    db,
    () => null,
    (fault) => report(fault, "runs"),
  );
  const streams = new RunStreams(subscriptions, services.stream);
  const reports = new ReportLinks(services);
  const routes = servedRoutes(services, reports, streams);
  const app = createApp({ routes, scope: "all", version, report }, access, write);
  reports.addPage(app);
  const server = await openHttpServer(app, access.host, port, chats.max + MAX_OTHER_CONNECTIONS);
  return {
    url: server.url,
    async stop(graceMs) {
      await server.close(
        graceMs + LAST_EVENTS_MS,
        async () => void (await Promise.all([chats.stop(graceMs), streams.end()])),
      );
      await lists.close();
    },
  };
}

function servedRoutes(services: Services, reports: ReportLinks, streams: RunStreams): Route[] {
  return [
    ...agentRoutes(services),
    ...versionRoutes(services),
    ...playgroundSessionRoutes(services),
    ...chatRoutes(services),
    ...toolRoutes(services),
    ...sessionRoutes(services),
    ...traceRoutes(services),
    ...feedbackRoutes(services),
    ...labelRoutes(services),
    ...errorAnalysisRoutes(services),
    ...evalRoutes(services),
    ...runRoutes(services),
    ...runControlRoutes(services),
    ...runStreamRoutes(services, streams),
    ...corpusRoutes(services),
    ...reports.routes(),
    ...mailRoutes(services),
    ...metaRoutes(services),
    ...openaiRoutes(services),
  ];
}

/** The host of pages that only this machine can reach. */
const LOCAL_HOST = "127.0.0.1";

interface PageServerOptions extends Omit<Served, "routes" | "scope"> {
  /** Port, or 0 for any free port. */
  readonly port: number;
  /** The required token, or null. */
  readonly token: string | null;
}

/** Serves one section of the page on this machine. Throws a UserError if the port is in use. */
export function openPageServer(
  scope: PageScope,
  routes: readonly Route[],
  { version, report, port, token }: PageServerOptions,
): Promise<HttpServer> {
  const access = { host: LOCAL_HOST, token, cors: null };
  const app = createApp({ routes, scope, version, report }, access, () => undefined);
  return openHttpServer(app, LOCAL_HOST, port, MAX_OTHER_CONNECTIONS);
}

/** Creates the hono app: access checks, routes, pages and error responses. */
function createApp(served: Served, access: Access, write: WriteLog): Hono<Env> {
  const app = new OpenAPIHono<Env>();
  app.use(async (c, next) => {
    const sentId = c.req.header("x-request-id") ?? "";
    const requestId = /^[\w.-]{1,100}$/.test(sentId) ? sentId : `req_${randomUUID()}`;
    c.set("requestId", requestId);
    c.header("x-request-id", requestId);
    c.header("x-content-type-options", "nosniff");
    c.header("referrer-policy", "no-referrer");
    await next();
  });
  app.use(accessLog(write));
  // On the same machine, compressing the results of 10,000 tasks takes longer than sending them.
  if (!isLoopback(access.host)) {
    app.get("/api/*", compress());
    app.get("/page/*", compress());
  }
  app.use(checkHost(access));
  if (access.cors !== null) {
    app.use(
      cors({
        origin: access.cors,
        allowMethods: ["GET", "POST", "PATCH", "DELETE"],
        allowHeaders: ["Content-Type", "Authorization", "X-Workspace-Id", "X-Request-Id", "If-None-Match"],
        exposeHeaders: ["X-Request-Id", "Retry-After", "ETag"],
      }),
    );
  }
  app.use(checkOrigin(access));
  const token = checkToken(access);
  app.use((c, next) => (isPage(c.req.path) || isReport(c.req.path) ? next() : token(c, next)));
  app.use(checkContentType());

  app.use("/api/agents/:id/prompt", etag());
  const readJson = readJsonBody();
  for (const route of served.routes) addRoute(app, route, readJson);
  const document = openapiDocument(app, served.version);
  app.get("/openapi.json", (c) => c.json(document));
  addPage(app, served.scope);

  app.notFound((c) => {
    throw new ApiError("NOT_FOUND", `Unknown route ${c.req.method} ${c.req.path.slice(0, 200)}. See /openapi.json.`);
  });
  app.onError((thrown, c) => {
    const error = toApiError(thrown);
    const requestId = c.get("requestId");
    if (error.code === "INTERNAL_ERROR") served.report(thrown, requestId);
    const { code, message, details, status } = error;
    if (isOpenaiPath(c.req.path)) {
      const { body, headers } = openaiError(error, requestId);
      return c.json(body, status, headers);
    }
    return c.json({ error: { code, message, details, request_id: requestId } }, status, { ...error.headers });
  });
  return app;
}

/**
 * Logs one line per request after its response was sent or its client disconnected. Queries and headers are left out
 * because they can contain secrets.
 */
function accessLog(write: WriteLog): MiddlewareHandler<Env> {
  return async (c, next) => {
    const started = performance.now();
    const { outgoing } = c.env;
    const log: LogFields = {};
    c.set("log", log);
    outgoing.once("close", () => {
      write({
        time: new Date().toISOString(),
        level: outgoing.statusCode >= 500 ? "error" : "info",
        request_id: c.get("requestId"),
        method: c.req.method,
        path: c.req.path.slice(0, 500),
        status: outgoing.statusCode,
        ms: Math.round(performance.now() - started),
        ...(outgoing.writableFinished ? {} : { client_left: true }),
        ...log,
      });
    });
    await next();
  };
}
