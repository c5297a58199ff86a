import { z } from "zod";
import { errorShape, openaiErrorShape } from "../routes/response-schemas.js";
import type { Route } from "./route.js";

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of the routes, made from the very schemas that requests are checked with. */
export function openapiDocument(routes: readonly Route[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method]: operation(route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "art-e",
      version,
      description: "Agents that answer questions from a mailbox: the registry, chats, traces and feedback.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{}, { token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Error: toSchema(errorShape, "output"), OpenAIError: toSchema(openaiErrorShape, "output") },
    },
  };
}

function operation(route: Route): Json {
  const content = {
    ...(route.response === null ? {} : { "application/json": { schema: toSchema(route.response, "output") } }),
    ...(route.events === undefined
      ? {}
      : { "text/event-stream": { schema: { type: "string", description: eventsText(route.events) } } }),
  };
  const error = { $ref: `#/components/schemas/${route.errors === "openai" ? "OpenAIError" : "Error"}` };
  return {
    tags: [route.tag],
    operationId: `${route.method}${route.path.replace(/[^A-Za-z]+(\w)?/g, (_, letter: string = "") => letter.toUpperCase())}`,
    summary: route.summary,
    parameters: [...pathParameters(route.path), ...queryParameters(route.query), WORKSPACE],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: { required: true, content: { "application/json": { schema: toSchema(route.body, "input") } } },
        }),
    responses: {
      [route.status]: { description: "Done", ...(Object.keys(content).length === 0 ? {} : { content }) },
      default: { description: "Not done, and why", content: { "application/json": { schema: error } } },
    },
  };
}

/** Clients of the API that this one keeps to send it; there is one workspace here. */
const WORKSPACE = {
  name: "X-Workspace-Id",
  in: "header",
  required: false,
  description: "Taken, and of no effect: there is one workspace.",
  schema: { type: "string" },
};

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters(query: z.ZodType | undefined): Json[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = toSchema(query, "input") as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
}

function eventsText(events: z.ZodType): string {
  return `Server-sent events; the data of each but the last, which is [DONE], is JSON of this schema: ${JSON.stringify(toSchema(events, "output"))}`;
}

/** JSON Schema 2020-12, which OpenAPI 3.1 speaks. What has no schema (a transformed text) is told as what goes in. */
function toSchema(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return inPlace(rest as Json);
}

/** References to `#/$defs/...` would look for them in the whole document: recursive schemas say "anything" instead. */
function inPlace(schema: Json): Json {
  const { $defs = {}, ...rest } = schema;
  const clean = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== "object" || value === null) return value;
    if ("$ref" in value) return Object.keys($defs as Json).length === 0 ? value : {};
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, clean(inner)]));
  };
  return clean(rest) as Json;
}
