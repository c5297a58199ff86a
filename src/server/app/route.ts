// Defines routes with their validation and OpenAPI documentation, and reads bodies, pages and ranges.
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import type { HttpBindings } from "@hono/node-server";
import type { OpenAPIHono, RouteConfig } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { z } from "zod";
import type { CorpusCopies } from "../../mail/corpus-transfer.js";
import { ByteBudget, readBody } from "../../platform/byte-budget.js";
import { jsonDepth, MAX_JSON_DEPTH } from "../../platform/json.js";
import { exampleOf, type ListFields } from "../../store/list-query.js";
import type { ChatServices } from "../chat-services.js";
import type { Lists } from "../lists/lists.js";
import { errorShape, openaiErrorShape } from "../response-shapes.js";
import { ApiError } from "./api-error.js";
import type { StreamLimits } from "./sse-writer.js";

interface FileToSend {
  readonly path: string;
  readonly bytes: number;
  readonly type: string;
  /** A strong ETag, which is equal only for equal bytes. */
  readonly etag: string;
}

/** Resources shared by all requests of a server. */
export interface Services extends ChatServices {
  readonly version: string;
  readonly stream: StreamLimits;
  readonly corpus: CorpusCopies;
  readonly lists: Lists;
  /**
   * Whether clients can create tools that run programs on this machine, read the environment or reach private
   * addresses.
   */
  readonly allowPrograms: boolean;
  /** Folder with the sockets of runs on this machine. */
  readonly cacheDir: string;
  /** Logs an error caused by a bug in this program. */
  report(fault: unknown, requestId: string): void;
}

/** The last line of a page in a list ordered by time and id. */
interface PageEnd {
  readonly at: string;
  readonly id: string;
}

/** Fields that a handler adds to the request's line in the access log. */
export type LogFields = Record<string, string | number | boolean | null>;

export interface Env {
  Bindings: HttpBindings;
  Variables: { requestId: string; log: LogFields };
}

/** A validated request. */
interface RouteRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly requestId: string;
  /** Returns undefined if the request does not have the header. */
  readonly header: (name: string) => string | undefined;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Closes the connection without an answer. */
  readonly destroyConnection: () => void;
  readonly log: LogFields;
}

/** An operation of the API, with its validation and OpenAPI documentation. */
export interface Route<Params = unknown, Query = unknown, Body = unknown> {
  readonly method: "get" | "post" | "patch" | "delete";
  /** `/api/agents/:id` */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly query?: z.ZodType<Query>;
  readonly body?: z.ZodType<Body>;
  readonly status: 200 | 201 | 204;
  /** Null for a response without a JSON body. */
  readonly response: z.ZodType | null;
  /** The data of each event, if the response can be a stream of server-sent events. */
  readonly events?: z.ZodType;
  handle(request: RouteRequest<Params, Query, Body>): unknown;
}

type ParamsOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [K in Name | keyof ParamsOf<`/${Rest}`>]: string }
  : Path extends `${string}:${infer Name}`
    ? { readonly [K in Name]: string }
    : Record<never, string>;

/**
 * Sends a file, or the rest of it if the request continues a download of the same file (Range with If-Range,
 * https://www.rfc-editor.org/rfc/rfc9110#name-range-requests).
 */
export function sendFile(
  { path, bytes, type, etag }: FileToSend,
  header: (name: string) => string | undefined,
): Response {
  const headers = { "content-type": type, etag, "accept-ranges": "bytes" };
  const start = askedStart(header, etag);
  if (start !== null && start >= bytes) {
    return new Response(null, { status: 416, headers: { ...headers, "content-range": `bytes */${bytes}` } });
  }
  const body = Readable.toWeb(createReadStream(path, { start: start ?? 0 })) as ReadableStream;
  const length = { "content-length": String(bytes - (start ?? 0)) };
  if (start === null) return new Response(body, { status: 200, headers: { ...headers, ...length } });
  const range = { "content-range": `bytes ${start}-${bytes - 1}/${bytes}` };
  return new Response(body, { status: 206, headers: { ...headers, ...length, ...range } });
}

/**
 * Returns null for the entire file. Only ranges up to the end of the file are supported. A server is allowed to ignore
 * others.
 */
