import type { MiddlewareHandler } from "hono";
import type { Env, LogFields } from "./route.js";

/** Writes one line of JSON. */
export type WriteLog = (line: Readonly<Record<string, unknown>>) => void;

/**
 * Logs one line a request, once its response was sent or its client has disconnected. Queries and headers are left out,
 * as they may hold secrets.
 */
export function accessLog(write: WriteLog): MiddlewareHandler<Env> {
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
