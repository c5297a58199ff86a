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
import { openaiError } from "./openai/openai-error.js";
import { isPage } from "./playground/serve-page.js";
import { isReport } from "./routes/report-links.js";

/** What a server offers. */
export interface Served {
  readonly routes: readonly Route[];
  /** Adds what is no operation of the API. */
  addPages(app: Hono<Env>): void;
  readonly version: string;
  /** Logs an error that is a bug of this program. */
  report(fault: unknown, requestId: string): void;
}

/** The hono app: access checks, the routes, the pages, and the form of errors. */
export function createApp(served: Served, access: Access, write: WriteLog): Hono<Env> {
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
  const readJson = readJsonBody();
  for (const route of served.routes) addRoute(app, route, readJson);
  const document = openapiDocument(app, served.version);
  app.get("/openapi.json", (c) => c.json(document));
  served.addPages(app);

  app.notFound((c) => {
    throw new ApiError("NOT_FOUND", `There is no ${c.req.method} ${c.req.path.slice(0, 200)}. See /openapi.json.`);
  });
  app.onError((thrown, c) => {
    const error = toApiError(thrown);
    const requestId = c.get("requestId");
    if (error.code === "INTERNAL_ERROR") served.report(thrown, requestId);
    const { code, message, details, status } = error;
    if (c.req.path.startsWith("/v1/")) {
      const { body, headers } = openaiError(error, requestId);
      return c.json(body, status, headers);
    }
    return c.json({ error: { code, message, details, request_id: requestId } }, status, { ...error.headers });
  });
  return app;
}
