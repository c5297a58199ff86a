import { z } from "zod";
import {
  agentChangesSchema,
  attachTool,
  createAgent,
  deleteAgent,
  detachTool,
  newAgentSchema,
  updateAgent,
} from "../../app/registry/edit-agents.js";
import { currentVersion } from "../../app/registry/versions.js";
import type { StoredAgent } from "../../domain/agents/agent.js";
import { registryIdSchema } from "../../domain/agents/registry-id.js";
import { trimEndOf } from "../../domain/trim-end.js";
import { findAgent, getAgent, listAgents } from "../../store/registry/agent-rows.js";
import { getTool } from "../../store/registry/tool-rows.js";
import { attachedOrDefault } from "../../tools/attached-tools.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";
import { agentShape, agentToolShape, isoTime, jsonObjectSchema, nullableJsonObjectSchema } from "./response-schemas.js";
import { checkToolPermissions } from "./tool-permissions.js";

/** Its prompt is the default of new agents. */
const DEFAULT_PROMPT_AGENT = "email-search";

const newAgent = z.strictObject({
  ...newAgentSchema.shape,
  id: registryIdSchema.optional().meta({ description: "Default: made from the name" }),
  name: z.string().min(1).max(200),
  prompt: newAgentSchema.shape.prompt.optional().meta({ description: "Default: that of email-search" }),
  tools: z
    .array(z.strictObject({ id: registryIdSchema, config: nullableJsonObjectSchema.default(null) }))
    .min(1)
    .optional()
    .meta({ description: "Default: email_search, email_get, return_final_answer" }),
});

const attachment = z.strictObject({ tool_id: registryIdSchema, config: nullableJsonObjectSchema.optional() });

export function agentRoutes(services: Services): Route[] {
  const { db } = services;
  const agentJson = (agent: StoredAgent) => ({
    id: agent.id,
    name: agent.name,
    description: agent.description,
    prompt: agent.prompt,
    model: agent.model,
    settings: agent.settings,
    version: currentVersion(db, agent.id),
    builtin: agent.builtin,
    tools: attachedOrDefault(db, agent.id).map(({ tool }) => tool.id),
    created_at: isoTime(agent.createdAt),
    updated_at: isoTime(agent.updatedAt),
  });
  const agentToolJson = (agentId: string, toolId: string, config: string | null) => {
    const tool = getTool(db, toolId);
    return {
      id: tool.id,
      agent_id: agentId,
      tool_id: tool.id,
      name: tool.name,
      description: tool.description,
      parameters_schema: tool.parametersSchema,
      handler_key: tool.handlerKey,
      category: tool.category,
      created_at: isoTime(tool.createdAt),
      config: config === null ? null : jsonObjectSchema.parse(JSON.parse(config)),
    };
  };
  const tag = "agents";
  return [
    defineRoute({
      method: "get",
      path: "/api/agents",
      tag,
      summary: "All agents",
      status: 200,
      response: z.strictObject({ agents: z.array(agentShape) }),
      handle: () => ({ agents: listAgents(db).map(agentJson) }),
    }),
    defineRoute({
      method: "post",
      path: "/api/agents",
      tag,
      summary: "Make an agent",
      body: newAgent,
      status: 201,
      response: agentShape,
      handle({ body: { id, prompt, tools, ...rest } }) {
        for (const tool of tools ?? []) checkToolPermissions(services, getTool(db, tool.id), tool.config);
        const agent = createAgent(db, {
          ...rest,
          id: id ?? freeId(rest.name, (taken) => findAgent(db, taken) !== null),
          prompt: prompt ?? getAgent(db, DEFAULT_PROMPT_AGENT).prompt,
          ...(tools === undefined ? {} : { tools }),
        });
        return agentJson(agent);
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/agents/:id",
      tag,
      summary: "One agent",
      status: 200,
      response: agentShape,
      handle: ({ params }) => agentJson(getAgent(db, params.id)),
    }),
    defineRoute({
      method: "patch",
      path: "/api/agents/:id",
      tag,
      summary: "Change an agent; a setting that is null takes its default",
      body: agentChangesSchema,
      status: 200,
      response: agentShape,
      handle: ({ params, body }) => agentJson(updateAgent(db, params.id, body)),
    }),
    defineRoute({
      method: "delete",
      path: "/api/agents/:id",
      tag,
      summary: "Delete an agent; its runs, traces and versions stay",
      status: 204,
      response: null,
      handle: ({ params }) => deleteAgent(db, params.id),
    }),
    defineRoute({
      method: "get",
      path: "/api/agents/:id/tools",
      tag,
      summary: "The tools of an agent",
      status: 200,
      response: z.strictObject({ tools: z.array(agentToolShape) }),
      handle({ params }) {
        const { id } = getAgent(db, params.id);
        return { tools: attachedOrDefault(db, id).map(({ tool, config }) => agentToolJson(id, tool.id, config)) };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/agents/:id/tools",
      tag,
      summary: "Give an agent a tool",
      body: attachment,
      status: 201,
      response: agentToolShape,
      handle({ params: { id }, body: { tool_id, config = null } }) {
        checkToolPermissions(services, getTool(db, tool_id), config);
        attachTool(db, id, tool_id, config);
        return agentToolJson(id, tool_id, config && JSON.stringify(config));
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/agents/:id/tools/:toolId",
      tag,
      summary: "Take a tool from an agent",
      status: 204,
      response: null,
      handle: ({ params }) => detachTool(db, params.id, params.toolId),
    }),
  ];
}

/** "My Agent!" -> `my-agent`, `my-agent-2`, ... */
function freeId(name: string, isTaken: (id: string) => boolean): string {
  const words = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  const id = trimEndOf(words.slice(0, 50).replace(/^-+/, ""), "-") || "agent";
  if (!isTaken(id)) return id;
  for (let n = 2; ; n++) if (!isTaken(`${id}-${n}`)) return `${id}-${n}`;
}
