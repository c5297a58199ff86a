import { randomUUID } from "node:crypto";
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Hono } from "hono";
import { cors } from "hono/cors";
import { etag } from "hono/etag";
import { accessLog, type WriteLog } from "./http/access-log.js";
import { addRoute } from "./http/add-route.js";
import { ApiError, toApiError } from "./http/api-error.js";
import { type Access, checkContentType, checkHost, checkOrigin, checkToken } from "./http/auth.js";
import { openapiDocument } from "./http/openapi.js";
import { readJsonBody } from "./http/request-body.js";
import type { Env, Route } from "./http/route.js";
import type { Services } from "./http/route-services.js";
import { openaiError } from "./openai/openai-error.js";
import { openaiRoutes } from "./openai/openai-routes.js";
import { responsesRoutes } from "./openai/responses-routes.js";
import { chatRoutes } from "./playground/chat-routes.js";
import { playgroundSessionRoutes } from "./playground/playground-session-routes.js";
import { addPage, isPage } from "./playground/serve-page.js";
import { agentRoutes } from "./routes/agent-routes.js";
import { versionRoutes } from "./routes/agent-version-routes.js";
import { corpusRoutes } from "./routes/corpus-routes.js";
import { feedbackRoutes } from "./routes/feedback-routes.js";
import { isReport, ReportLinks } from "./routes/report-links.js";
import { runRoutes } from "./routes/run-routes.js";
import { sessionRoutes } from "./routes/session-routes.js";
import { metaRoutes } from "./routes/status-routes.js";
import { toolRoutes } from "./routes/tool-routes.js";
import { traceRoutes } from "./routes/trace-routes.js";

export function allRoutes(services: Services, reports = new ReportLinks(services)): Route[] {
  return [
    ...agentRoutes(services),
    ...versionRoutes(services),
    ...playgroundSessionRoutes(services),
    ...chatRoutes(services),
    ...toolRoutes(services),
    ...sessionRoutes(services),
    ...traceRoutes(services),
    ...feedbackRoutes(services),
    ...runRoutes(services),
    ...corpusRoutes(services),
    ...reports.routes(),
    ...metaRoutes(services),
    ...openaiRoutes(services),
    ...responsesRoutes(services),
  ];
}

/** The hono app: access checks, the routes, the pages, and the form of errors. */
export function createApp(services: Services, access: Access, write: WriteLog): Hono<Env> {
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
  const reports = new ReportLinks(services);
  const routes = allRoutes(services, reports);
  const readJson = readJsonBody();
  for (const route of routes) addRoute(app, route, readJson);
  const document = openapiDocument(app, services.version);
  app.get("/openapi.json", (c) => c.json(document));
  addPage(app);
  reports.addPage(app);

  app.notFound((c) => {
    throw new ApiError("NOT_FOUND", `There is no ${c.req.method} ${c.req.path.slice(0, 200)}. See /openapi.json.`);
  });
  app.onError((thrown, c) => {
    const error = toApiError(thrown);
    const requestId = c.get("requestId");
    if (error.code === "INTERNAL_ERROR") services.report(thrown, requestId);
    const { code, message, details, status } = error;
    if (c.req.path.startsWith("/v1/")) {
      const { body, headers } = openaiError(error, requestId);
      return c.json(body, status, headers);
    }
    return c.json({ error: { code, message, details, request_id: requestId } }, status, { ...error.headers });
  });
  return app;
}
