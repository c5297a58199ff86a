import type { CommandContext } from "../../commands/cli/command.js";
import { asksJudge, cheapModel, judgeSettings } from "../../commands/flags/judge-flags.js";
import { chosenScorers, wantsJudge } from "../../commands/flags/scorer-flags.js";
import type { RunFlags } from "../../commands/run/run-flags.js";
import { type Agent, agentSettingsSchema } from "../../domain/agents/agent.js";
import type { AgentTarget } from "../../domain/agents/agent-target.js";
import type { RunSettings } from "../../domain/runs/benchmark-result.js";
import { parseModelName } from "../../models/model-name.js";
import type { Db } from "../../store/connection/open-store.js";
import { readImportFilter } from "../../store/import/corpus-stats.js";
import { attachedOrDefault, toolsDigest } from "../../tools/load-tools.js";
import { currentVersion } from "../registry/versions.js";
import { baseUrlOf, refuseStoredAddress } from "../settings/settings.js";
import { refuseFlagsTargetIgnores, requestedAgentTarget, targetModelName } from "./agent-target.js";
import { modelNameOf } from "./create-model.js";
import { withSent } from "./sent-parameters.js";

/** What a new run of this agent is made with. */
export function newRunSettings(db: Db, flags: RunFlags, agent: Agent, { settings }: CommandContext): RunSettings {
  const name = modelNameOf(flags, agent);
  const baseUrl = baseUrlOf(name.provider, flags.baseUrl, settings.env);
  // One that nobody asked for is not paid for where no scorer would listen to it.
  const isIdle = !asksJudge(flags) && !wantsJudge(flags.scorers);
  const cheap = isIdle ? null : cheapModel(name.provider, baseUrl, settings.env);
  const judge = judgeSettings(flags, null, cheap, settings.env);
  const { limit, minRealism, maxSources, ids, inbox, excludeKnownBad, shuffle, seed } = flags;
  const reasoningTokens = flags.reasoningTokens ?? agent.settings.reasoningTokens;
  const mailFilter = readImportFilter(db);
  return withSent({
    agentId: agent.id,
    agentVersion: currentVersion(db, agent.id),
    model: name.id,
    baseUrl,
    wireApi: flags.wireApi ?? null,
    prompt: agent.prompt,
    tools: attachedOrDefault(db, agent.id).map(({ tool }) => tool.id),
    toolsDigest: toolsDigest(db, agent.id),
    maxTurns: flags.maxTurns ?? agent.settings.maxTurns,
    maxTokens: flags.maxTokens ?? agent.settings.maxTokens,
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
    temperature: flags.temperature ?? agent.settings.temperature ?? null,
    toolCalls: agent.settings.toolCalls,
    toolChoice: agent.settings.toolChoice,
    cutoff: flags.cutoff,
    ...(mailFilter === null ? {} : { mailFilter }),
    taskTimeoutMs: flags.taskTimeout * 1_000,
    maxTaskCostUsd: flags.maxTaskCost ?? null,
    price: flags.price ?? null,
    concurrency: flags.concurrency,
    epochs: flags.epochs,
    ...(flags.unsafeHostPython ? { unsafeHostPython: true } : {}),
    scorers: chosenScorers(flags.scorers, judge !== null),
    judge,
    selection: { limit, minRealism, maxSources, ids, inbox, excludeKnownBad, shuffle, seed },
  });
}

/** The agent as the run has it, whatever its row says by now. */
export function agentOf(settings: RunSettings): Agent {
  const { agentId, prompt, model, maxTurns, maxTokens, reasoningTokens, temperature, toolCalls, toolChoice } = settings;
  return {
    id: agentId,
    name: agentId,
    description: "",
    prompt,
    model,
    settings: agentSettingsSchema.parse({
      maxTurns,
      maxTokens,
      reasoningTokens,
      toolCalls,
      toolChoice,
      ...(temperature === null ? {} : { temperature }),
    }),
  };
}

/** A run's settings with what the command line asks for beyond them. */
export function askedFor(
  stored: RunSettings,
  flags: RunFlags,
  argv: Readonly<Record<string, unknown>>,
  door: CommandContext,
): RunSettings {
  const where = requestedAgentTarget(stored.elsewhere, flags);
  if (where !== undefined) refuseFlagsTargetIgnores(where, argv);
  const agentId = flags.agent ?? stored.agentId;
  const { env } = door.settings;
  if (where === undefined && flags.baseUrl === undefined) {
    refuseStoredAddress(parseModelName(stored.model, null).provider, stored.baseUrl, env);
  }
  if (stored.judge !== null && !asksJudge(flags)) {
    refuseStoredAddress(parseModelName(stored.judge.model, null).provider, stored.judge.baseUrl, env);
  }
  const cheap =
    where === undefined ? cheapModel(modelNameOf(flags, agentOf(stored)).provider, stored.baseUrl, env) : null;
  const judge = asksJudge(flags) ? judgeSettings(flags, stored.judge, cheap, env) : stored.judge;
  const isRegraded = flags.scorers !== undefined || (judge === null) !== (stored.judge === null);
  const asked: RunSettings = {
    ...stored,
    agentId,
    ...(where === undefined ? {} : { elsewhere: where }),
    model: modelAskedFor(stored, where, agentId, flags),
    baseUrl: flags.baseUrl ?? stored.baseUrl,
    wireApi: flags.wireApi ?? stored.wireApi,
    maxTurns: flags.maxTurns ?? stored.maxTurns,
    maxTokens: flags.maxTokens ?? stored.maxTokens,
    ...(flags.reasoningTokens === undefined ? {} : { reasoningTokens: flags.reasoningTokens }),
    temperature: flags.temperature ?? stored.temperature,
    cutoff: argv.cutoff === undefined ? stored.cutoff : flags.cutoff,
    taskTimeoutMs: argv.taskTimeout === undefined ? stored.taskTimeoutMs : flags.taskTimeout * 1_000,
    maxTaskCostUsd: flags.maxTaskCost ?? stored.maxTaskCostUsd,
    ...(flags.unsafeHostPython ? { unsafeHostPython: true } : {}),
    scorers: isRegraded ? chosenScorers(flags.scorers, judge !== null) : stored.scorers,
    judge,
  };
  return stored.sent === undefined ? asked : withSent(asked);
}

function modelAskedFor(stored: RunSettings, where: AgentTarget | undefined, agentId: string, flags: RunFlags): string {
  if (where === undefined) return modelNameOf(flags, agentOf(stored)).id;
  return flags.modelId === undefined ? stored.model : targetModelName(where, agentId, flags);
}

export function differences(stored: RunSettings, { sent, ...asked }: RunSettings): string[] {
  const changed = differing(stored, asked);
  // What is sent follows from the rest; by itself it differs where this version knows the model better.
  return changed.length > 0 || sent === undefined ? changed : differing(stored, { sent });
}

function differing(stored: RunSettings, asked: Partial<RunSettings>): string[] {
  return Object.entries(asked).flatMap(([name, now]) => {
    const before = stored[name as keyof RunSettings];
    const [a, b] = [JSON.stringify(before), JSON.stringify(now)];
    return a === b ? [] : [`${name} was ${a} and would be ${b}`];
  });
}
