import { resolve } from "node:path";
import { type Agent, agentSettingsSchema } from "../../../domain/agents/agent.js";
import type { AgentTarget } from "../../../domain/agents/agent-target.js";
import type { RunSettings } from "../../../domain/runs/benchmark-result.js";
import { parseModelName } from "../../../models/model-name.js";
import { chosenScorers } from "../../score/choose-scorers.js";
import { asksJudge, cheapModel, judgeSettings } from "../../score/judge-settings.js";
import { refuseStoredAddress } from "../../settings/endpoints.js";
import type { AppContext } from "../../use-case-context.js";
import { modelNameOf } from "../create-model.js";
import { refuseFlagsTargetIgnores, requestedAgentTarget, targetModelName } from "./choose-agent-target.js";
import { requestedOracle } from "./choose-oracle.js";
import type { RunOptions, RunRequest } from "./run-options.js";
import { withSent } from "./sent-parameters.js";

/** The agent as it was when the run was created: its row may have changed since. */
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

/** A stored run's settings, with the options that were given now in their place. */
export function requestedSettings(
  stored: RunSettings,
  { options, given }: Pick<RunRequest, "options" | "given">,
  { settings: { env } }: AppContext,
): RunSettings {
  const where = requestedAgentTarget(stored.elsewhere, options);
  if (where !== undefined) refuseFlagsTargetIgnores(where, { options, given });
  const agentId = options.agent ?? stored.agentId;
  if (where === undefined && options.baseUrl === undefined) {
    refuseStoredAddress(parseModelName(stored.model, null).provider, stored.baseUrl, env);
  }
  if (stored.judge !== null && !asksJudge(options)) {
    refuseStoredAddress(parseModelName(stored.judge.model, null).provider, stored.judge.baseUrl, env);
  }
  const cheap =
    where === undefined ? cheapModel(modelNameOf(options, agentOf(stored)).provider, stored.baseUrl, env) : null;
  const judge = asksJudge(options) ? judgeSettings(options, stored.judge, cheap, env) : stored.judge;
  const isRescored = options.scorers !== undefined || (judge === null) !== (stored.judge === null);
  const requested: RunSettings = {
    ...stored,
    agentId,
    ...(where === undefined ? {} : { elsewhere: where }),
    model: requestedModel(stored, where, agentId, options),
    baseUrl: options.baseUrl ?? stored.baseUrl,
    wireApi: options.wireApi ?? stored.wireApi,
    maxTurns: options.maxTurns ?? stored.maxTurns,
    maxTokens: options.maxTokens ?? stored.maxTokens,
    ...(options.reasoningTokens === undefined ? {} : { reasoningTokens: options.reasoningTokens }),
    temperature: options.temperature ?? stored.temperature,
    cutoff: given.has("cutoff") ? options.cutoff : stored.cutoff,
    taskTimeoutMs: given.has("taskTimeout") ? options.taskTimeout * 1_000 : stored.taskTimeoutMs,
    maxTaskCostUsd: options.maxTaskCost ?? stored.maxTaskCostUsd,
    ...(options.functions === undefined ? {} : { functions: resolve(options.functions) }),
    ...(options.unsafeHostPython ? { unsafeHostPython: true } : {}),
    ...requestedOracle(stored, options.oracle),
    scorers: isRescored ? chosenScorers(options.scorers, judge !== null) : stored.scorers,
    judge,
  };
  return stored.sent === undefined ? requested : withSent(requested);
}

function requestedModel(
  stored: RunSettings,
  where: AgentTarget | undefined,
  agentId: string,
  options: RunOptions,
): string {
  if (where === undefined) return modelNameOf(options, agentOf(stored)).id;
  return options.modelId === undefined ? stored.model : targetModelName(where, agentId, options);
}

/** What differs between two settings, a line each. */
export function differences(stored: RunSettings, { sent, ...asked }: RunSettings): string[] {
  const changed = differing(stored, asked);
  // `sent` follows from the rest. It differs alone where this version of art-e knows the model's rules better.
  return changed.length > 0 || sent === undefined ? changed : differing(stored, { sent });
}

function differing(stored: RunSettings, asked: Partial<RunSettings>): string[] {
  return Object.entries(asked).flatMap(([name, now]) => {
    const before = stored[name as keyof RunSettings];
    const [a, b] = [JSON.stringify(before), JSON.stringify(now)];
    return a === b ? [] : [`${name} was ${a} and would be ${b}`];
  });
}
