import { createHash } from "node:crypto";
import { type Agent, agentSettingsSchema } from "../../../domain/agents/agent.js";
import type { AgentTarget } from "../../../domain/agents/agent-target.js";
import type { RunSettings } from "../../../domain/runs/benchmark-result.js";
import type { Db } from "../../../store/connection/open-store.js";
import { readImportFilter } from "../../../store/import/corpus-stats.js";
import { attachedOrDefault } from "../../../tools/attached-tools.js";
import { toolsDigest } from "../../../tools/load-tools.js";
import { offeredToolIds } from "../../../tools/offered-tools.js";
import { currentVersion } from "../../registry/versions.js";
import { chosenScorers, wantsJudge } from "../../score/choose-scorers.js";
import { asksJudge, cheapModel, judgeSettings } from "../../score/judge-settings.js";
import { baseUrlOf } from "../../settings/endpoints.js";
import type { Environment } from "../../settings/env-file.js";
import type { AppContext } from "../../use-case-context.js";
import { modelNameOf } from "../create-model.js";
import { targetModelName } from "./choose-agent-target.js";
import type { RunOptions } from "./run-options.js";
import { withSent } from "./sent-parameters.js";

/** The settings of a new run of this agent. */
export function newRunSettings(db: Db, options: RunOptions, agent: Agent, { settings }: AppContext): RunSettings {
  const name = modelNameOf(options, agent);
  const baseUrl = baseUrlOf(name.provider, options.baseUrl, settings.env);
  // A judge that nobody asked for is not paid for where no scorer uses it.
  const isUnused = !asksJudge(options) && !wantsJudge(options.scorers);
  const cheap = isUnused ? null : cheapModel(name.provider, baseUrl, settings.env);
  const judge = judgeSettings(options, null, cheap, settings.env);
  const reasoningTokens = options.reasoningTokens ?? agent.settings.reasoningTokens;
  const mailFilter = readImportFilter(db);
  return withSent({
    agentId: agent.id,
    agentVersion: currentVersion(db, agent.id),
    model: name.id,
    baseUrl,
    wireApi: options.wireApi ?? null,
    prompt: agent.prompt,
    tools: attachedOrDefault(db, agent.id).map(({ tool }) => tool.id),
    toolsDigest: toolsDigest(db, agent.id),
    maxTurns: options.maxTurns ?? agent.settings.maxTurns,
    maxTokens: options.maxTokens ?? agent.settings.maxTokens,
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
    temperature: options.temperature ?? agent.settings.temperature ?? null,
    toolCalls: agent.settings.toolCalls,
    toolChoice: agent.settings.toolChoice,
    ...settingsOfAnyAgent(options),
    ...(mailFilter === null ? {} : { mailFilter }),
    maxTaskCostUsd: options.maxTaskCost ?? null,
    ...(options.unsafeHostPython ? { unsafeHostPython: true } : {}),
    scorers: chosenScorers(options.scorers, judge !== null),
    judge,
  });
}

/** The settings of a new run with an external agent: what it ignores has its default. */
export function externalAgentSettings(
  target: AgentTarget,
  agentId: string,
  options: RunOptions,
  env: Environment,
  access: { readonly mailbox: boolean; readonly machine: boolean } = { mailbox: true, machine: false },
): RunSettings {
  const tools = target.kind === "command" ? offeredToolIds(access) : [];
  const { maxTurns, maxTokens, toolCalls, toolChoice } = agentSettingsSchema.parse({});
  const judge = judgeSettings(options, null, null, env);
  return {
    agentId,
    agentVersion: 0,
    elsewhere: target,
    model: targetModelName(target, agentId, options),
    baseUrl: null,
    wireApi: null,
    prompt: "",
    tools,
    toolsDigest: createHash("sha256").update(JSON.stringify(tools)).digest("hex"),
    maxTurns: options.maxTurns ?? maxTurns,
    maxTokens,
    temperature: null,
    toolCalls,
    toolChoice,
    ...settingsOfAnyAgent(options),
    maxTaskCostUsd: null,
    scorers: chosenScorers(options.scorers, judge !== null),
    judge,
  };
}

function settingsOfAnyAgent(options: RunOptions) {
  const { limit, minRealism, maxSources, ids, inbox, excludeKnownBad, shuffle, seed } = options;
  return {
    cutoff: options.cutoff,
    taskTimeoutMs: options.taskTimeout * 1_000,
    price: options.price ?? null,
    concurrency: options.concurrency,
    epochs: options.epochs,
    selection: { limit, minRealism, maxSources, ids, inbox, excludeKnownBad, shuffle, seed },
  };
}
