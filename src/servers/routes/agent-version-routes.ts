import { z } from "zod";
import { restoreVersion, updateAgent } from "../../app/registry/edit-agents.js";
import { currentVersion, snapshotOf } from "../../app/registry/versions.js";
import { variablesIn } from "../../domain/agents/prompt.js";
import { UserError } from "../../domain/errors.js";
import { getAgent } from "../../store/registry/agent-rows.js";
import { type AgentVersion, listVersions } from "../../store/registry/agent-versions.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";
import { isoTime } from "./response-schemas.js";

/** The form that `agents show` accepts. */
export function versionId(agentId: string, version: number): string {
  return `${agentId}@${version}`;
}

const versionShape = z.strictObject({
  id: z.string(),
  agent_id: z.string(),
  version: z.number().int(),
  prompt_template: z.string(),
  variables: z.array(z.string()),
  source: z.literal("manual"),
  parent_version_id: z.string().nullable(),
  accuracy: z.null(),
  status: z.enum(["active", "archived"]),
  created_at: z.iso.datetime(),
});

const newVersion = z.object({
  prompt_template: z.string().trim().min(1).max(1_000_000),
  variables: z.array(z.string()).nullish().meta({ description: "Not read: the prompt itself names them" }),
});

/** The versions of agents, each a former state; the current state is the active version. */
export function versionRoutes({ db }: Services): Route[] {
  const tag = "agents";
  const versionsOf = (agentId: string) => {
    const active = currentVersion(db, agentId);
    const stored = listVersions(db, agentId);
    // The current state is stored as a version only when it is run or changed.
    const isStored = stored.some(({ version }) => version === active);
    const { updatedAt } = getAgent(db, agentId);
    const now: AgentVersion[] = isStored ? [] : [{ ...snapshotOf(db, agentId), version: active, createdAt: updatedAt }];
    return [...now, ...stored].map((each) => versionJson(agentId, each, active));
  };
  const versionOf = (agentId: string, version: number) => {
    const found = versionsOf(agentId).find((each) => each.version === version);
    if (found !== undefined) return found;
    const hint = `GET /api/agents/${agentId}/versions lists them.`;
    throw new UserError("version_unknown", `Agent "${agentId}" has no version ${version}.`, hint);
  };
  return [
    defineRoute({
      method: "get",
      path: "/api/agents/:id/versions",
      tag,
      summary: "The versions of an agent, newest first",
      status: 200,
      response: z.strictObject({ versions: z.array(versionShape), active_version_id: z.string() }),
      handle({ params: { id } }) {
        const active = versionId(id, currentVersion(db, id));
        return { versions: versionsOf(id), active_version_id: active };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/agents/:id/versions",
      tag,
      summary: "Give an agent another prompt, which is in force at once: there are no candidates",
      body: newVersion,
      status: 201,
      response: versionShape,
      handle({ params: { id }, body }) {
        updateAgent(db, id, { prompt: body.prompt_template });
        return versionOf(id, currentVersion(db, id));
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/agents/:id/versions/:version",
      tag,
      summary: "One version of an agent",
      status: 200,
      response: versionShape,
      handle: ({ params }) => versionOf(params.id, toNumber(params.version)),
    }),
    defineRoute({
      method: "post",
      path: "/api/agents/:id/versions/:version/promote",
      tag,
      summary: "Make an agent what it was in a version: its prompt, model, settings and tools",
      status: 200,
      response: versionShape,
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
      summary: "The prompt of an agent as it is now; has an ETag",
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

function versionJson(
  agentId: string,
  { version, agent, createdAt }: AgentVersion,
  active: number,
): z.output<typeof versionShape> {
  return {
    id: versionId(agentId, version),
    agent_id: agentId,
    version,
    prompt_template: agent.prompt,
    variables: variablesIn(agent.prompt),
    source: "manual",
    parent_version_id: version === 1 ? null : versionId(agentId, version - 1),
    accuracy: null,
    status: version === active ? "active" : "archived",
    created_at: isoTime(createdAt),
  };
}

/** 0, which no version has, where the text is not a version number. */
function toNumber(version: string): number {
  return /^[1-9]\d{0,8}$/.test(version) ? Number(version) : 0;
}
