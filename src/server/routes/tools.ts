// Routes for tools. A tool that could run programs or reach other servers needs a permission.
import { z } from "zod";
import { createTool, deleteTool, updateTool } from "../../agents/registry.js";
import type { JsonObject } from "../../platform/json.js";
import { definedProperties } from "../../platform/optional-values.js";
import { getTool, listTools, registryIdSchema, type StoredTool } from "../../tools/tools-store.js";
import { ApiError, refuseStale } from "../app/api-error.js";
import { defineRoute, parseJson, type Route, type Services } from "../app/route.js";
import { isoTime, jsonObjectSchema, snakeKeys, toolShape } from "../response-shapes.js";

/** An object, or the same object as JSON text. */
const parametersSchema = z.union([
  jsonObjectSchema,
  z
    .string()
    .max(1_000_000)
    .transform((text) => parseJson(text, "The body: parameters_schema"))
    .pipe(jsonObjectSchema),
]);

const changes = z.strictObject({
  name: z.string().min(1).max(200).optional(),
  description: z.string().min(1).max(100_000).optional(),
  parameters_schema: parametersSchema.optional(),
  handler_config: jsonObjectSchema.optional(),
  category: z.string().min(1).max(64).optional(),
});

const newTool = z.strictObject({
  ...changes.shape,
  id: registryIdSchema,
  description: z.string().min(1).max(100_000),
  handler_key: z.string().min(1),
});

export function toolRoutes(services: Services): Route[] {
  const { db } = services;
  const tag = "tools";
  return [
    defineRoute({
      method: "get",
      path: "/api/tools",
      tag,
      summary: "List all tools, or the tools of a category",
      query: z.object({ category: z.string().optional() }),
      status: 200,
      response: z.strictObject({ tools: z.array(toolShape) }),
      handle: ({ query }) => ({ tools: listTools(db, query.category ?? null).map(toolJson) }),
    }),
    defineRoute({
      method: "post",
      path: "/api/tools",
      tag,
      summary: "Create a tool",
      body: newTool,
      status: 201,
      response: toolShape,
      handle({ body: { id, handler_key: handlerKey, ...rest } }) {
        checkToolPermissions(services, { handlerKey, handlerConfig: {} }, rest.handler_config ?? null);
        return toolJson(createTool(db, { ...toToolFields(rest), description: rest.description, id, handlerKey }));
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/tools/:id",
      tag,
      summary: "Get a tool",
      status: 200,
      response: toolShape,
      handle: ({ params }) => toolJson(getTool(db, params.id)),
    }),
    defineRoute({
      method: "patch",
      path: "/api/tools/:id",
      tag,
      summary: "Change a tool",
      body: changes.extend({
        updated_at: toolShape.shape.updated_at.optional().meta({ description: "Time of the tool as loaded" }),
      }),
      status: 200,
      response: toolShape,
      handle: ({ params: { id }, body: { updated_at, ...body } }) =>
        db
          .transaction(() => {
            const tool = getTool(db, id);
            checkToolPermissions(services, tool, body.handler_config ?? null);
            refuseStale("tool", toolJson(tool), { updated_at });
            return toolJson(updateTool(db, id, toToolFields(body)));
          })
          .immediate(),
    }),
    defineRoute({
      method: "delete",
      path: "/api/tools/:id",
      tag,
      summary: "Delete a tool that no agent uses",
      status: 204,
      response: null,
      handle: ({ params }) => deleteTool(db, params.id),
    }),
  ];
}

/** Returns the fields that are set, under the registry's names. */
function toToolFields({ parameters_schema, handler_config, ...same }: z.output<typeof changes>) {
  return definedProperties({ ...same, parametersSchema: parameters_schema, handlerConfig: handler_config });
}

function toolJson(tool: StoredTool) {
  return { ...snakeKeys(tool), created_at: isoTime(tool.createdAt), updated_at: isoTime(tool.updatedAt) };
}

/** Handlers that run programs from their config as the user who started the server. */
const RUN_PROGRAMS: ReadonlySet<string> = new Set(["command", "module", "mcp"]);

/**
 * A client that can write a tool's config could run programs on this machine, read its keys or reach servers behind its
 * firewall. Throws for such a config unless the server was started with --allow-programs. Tools created on the command
 * line can be attached unchanged. `config` overrides the tool's own config, unless it is null.
 */
export function checkToolPermissions(
  { allowPrograms }: Pick<Services, "allowPrograms">,
  tool: { readonly handlerKey: string; readonly handlerConfig: JsonObject },
  config: JsonObject | null,
): void {
  if (allowPrograms || config === null || Object.keys(config).length === 0) return;
  const permission = requiredPermission(tool.handlerKey, { ...tool.handlerConfig, ...config });
  if (permission === null) return;
  throw new ApiError(
    "FORBIDDEN",
    `Cannot create or configure a ${tool.handlerKey} tool that ${permission} over HTTP: the server was started without --allow-programs.`,
  );
}

function requiredPermission(handlerKey: string, effectiveConfig: JsonObject): string | null {
  if (RUN_PROGRAMS.has(handlerKey)) return "runs programs on the server";
  if (effectiveConfig.allowPrivate === true) return "reaches private addresses";
  return JSON.stringify(effectiveConfig).includes("${ENV:") ? "reads the environment" : null;
}
