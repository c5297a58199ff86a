import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import type { z } from "zod";
import { ApiError } from "./api-error.js";
import { toRouteConfig } from "./openapi.js";
import type { Env, Route } from "./route.js";

/** `readJson` puts the body where the route's validator reads it. */
export function addRoute(app: OpenAPIHono<Env>, route: Route, readJson: MiddlewareHandler<Env>): void {
  const config = { ...toRouteConfig(route), middleware: route.body === undefined ? [] : [readJson] };
  const handle = async (c: Context<Env>) => {
    const valid = c.req.valid as (target: "query" | "json") => unknown;
    const response = await route.handle({
      params: c.req.param(),
      query: route.query && valid.call(c.req, "query"),
      body: route.body && valid.call(c.req, "json"),
      requestId: c.get("requestId"),
      header: (name) => c.req.header(name),
      signal: c.req.raw.signal,
      destroyConnection: () => void c.env.outgoing.destroy(),
      log: c.get("log"),
    });
    if (response instanceof Response) return response;
    return route.status === 204 ? c.body(null, 204) : c.json(response as object, route.status);
  };
  app.openapi(config, handle, (result) => {
    if (!result.success) throw validationError(result.target === "query" ? "query" : "body", result.error);
    return undefined;
  });
}

function validationError(part: "query" | "body", error: z.ZodError): ApiError {
  const issues = error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  const [first] = issues;
  const where = first === undefined || first.path === "" ? `The ${part}` : `The ${part}: ${first.path}`;
  return new ApiError("VALIDATION_ERROR", `${where}: ${first?.message}.`, { issues });
}
