import { currentVersion } from "../../app/registry/versions.js";
import type { Agent } from "../../domain/agents/agent.js";
import { agentSettingsSchema } from "../../domain/agents/agent.js";
import { UserError } from "../../domain/errors.js";
import { table } from "../../reports/text/text-table.js";
import type { Db } from "../../store/connection/open-store.js";
import { getVersion, listVersions } from "../../store/registry/agent-versions.js";
import { getAgent, listAgents } from "../../store/registry/agents.js";
import type { AttachedTool } from "../../store/registry/tools.js";
import { getRun } from "../../store/runs/runs.js";
import { attachedOrDefault } from "../../tools/load-tools.js";
import type { CommandContext } from "../cli/command.js";
import { needId } from "../cli/subcommand-args.js";
import type { AgentAction } from "./agents-flags.js";

export const listAll: AgentAction = (db, _, { out }) => {
  const agents = listAgents(db).map((agent) => ({ ...agent, tools: toolsOf(attachedOrDefault(db, agent.id)) }));
  out.result(agents, () =>
    table(
      ["id", "name", "model", "tools"],
      agents.map(({ id, name, model, tools }) => [
        id,
        name,
        model ?? "the run's",
        tools.map((tool) => tool.id).join(", "),
      ]),
    ),
  );
};

export const showOne: AgentAction = (db, { id, run }, door) => {
  if (run !== undefined && id !== undefined) {
    throw new UserError(
      "flags_contradict",
      "--run names the agent of a run: no ID goes with it.",
      "Leave one of them out.",
    );
  }
  printOne(run === undefined ? named(db, needId(id, "agents", "show")) : ofRun(db, run), door);
};

export const showVersions: AgentAction = (db, { id }, { out }) => {
  const agentId = needId(id, "agents", "versions");
  const versions = listVersions(db, agentId);
  // One that has never been changed nor run has none yet; one that is not there and never was is an error.
  if (versions.length === 0) getAgent(db, agentId);
  const lines = versions.map(({ version, createdAt, agent, tools }) => ({
    version,
    createdAt,
    model: agent.model,
    tools: tools.map(({ tool }) => tool.id),
    runs: runsOf(db, agentId, version),
  }));
  out.result(lines, () =>
    lines.length === 0
      ? `${agentId} has not been changed or run yet: it is at version 1.`
      : table(
          ["version", "since (UTC)", "model", "runs", "tools"],
          lines.map((line) => [
            String(line.version),
            line.createdAt,
            line.model ?? "the run's",
            String(line.runs),
            line.tools.join(", "),
          ]),
        ),
  );
};

interface Shown extends Agent {
  readonly version: number;
  readonly builtin?: boolean;
  readonly tools: readonly { readonly id: string; readonly config: string | null }[];
}

/** `ID` as it is now, or `ID@VERSION` as it was. */
function named(db: Db, name: string): Shown {
  const [id = "", version] = name.split("@");
  if (version === undefined) {
    return { ...getAgent(db, id), version: currentVersion(db, id), tools: toolsOf(attachedOrDefault(db, id)) };
  }
  if (!/^[1-9]\d{0,8}$/.test(version)) {
    throw new UserError("version_unknown", `"${name}" names no version.`, `art-e agents versions ${id} lists them.`);
  }
  const kept = getVersion(db, id, Number(version));
  return { ...kept.agent, version: kept.version, tools: wholeTools(kept.tools) };
}

/** The agent's version with what the run's own flags said over it, and its tools whole. */
function ofRun(db: Db, name: string): Shown {
  const { id, settings } = getRun(db, name);
  if (settings.elsewhere !== undefined) {
    throw new UserError(
      "agent_elsewhere",
      `The agent of run ${id} does not live here: ${JSON.stringify(settings.elsewhere)}.`,
      "The run's settings say where it was reached; what it is made of is known there.",
    );
  }
  const { agentId, agentVersion, prompt, model } = settings;
  const { agent, tools } = getVersion(db, agentId, agentVersion);
  const { maxTurns, maxTokens, reasoningTokens, temperature, toolCalls, toolChoice } = settings;
  const optional = { ...(temperature === null ? {} : { temperature }), reasoningTokens };
  const own = { maxTurns, maxTokens, toolCalls, toolChoice, ...optional };
  return {
    ...agent,
    prompt,
    model,
    settings: agentSettingsSchema.parse(own),
    version: agentVersion,
    tools: wholeTools(tools),
  };
}

function toolsOf(attached: readonly AttachedTool[]) {
  return attached.map(({ tool, config }) => ({ id: tool.id, config }));
}

function wholeTools(attached: readonly AttachedTool[]) {
  return attached.map(({ tool, config }) => ({ ...tool, config }));
}

function runsOf(db: Db, agentId: string, version: number): number {
  return db
    .prepare("SELECT count(*) FROM runs WHERE agent_id = ? AND settings ->> '$.agentVersion' = ?")
    .pluck()
    .get(agentId, version) as number;
}

function printOne(agent: Shown, { out }: CommandContext): void {
  const tools = agent.tools.map((tool) => (tool.config === null ? tool.id : `${tool.id} ${tool.config}`));
  const settings = Object.entries(agent.settings).map(([name, value]) => `${name} ${value}`);
  out.result(agent, () =>
    [
      `${agent.id}: ${agent.name}`,
      agent.description,
      "",
      `Version:  ${agent.version}${agent.builtin ? ", came with art-e" : ""}`,
      `Model:    ${agent.model ?? "the run's"}`,
      `Settings: ${settings.join(", ")}`,
      `Tools:    ${tools.join(", ")}`,
      "",
      "Prompt:",
      ...agent.prompt.split("\n").map((line) => `  ${line}`.trimEnd()),
    ].join("\n"),
  );
}
