import type { OpenAPIHono, RouteConfig } from "@hono/zod-openapi";
import { z } from "zod";
import { errorShape, openaiErrorShape } from "../routes/response-schemas.js";
import type { Env, Route } from "./route.js";

/** Clients of the API that this one is compatible with send it; there is one workspace here. */
const workspaceHeader = z.object({
  "X-Workspace-Id": z.string().optional().meta({ description: "Accepted and ignored: there is one workspace." }),
});

/** What @hono/zod-openapi validates and documents of a route. */
export function toRouteConfig(route: Route): RouteConfig {
  const { method, path, tag, summary, query, body, response, events } = route;
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
        description: "Not done, and why",
        content: { "application/json": { schema: route.errors === "openai" ? openaiErrorShape : errorShape } },
      },
    },
  };
}

/** The OpenAPI 3.1 document of all routes that were added. */
export function openapiDocument(app: OpenAPIHono<Env>, version: string): object {
  app.openAPIRegistry.registerComponent("securitySchemes", "token", { type: "http", scheme: "bearer" });
  // The library's type is of OpenAPI 3.0, which has no license identifier.
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

/** OpenAPI 3.1 cannot describe the events of a stream, so their schema stands in the description. */
function eventStreamSchema(events: z.ZodType) {
  const schema = JSON.stringify(z.toJSONSchema(events, { io: "output", unrepresentable: "any" }));
  const description = `Server-sent events; the data of each but the last, which is [DONE], is JSON of this schema: ${schema}`;
  return { type: "string" as const, description };
}
