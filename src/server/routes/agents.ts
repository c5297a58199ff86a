// Routes for agents and their versions.
import { z } from "zod";
import type { StoredAgent } from "../../agents/agent.js";
import { exportAgent } from "../../agents/agent-file.js";
import { variablesIn } from "../../agents/prompt-template.js";
import {
  agentChangesSchema,
  attachTools,
  configureTool,
  createAgent,
  deleteAgent,
  detachTools,
  newAgentSchema,
  restoreVersion,
  updateAgent,
} from "../../agents/registry.js";
import {
  type AgentVersion,
  currentVersion,
  findAgent,
  getAgent,
  listAgents,
  listVersions,
  versionedAgent,
} from "../../agents/registry-store.js";
import { UserError } from "../../platform/errors.js";
import { presentProperties } from "../../platform/optional-values.js";
import { trimEndOf } from "../../platform/trim-end.js";
import type { Db } from "../../store/open-store.js";
import { type AttachedTool, attachedOrDefault, getTool, registryIdSchema } from "../../tools/tools-store.js";
import { refuseStale } from "../app/api-error.js";
import { defineRoute, type Route, type Services } from "../app/route.js";
import {
  type AgentVersionJson,
  agentShape,
  agentToolShape,
  agentVersionShape,
  isoTime,
  jsonObjectSchema,
  nullableJsonObjectSchema,
  snakeKeys,
} from "../response-shapes.js";
import { checkToolPermissions } from "./tools.js";

/** Formats a version the way `agents show` accepts it. */
export function versionId(agentId: string, version: number): string {
  return `${agentId}@${version}`;
}

const newVersion = z.object({
  prompt_template: z.string().trim().min(1).max(1_000_000),
  variables: z
    .array(z.string())
    .nullish()
    .meta({ description: "Ignored, because the names are taken from the prompt itself" }),
});

