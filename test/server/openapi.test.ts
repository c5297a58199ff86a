import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startDemoServer } from "./demo-server.js";

const schema = z.record(z.string(), z.json());
const content = z.record(z.string(), z.strictObject({ schema }));

/** The part of OpenAPI 3.1 that the document uses. Any other key is a mistake. */
const documentSchema = z.strictObject({
  openapi: z.literal("3.1.0"),
  info: z.strictObject({
    title: z.string(),
    version: z.string(),
    description: z.string(),
    license: z.strictObject({ name: z.string(), identifier: z.string() }),
  }),
  servers: z.array(z.strictObject({ url: z.string() })),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  paths: z.record(
    z.string().startsWith("/"),
    z.partialRecord(
      z.enum(["get", "post", "patch", "delete"]),
      z.strictObject({
        tags: z.array(z.string()),
        operationId: z.string().regex(/^[A-Za-z]\w*$/),
        summary: z.string().min(1),
        parameters: z.array(
          z.strictObject({
            name: z.string(),
            in: z.enum(["path", "query", "header"]),
            required: z.boolean(),
            description: z.string().optional(),
            schema,
          }),
        ),
        requestBody: z.strictObject({ required: z.literal(true), content }).optional(),
        responses: z.record(
          z.string().regex(/^(\d{3}|default)$/),
          z.strictObject({ description: z.string(), content: content.optional() }),
        ),
      }),
    ),
  ),
  webhooks: z.strictObject({}),
  components: z.strictObject({
    parameters: z.strictObject({}),
    securitySchemes: z.record(z.string(), z.strictObject({ type: z.literal("http"), scheme: z.literal("bearer") })),
    schemas: z.record(z.string(), schema),
  }),
});

const server = await startDemoServer();
afterAll(() => server.close());
const document = documentSchema.parse(await (await fetch(`${server.url}/openapi.json`)).json());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

describe("/openapi.json", () => {
  it("describes every path, each with its own operation id", () => {
    expect(operations().map(({ path, method }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining([
        "post /api/agents/{id}/playground/chat",
        "delete /api/agents/{id}/tools/{toolId}",
        "post /api/feedback",
        "post /v1/chat/completions",
      ]),
    );
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("declares the parameters of every path, and no others", () => {
    for (const { path, operation } of operations()) {
      const declared = operation.parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name);
      expect(declared).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
  });

  it("contains readable schemas and valid references", () => {
    const schemas = operations().flatMap(({ operation }) => [
      ...operation.parameters.map((parameter) => parameter.schema),
      ...Object.values(operation.requestBody?.content ?? {}).map((one) => one.schema),
      ...Object.values(operation.responses).flatMap((one) =>
        Object.values(one.content ?? {}).map((inner) => inner.schema),
      ),
    ]);
    expect(schemas.length).toBeGreaterThan(50);
    for (const one of [...schemas, ...Object.values(document.components.schemas)]) {
      if (!("$ref" in one)) z.fromJSONSchema(one as Parameters<typeof z.fromJSONSchema>[0]);
    }
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g);
    expect(new Set([...references].map(([, name]) => name))).toEqual(new Set(Object.keys(document.components.schemas)));
  });

  it("describes the checks of request bodies", () => {
    const body = document.paths["/api/feedback"]?.post?.requestBody?.content["application/json"]?.schema;
    expect(body).toMatchObject({
      required: ["trace_id", "rating"],
      properties: { rating: { enum: ["positive", "neutral", "negative"] } },
    });
  });

  it("accepts a request to steer a run that changes one limit", () => {
    const body = document.paths["/api/runs/{id}/control"]?.post?.requestBody?.content["application/json"]?.schema;
    const accepts = (request: object) =>
      z.fromJSONSchema(body as Parameters<typeof z.fromJSONSchema>[0]).safeParse(request).success;
    expect(accepts({ command: "set", changes: { rpm: 60 } })).toBe(true);
    expect(accepts({ command: "set", changes: { taskTimeoutMs: 1e12 } })).toBe(false);
  });
});
