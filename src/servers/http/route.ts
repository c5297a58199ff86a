import type { HttpBindings } from "@hono/node-server";
import type { z } from "zod";

/** Fields that a handler adds to the request's line in the access log. */
export type LogFields = Record<string, string | number | boolean | null>;

export interface Env {
  Bindings: HttpBindings;
  Variables: { requestId: string; log: LogFields };
}

/** A validated request. */
export interface RouteRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly requestId: string;
  /** Undefined where the request has none of this name. */
  readonly header: (name: string) => string | undefined;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Closes the connection without an answer. */
  readonly destroyConnection: () => void;
  readonly log: LogFields;
}

/** One operation of the API: what is validated, and what the OpenAPI document says of it. */
export interface Route<Params = unknown, Query = unknown, Body = unknown> {
  readonly method: "get" | "post" | "patch" | "delete";
  /** `/api/agents/:id` */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly query?: z.ZodType<Query>;
  readonly body?: z.ZodType<Body>;
  readonly status: 200 | 201 | 204;
  /** Null: no JSON body. */
  readonly response: z.ZodType | null;
  /** The data of each event, where the response is (or may be) a stream of server-sent events. */
  readonly events?: z.ZodType;
  /** The form of errors; ours where undefined. */
  readonly errors?: "openai";
  handle(request: RouteRequest<Params, Query, Body>): unknown;
}

/** Checks that a route's types fit together, then erases them, so that all routes fit in one list. */
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
