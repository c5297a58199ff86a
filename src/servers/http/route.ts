import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import type { z } from "zod";
import { ApiError } from "./api-error.js";

/** What one request adds to its line in the log. */
export type LogFields = Record<string, string | number | boolean | null>;

export interface Env {
  Bindings: HttpBindings;
  Variables: { requestId: string; log: LogFields };
}

/** A request as its handler sees it: every part checked. */
export interface RouteRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly requestId: string;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  /** Ends the connection without a word. */
  readonly cut: () => void;
  readonly log: LogFields;
}

/** One path of the API: what the router checks, and what the OpenAPI document says of it. */
export interface Route<Params = unknown, Query = unknown, Body = unknown> {
  readonly method: "get" | "post" | "patch" | "delete";
  /** `/api/agents/:id` */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly query?: z.ZodType<Query>;
  readonly body?: z.ZodType<Body>;
  readonly status: 200 | 201 | 204;
  /** Null: no body, or events. */
  readonly response: z.ZodType | null;
  /** Each event's data, where the answer is (or may be) a stream of server-sent events. */
  readonly events?: z.ZodType;
  /** In whose form errors are told. */
  readonly errors?: "openai";
  handle(asked: RouteRequest<Params, Query, Body>): unknown;
}

/** Ties a route's types together and then forgets them, so that all stand in one table. */
export function defineRoute<const Path extends string, Query = unknown, Body = unknown>(
  route: Route<ParamsOf<Path>, Query, Body> & { readonly path: Path },
): Route {
  return route as unknown as Route;
}

type ParamsOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [K in Name | keyof ParamsOf<`/${Rest}`>]: string }
  : Path extends `${string}:${infer Name}`
    ? { readonly [K in Name]: string }
    : Record<never, string>;

export function addRoute(app: Hono<Env>, route: Route, readJson: (c: Context<Env>) => Promise<unknown>): void {
  app.on(route.method, route.path, async (c) => {
    const query = check(route.query, c.req.query(), "query");
    const body = route.body === undefined ? undefined : check(route.body, await readJson(c), "body");
    const answer = await route.handle({
      params: c.req.param(),
      query,
      body,
      requestId: c.get("requestId"),
      signal: c.req.raw.signal,
      cut: () => void c.env.outgoing.destroy(),
      log: c.get("log"),
    });
    if (answer instanceof Response) return answer;
    return route.status === 204 ? c.body(null, 204) : c.json(answer as object, route.status);
  });
}

function check<T>(schema: z.ZodType<T> | undefined, value: unknown, part: "query" | "body"): T | undefined {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  const [first] = issues;
  const where = first === undefined || first.path === "" ? `The ${part}` : `The ${part}: ${first.path}`;
  throw new ApiError("VALIDATION_ERROR", `${where}: ${first?.message}.`, { issues });
}
