import { randomUUID } from "node:crypto";
import { Hono } from "hono";
import { cors } from "hono/cors";
import { etag } from "hono/etag";
import { accessLog, type WriteLog } from "./access-log.js";
import { agentRoutes } from "./agent-routes.js";
import { ApiError, toApiError } from "./api-error.js";
import { chatRoutes } from "./chat-routes.js";
import { feedbackRoutes } from "./feedback-routes.js";
import { type Access, checkContentType, checkHost, checkOrigin, checkToken } from "./guard.js";
import { openaiError } from "./openai-error.js";
import { openaiRoutes } from "./openai-routes.js";
import { openapiDocument } from "./openapi.js";
import { addPage, isPage } from "./page.js";
import { placeRoutes } from "./place-routes.js";
import { playgroundSessionRoutes } from "./playground-session-routes.js";
import { isReport, ReportLinks } from "./report-links.js";
import { RequestBodies } from "./request-body.js";
import { responsesRoutes } from "./responses-routes.js";
import { addRoute, type Env, type Route } from "./route.js";
import { runRoutes } from "./run-routes.js";
import type { Services } from "./services.js";
import { sessionRoutes } from "./session-routes.js";
import { toolRoutes } from "./tool-routes.js";
import { traceRoutes } from "./trace-routes.js";
import { versionRoutes } from "./version-routes.js";

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
    ...reports.routes(),
    ...placeRoutes(services),
    ...openaiRoutes(services),
    ...responsesRoutes(services),
  ];
}

/** Everything between a request and its answer: who may ask, the routes, the page, and errors in one form. */
export function createApp(services: Services, access: Access, write: WriteLog): Hono<Env> {
  const app = new Hono<Env>();
  app.use(async (c, next) => {
    const given = c.req.header("x-request-id") ?? "";
    const requestId = /^[\w.-]{1,100}$/.test(given) ? given : `req_${randomUUID()}`;
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
  const bodies = new RequestBodies();
  for (const route of routes) addRoute(app, route, (c) => bodies.readJson(c));
  const document = openapiDocument(routes, services.version);
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