function askedStart(header: (name: string) => string | undefined, etag: string): number | null {
  const [, start] = /^bytes=(\d+)-$/.exec(header("range") ?? "") ?? [];
  const condition = header("if-range");
  return start === undefined || (condition !== undefined && condition !== etag) ? null : Number(start);
}

const MAX_BODY_BYTES = 4_000_000;

/** Maximum total of all bodies that are being received, so that many incomplete ones cannot fill the memory. */
const MAX_RECEIVING_BYTES = 32_000_000;

/** Bytes of each body that do not count toward that total. */
const FREE_BYTES = 64_000;

/**
 * Reads a JSON body for the validators after it. Throws an ApiError if it is too large, breaks off, is not JSON or is
 * nested too deep. hono's bodyLimit limits each body. This middleware also limits the total of all bodies being
 * received.
 */
export function readJsonBody(): MiddlewareHandler<Env> {
  const budget = new ByteBudget(MAX_RECEIVING_BYTES, FREE_BYTES);
  return async (c, next) => {
    const text = await bodyOf(c, budget);
    parseJson(text, "The body");
    // hono stores promises here. The validator's c.req.json() parses this text.
    Object.assign(c.req.bodyCache, { text: Promise.resolve(text) });
    await next();
  };
}

async function bodyOf(c: Context<Env>, budget: ByteBudget): Promise<string> {
  if (Number(c.req.header("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const body = await readBody(c.env.incoming, MAX_BODY_BYTES, budget).catch(() => {
    throw new ApiError("VALIDATION_ERROR", "The body was not received completely.");
  });
  if (body === "too_large") throw tooLarge();
  if (body === "no_room") {
    const headers = { "retry-after": "2", connection: "close" };
    throw new ApiError("OVERLOADED", "The server is receiving too many large requests.", null, headers);
  }
  return body.text;
}

/** Throws an ApiError if the text is not JSON or is nested too deep. */
export function parseJson(text: string, what: string): unknown {
  if (jsonDepth(text) > MAX_JSON_DEPTH) {
    throw new ApiError("VALIDATION_ERROR", `${what} is nested more than ${MAX_JSON_DEPTH} levels deep.`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError("VALIDATION_ERROR", `${what} is not JSON.`);
  }
}

function tooLarge(): ApiError {
  return new ApiError("PAYLOAD_TOO_LARGE", `The body is too large (maximum: ${MAX_BODY_BYTES} bytes).`);
}

const limit = z.coerce.number().int().min(1).max(200).default(50);

/** Query of a list with offsets. */
export const offsetQuery = { limit, offset: z.coerce.number().int().min(0).max(10_000_000).default(0) };

/** Query of a list that the database searches and sorts. */
export function searchQuery(fields: ListFields) {
  const examples = Object.entries(fields).map(([name, field]) => exampleOf(name, field));
  return {
    q: z
      .string()
      .max(2_000)
      .default("")
      .meta({ description: `Words and conditions that must all hold. Conditions: ${examples.join(", ")}` }),
    sort: z
      .string()
      .max(50)
      .default("")
      .meta({ description: "Name of such a condition's field to sort by, after - for descending order" }),
  };
}

/** Query of a list with cursors. */
export const cursorQuery = {
  cursor: z.string().max(500).optional().meta({ description: "next_cursor of the previous page" }),
  limit,
};

/** Returns the fields about the following pages. `last` is the last line of this page. */
export function pageEnd(hasMore: boolean, last: PageEnd | undefined) {
  const cursor = hasMore && last !== undefined ? JSON.stringify([last.at, last.id]) : null;
  return { next_cursor: cursor && Buffer.from(cursor).toString("base64url"), has_more: hasMore };
}

/** Returns null for the start of the list. */
export function readCursor(cursor: string | undefined): PageEnd | null {
  if (cursor === undefined) return null;
  try {
    const text = Buffer.from(cursor, "base64url").toString("utf8");
    const [at, id] = z.tuple([z.string(), z.string()]).parse(JSON.parse(text));
    return { at, id };
  } catch {
    throw new ApiError("VALIDATION_ERROR", "The query: cursor: expected the next_cursor of a page.");
  }
}

/** `readJson` stores the body where the route's validator reads it. */
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
    const part = result.target === "query" ? "query" : "body";
    if (!result.success) throw validationError(part, result.error, route[part] as z.ZodType | undefined);
    return undefined;
  });
}

