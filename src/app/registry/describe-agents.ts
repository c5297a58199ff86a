import { type Agent, agentSettingsSchema } from "../../domain/agents/agent.js";
import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { getAgent, listAgents } from "../../store/registry/agent-rows.js";
import { getVersion, listVersions } from "../../store/registry/agent-versions.js";
import { countRunsOfVersion } from "../../store/registry/count-runs.js";
import type { AttachedTool } from "../../store/registry/tool-rows.js";
import { getRun } from "../../store/runs/runs.js";
import { attachedOrDefault } from "../../tools/attached-tools.js";
import { currentVersion } from "./versions.js";

export interface AgentDescription extends Agent {
  readonly version: number;
  readonly builtin?: boolean;
  readonly tools: readonly { readonly id: string; readonly config: string | null }[];
}

/** Every agent with the ids and configs of its tools. */
export function describeAgents(db: Db) {
  return listAgents(db).map((agent) => ({ ...agent, tools: toolIds(attachedOrDefault(db, agent.id)) }));
}

/** `ID`: the agent as it is now; `ID@VERSION`: as it was then. */
export function describeAgent(db: Db, name: string): AgentDescription {
  const [id = "", version] = name.split("@");
  if (version === undefined) {
    return { ...getAgent(db, id), version: currentVersion(db, id), tools: toolIds(attachedOrDefault(db, id)) };
  }
  if (!/^[1-9]\d{0,8}$/.test(version)) {
    throw new UserError("version_unknown", `"${name}" names no version.`, `art-e agents versions ${id} lists them.`);
  }
  const stored = getVersion(db, id, Number(version));
  return { ...stored.agent, version: stored.version, tools: fullTools(stored.tools) };
}

/** The agent of a run: the version that it used, with the settings that the run's flags changed. */
export function describeAgentOfRun(db: Db, runName: string): AgentDescription {
  const { id, settings } = getRun(db, runName);
  if (settings.elsewhere !== undefined) {
    throw new UserError(
      "agent_elsewhere",
      `The agent of run ${id} is external (${settings.elsewhere.kind}), not in the registry.`,
      "Its prompt and tools are not known here; the run's settings in a results file say where it was reached.",
    );
  }
  const { agentId, agentVersion, prompt, model } = settings;
  const { agent, tools } = getVersion(db, agentId, agentVersion);
  const { maxTurns, maxTokens, reasoningTokens, temperature, toolCalls, toolChoice } = settings;
  const optional = { ...(temperature === null ? {} : { temperature }), reasoningTokens };
  return {
    ...agent,
    prompt,
    model,
    settings: agentSettingsSchema.parse({ maxTurns, maxTokens, toolCalls, toolChoice, ...optional }),
    version: agentVersion,
    tools: fullTools(tools),
  };
}

/** The versions of an agent, newest first, also of one that was deleted; none before its first change or run. */
export function describeVersions(db: Db, agentId: string) {
  const versions = listVersions(db, agentId);
  // Throws for an agent that never existed.
  if (versions.length === 0) getAgent(db, agentId);
  return versions.map(({ version, createdAt, agent, tools }) => ({
    version,
    createdAt,
    model: agent.model,
    tools: tools.map(({ tool }) => tool.id),
    runs: countRunsOfVersion(db, agentId, version),
  }));
}

function toolIds(attached: readonly AttachedTool[]) {
  return attached.map(({ tool, config }) => ({ id: tool.id, config }));
}

function fullTools(attached: readonly AttachedTool[]) {
  return attached.map(({ tool, config }) => ({ ...tool, config }));
}