/** Each version of an agent is an earlier state. The current state is the active version. */
export function versionRoutes({ db }: Services): Route[] {
  const tag = "agents";
  const versionsOf = (agentId: string) => {
    const active = currentVersion(db, agentId);
    const stored = listVersions(db, agentId);
    // The current state is stored as a version only when it is run or changed.
    const isStored = stored.some(({ version }) => version === active);
    const { updatedAt } = getAgent(db, agentId);
    const now: AgentVersion[] = isStored
      ? []
      : [{ ...versionedAgent(db, agentId), version: active, createdAt: updatedAt }];
    return [...now, ...stored].map((each) => versionJson(db, agentId, each, active));
  };
  const versionOf = (agentId: string, version: number) => {
    const match = versionsOf(agentId).find((each) => each.version === version);
    if (match !== undefined) return match;
    const hint = `List the versions with GET /api/agents/${agentId}/versions.`;
    throw new UserError("version_unknown", `Unknown version "${version}" of agent "${agentId}".`, hint);
  };
  return [
    defineRoute({
      method: "get",
      path: "/api/agents/:id/versions",
      tag,
      summary: "List the versions of an agent, newest first",
      status: 200,
      response: z.strictObject({ versions: z.array(agentVersionShape), active_version_id: z.string() }),
      handle({ params: { id } }) {
        const active = versionId(id, currentVersion(db, id));
        return { versions: versionsOf(id), active_version_id: active };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/agents/:id/versions",
      tag,
      summary: "Change the prompt of an agent, effective immediately (candidates are not supported)",
      body: newVersion,
      status: 201,
      response: agentVersionShape,
      handle({ params: { id }, body }) {
        updateAgent(db, id, { prompt: body.prompt_template });
        return versionOf(id, currentVersion(db, id));
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/agents/:id/versions/:version",
      tag,
      summary: "Get a version of an agent",
      status: 200,
      response: agentVersionShape,
      handle: ({ params }) => versionOf(params.id, toNumber(params.version)),
    }),
    defineRoute({
      method: "post",
      path: "/api/agents/:id/versions/:version/promote",
      tag,
      summary: "Restore a version of an agent: its prompt, model, settings and tools",
      status: 200,
      response: agentVersionShape,
      handle({ params: { id, version } }) {
        const { version: target, status } = versionOf(id, toNumber(version));
        if (status !== "active") restoreVersion(db, id, target);
        return versionOf(id, currentVersion(db, id));
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/agents/:id/prompt",
      tag,
      summary: "Get the current prompt of an agent, with an ETag",
      status: 200,
      response: z.strictObject({
        template: z.string(),
        version: z.number().int(),
        version_id: z.string(),
        variables: z.array(z.string()),
        updated_at: z.iso.datetime(),
      }),
      handle({ params: { id } }) {
        const { prompt, updatedAt } = getAgent(db, id);
        const version = currentVersion(db, id);
        const variables = variablesIn(prompt);
        return {
          template: prompt,
          version,
          version_id: versionId(id, version),
          variables,
          updated_at: isoTime(updatedAt),
        };
      },
    }),
  ];
}

function versionJson(db: Db, agentId: string, stored: AgentVersion, active: number): AgentVersionJson {
  const { version, agent, createdAt } = stored;
  return {
    id: versionId(agentId, version),
    agent_id: agentId,
    version,
    prompt_template: agent.prompt,
    definition: exportAgent(db, agentId, stored),
    variables: variablesIn(agent.prompt),
    source: "manual",
    parent_version_id: version === 1 ? null : versionId(agentId, version - 1),
    accuracy: null,
    status: version === active ? "active" : "archived",
    created_at: isoTime(createdAt),
  };
}

/** Returns 0, which is never a valid version, if the text is not a version number. */
function toNumber(version: string): number {
  return /^[1-9]\d{0,8}$/.test(version) ? Number(version) : 0;
}

/** New agents get this agent's prompt by default. */
const DEFAULT_PROMPT_AGENT = "email-search";

const ignored = z.unknown().optional().meta({ description: "Ignored, so that an agent's JSON can be sent back" });

const ignoredFields = { version: ignored, builtin: ignored, created_at: ignored, updated_at: ignored };

const newAgent = z.strictObject({
  ...newAgentSchema.shape,
  id: registryIdSchema.optional().meta({ description: "Default: derived from the name" }),
  name: z.string().min(1).max(200),
  prompt: newAgentSchema.shape.prompt.optional().meta({ description: "Default: the prompt of the agent email-search" }),
  tools: z
    .array(
      z.union(
        [registryIdSchema, z.strictObject({ id: registryIdSchema, config: nullableJsonObjectSchema.default(null) })],
        "expected the id of a tool, or an object with id and config",
      ),
    )
    .min(1)
    .optional()
    .meta({ description: "Default: email_search, email_get, return_final_answer" }),
  ...ignoredFields,
});

const attachment = z.strictObject({ tool_id: registryIdSchema, config: nullableJsonObjectSchema.optional() });

/** The state of an agent that a change is based on. Without it, the change applies to any state. */
const seenAgent = {
  version: agentShape.shape.version.optional().meta({ description: "Version that the change is based on" }),
  updated_at: agentShape.shape.updated_at.optional().meta({ description: "Time of the agent as loaded" }),
};

export function agentRoutes(services: Services): Route[] {
  const { db } = services;
  const agentJson = (agent: StoredAgent) => ({
    ...snakeKeys(agent),
    version: currentVersion(db, agent.id),
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
  /** Reads a list of tools. A tool without a config keeps the one that it has among `before`. */
  const attachmentsOf = (tools: NonNullable<z.output<typeof newAgent>["tools"]>, before: readonly AttachedTool[]) =>
    tools.map((each) => {
      const { id, config } = typeof each === "string" ? { id: each, config: null } : each;
      const kept = typeof each === "string" ? before.find(({ tool }) => tool.id === id)?.config : undefined;
      if (kept != null) return { id, config: jsonObjectSchema.parse(JSON.parse(kept)) };
      checkToolPermissions(services, getTool(db, id), config);
      return { id, config };
    });
  const tag = "agents";
  return [
    defineRoute({
      method: "get",
      path: "/api/agents",
      tag,
      summary: "List all agents",
      status: 200,
      response: z.strictObject({ agents: z.array(agentShape) }),
      handle: () => ({ agents: listAgents(db).map(agentJson) }),
    }),
    defineRoute({
      method: "post",
      path: "/api/agents",
      tag,
      summary: "Create an agent",
      body: newAgent,
      status: 201,
      response: agentShape,
      handle({ body }) {
        const { id, prompt, tools: names, version: _, builtin: _b, created_at: _c, updated_at: _u, ...rest } = body;
        const tools = names && attachmentsOf(names, []);
        const agent = createAgent(db, {
          ...rest,
          id: id ?? freeId(rest.name, (candidate) => findAgent(db, candidate) !== null),
          prompt: prompt ?? getAgent(db, DEFAULT_PROMPT_AGENT).prompt,
          ...presentProperties({ tools }),
        });
        return agentJson(agent);
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/agents/:id",
      tag,
      summary: "Get an agent",
      status: 200,
      response: agentShape,
      handle: ({ params }) => agentJson(getAgent(db, params.id)),
    }),
    defineRoute({
      method: "patch",
      path: "/api/agents/:id",
      tag,
      summary: "Change an agent (null resets a setting to its default)",
      body: agentChangesSchema.extend({
        tools: newAgent.shape.tools.meta({
          description: "All tools of the agent. A tool given by its id only keeps its config",
        }),
        ...seenAgent,
      }),
      status: 200,
      response: agentShape,
      handle: ({ params: { id }, body: { version, updated_at, tools: names, ...changes } }) =>
        db
          .transaction(() => {
            refuseStale("agent", agentJson(getAgent(db, id)), { version, updated_at });
            const tools = names && attachmentsOf(names, attachedOrDefault(db, id));
            return agentJson(updateAgent(db, id, { ...changes, ...presentProperties({ tools }) }));
          })
          .immediate(),
    }),
    defineRoute({
      method: "delete",
      path: "/api/agents/:id",
      tag,
      summary: "Delete an agent but not its runs, traces and versions",
      status: 204,
      response: null,
      handle: ({ params }) => deleteAgent(db, params.id),
    }),
    defineRoute({
      method: "get",
      path: "/api/agents/:id/tools",
      tag,
      summary: "List the tools of an agent",
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
      summary: "Attach a tool to an agent",
      body: attachment,
      status: 201,
      response: agentToolShape,
      handle({ params: { id }, body: { tool_id, config = null } }) {
        checkToolPermissions(services, getTool(db, tool_id), config);
        attachTools(db, id, [tool_id], config);
        return agentToolJson(id, tool_id, config && JSON.stringify(config));
      },
    }),
    defineRoute({
      method: "patch",
      path: "/api/agents/:id/tools/:toolId",
      tag,
      summary: "Change the config of an agent's tool (null removes it)",
      body: z.strictObject({ config: nullableJsonObjectSchema, ...seenAgent }),
      status: 200,
      response: agentToolShape,
      handle({ params: { id, toolId }, body: { config, ...seen } }) {
        checkToolPermissions(services, getTool(db, toolId), config);
        db.transaction(() => {
          refuseStale("agent", agentJson(getAgent(db, id)), seen);
          configureTool(db, id, toolId, config);
        }).immediate();
        return agentToolJson(id, toolId, config && JSON.stringify(config));
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/agents/:id/tools/:toolId",
      tag,
      summary: "Detach a tool from an agent",
      status: 204,
      response: null,
      handle: ({ params }) => detachTools(db, params.id, [params.toolId]),
    }),
  ];
}

/** Converts "My Agent!" to `my-agent`, or `my-agent-2` if that is taken. */
function freeId(name: string, isTaken: (id: string) => boolean): string {
  const words = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  const id = trimEndOf(words.slice(0, 50).replace(/^-+/, ""), "-") || "agent";
  if (!isTaken(id)) return id;
  for (let n = 2; ; n++) if (!isTaken(`${id}-${n}`)) return `${id}-${n}`;
}