function validationError(part: "query" | "body", error: z.ZodError, schema: z.ZodType | undefined): ApiError {
  const issues = error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  const [first] = issues;
  const where = first === undefined || first.path === "" ? `The ${part}` : `The ${part}: ${first.path}`;
  const [issue] = error.issues;
  const keys = issue?.code === "unrecognized_keys" ? keysAt(schema, issue.path) : [];
  const suffix = keys.length === 0 ? "" : ` Known keys: ${keys.join(", ")}.`;
  return new ApiError("VALIDATION_ERROR", `${where}: ${first?.message}.${suffix}`, { issues });
}

/** Returns the keys of the schema's object at a path, or an empty list if it is not a plain object. */
function keysAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return keysAt(schema.def.innerType, path);
  }
  const [key, ...below] = path;
  if (schema instanceof z.ZodArray && key !== undefined) return keysAt(schema.element, below);
  if (!(schema instanceof z.ZodObject)) return [];
  return key === undefined ? Object.keys(schema.shape) : keysAt(schema.shape[String(key)], below);
}

/** Clients of the compatible API send this header. This server has only one workspace. */
const workspaceHeader = z.object({
  "X-Workspace-Id": z
    .string()
    .optional()
    .meta({ description: "Accepted and ignored, because there is only one workspace." }),
});

/** Routes of the OpenAI API have its form of errors. */
export function isOpenaiPath(path: string): boolean {
  return path.startsWith("/v1/");
}

/** The parts of a route that @hono/zod-openapi validates and documents. */
function toRouteConfig(route: Route): RouteConfig {
  const { method, path, tag, summary, query, response, events } = route;
  const isOpenai = isOpenaiPath(path);
  const body = isOpenai ? route.body : withoutUnknownKeys(route.body);
  const params = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => [name, z.string()]);
  const content = {
    ...(response === null ? {} : { "application/json": { schema: response } }),
    ...(events === undefined ? {} : { "text/event-stream": { schema: eventStreamSchema(events) } }),
  };
  return {
    method,
    path: path.replace(/:(\w+)/g, "{$1}"),
    tags: [tag],
    summary,
    operationId: `${method}${path.replace(/[^A-Za-z]+(\w)?/g, (_, letter: string = "") => letter.toUpperCase())}`,
    request: {
      params: z.object(Object.fromEntries(params)),
      headers: workspaceHeader,
      ...(query === undefined ? {} : { query: query as unknown as z.ZodObject }),
      ...(body === undefined ? {} : { body: { required: true, content: { "application/json": { schema: body } } } }),
    },
    responses: {
      [route.status]: { description: "Done", ...(Object.keys(content).length === 0 ? {} : { content }) },
      default: {
        description: "Error",
        content: { "application/json": { schema: isOpenai ? openaiErrorShape : errorShape } },
      },
    },
  };
}

/**
 * A misspelled key would otherwise be dropped without a word. Keys of the OpenAI API come and go, so those are ignored.
 */
function withoutUnknownKeys(body: z.ZodType | undefined): z.ZodType | undefined {
  return body instanceof z.ZodObject && body.def.catchall === undefined ? body.strict() : body;
}

/** Returns the OpenAPI 3.1 document of all added routes. */
export function openapiDocument(app: OpenAPIHono<Env>, version: string): object {
  app.openAPIRegistry.registerComponent("securitySchemes", "token", { type: "http", scheme: "bearer" });
  // The library's type is for OpenAPI 3.0, which does not support license identifiers.
  const license = { name: "MIT", identifier: "MIT" };
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "art-e",
      version,
      description: "Agents that answer questions from a mailbox: the registry, chats, traces and feedback.",
      license,
    },
    servers: [{ url: "/" }],
    security: [{}, { token: [] }],
  });
}

/** OpenAPI 3.1 cannot describe the events of a stream, so the description contains their schema. */
function eventStreamSchema(events: z.ZodType) {
  const schema = JSON.stringify(z.toJSONSchema(events, { io: "output", unrepresentable: "any" }));
  const description = `Server-sent events. The last data is [DONE]. All other data is JSON with this schema: ${schema}`;
  return { type: "string" as const, description };
}

/** Checks that a route's types fit together, then erases them, so that all routes fit into one list. */
export function defineRoute<const Path extends string, Query = unknown, Body = unknown>(
  route: Route<ParamsOf<Path>, Query, Body> & { readonly path: Path },
): Route {
  return route as unknown as Route;
}
