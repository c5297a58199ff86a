import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { externalModelName, FLAG_OF, requestedExternalAgent } from "../agents/external-agent.js";
import { currentVersion } from "../agents/registry-store.js";
import { readImportFilter } from "../mail/corpus.js";
import { checkBaseUrl } from "../models/endpoint.js";
import { isRemote, type ModelName, parseModelName } from "../models/model-names.js";
import { baseUrlOf, baseUrlVariable, refuseStoredAddress, wireApiOf } from "../models/open-model.js";
import { changedExtras, recordedExtras } from "../models/request-extras.js";
import { rulesFor, sentParameters } from "../models/request-parameters.js";
import type { AppContext } from "../platform/app-context.js";
import { flagName } from "../platform/command-line.js";
import type { Environment } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { trimEndOf } from "../platform/strings.js";
import type { SelectionOptions } from "../questions/dataset.js";
import { asksJudge, cheapModel, judgeSettings } from "../scoring/judge-settings.js";
import type { Db } from "../store/open-store.js";
import type { SuiteFolder } from "../suites/suite-folder.js";
import { offeredToolIds, toolsDigest } from "../tools/load-tools.js";
import { type Agent, agentSettingsSchema, attachedOrDefault } from "../tools/tool.js";
import type { AgentTarget, RunSettings } from "../traces/run-settings.js";
import { modelNameOf } from "./model-of-run.js";
import type { RunOptions } from "./run-flags.js";
import { chosenScorers, type RunRequest, refuseFlags, wantsJudge } from "./run-options.js";

/** Returns the agent as it was when the run was created. Its row might have changed since. */
export function agentOf(settings: RunSettings): Agent {
  const { agentId, prompt, model, maxTurns, maxTokens, temperature, toolCalls, toolChoice } = settings;
  const { reasoningTokens, reasoningEffort } = settings;
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
      reasoningEffort,
      toolCalls,
      toolChoice,
      ...(temperature === null ? {} : { temperature }),
    }),
  };
}

/** Returns a stored run's settings, overridden by the options given now. */
export function requestedSettings(
  stored: RunSettings,
  options: RunRequest,
  { settings: { env } }: AppContext,
): RunSettings {
  const { given } = options;
  const where = requestedExternalAgent(stored.elsewhere, options);
  if (where !== undefined) refuseFlagsTargetIgnores(where, options);
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
    ...(options.reasoningEffort === undefined ? {} : { reasoningEffort: options.reasoningEffort }),
    ...changedExtras(stored, options),
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
  return options.modelId === undefined ? stored.model : externalModelName(where, agentId, options);
}

/** Returns the changed settings that must stay the same while a run continues, as `name was A and would be B`. */
export function differences(stored: RunSettings, requested: RunSettings): string[] {
  const { sent, ...asked } = withRaisedLimitsOf(stored, withAddressesOf(stored, requested));
  const changed = differing(stored, asked);
  // `sent` follows from the other settings. It differs alone if this version of art-e knows the model's rules better.
  return changed.length > 0 || sent === undefined ? changed : differing(stored, { sent });
}

/** Describes the run's servers whose address has changed. This does not change the answers. */
export function movedServers(stored: RunSettings, requested: RunSettings): string[] {
  const before = addressesOf(stored);
  const shown = (address: string | null) => address ?? "the provider's own URL";
  return Object.entries(addressesOf(requested)).flatMap(([server, address]) => {
    const old = before[server as keyof typeof before];
    if (old === undefined || address === undefined || old === address) return [];
    return [`${server} was at ${shown(old)} and is at ${shown(address)}`];
  });
}

/** Describes the raised task limits. More time or money does not make earlier answers worse. */
export function raisedLimits(stored: RunSettings, requested: RunSettings): string[] {
  const { taskTimeoutMs, maxTaskCostUsd } = requested;
  const [timeout, cost] = [stored.taskTimeoutMs, stored.maxTaskCostUsd];
  return [
    ...(taskTimeoutMs > timeout ? [`--task-timeout was ${timeout / 1_000} and is ${taskTimeoutMs / 1_000}`] : []),
    ...(isRaised(cost, maxTaskCostUsd) ? [`--max-task-cost was ${cost} and is ${maxTaskCostUsd}`] : []),
  ];
}

function isRaised(before: number | null, now: number | null): boolean {
  return before !== null && now !== null && now > before;
}

/** Returns the requested settings, with the stored limits in place of raised ones. */
function withRaisedLimitsOf(stored: RunSettings, requested: RunSettings): RunSettings {
  const { taskTimeoutMs, maxTaskCostUsd } = requested;
  return {
    ...requested,
    taskTimeoutMs: Math.min(taskTimeoutMs, stored.taskTimeoutMs),
    maxTaskCostUsd: isRaised(stored.maxTaskCostUsd, maxTaskCostUsd) ? stored.maxTaskCostUsd : maxTaskCostUsd,
  };
}

/** Returns the address of each server. Null is the provider's own address. Undefined if the run has no such server. */
function addressesOf({ baseUrl, judge, elsewhere }: RunSettings) {
  return {
    "the model server": elsewhere === undefined ? baseUrl : undefined,
    "the judge's server": judge?.baseUrl,
    "the agent's server": urlOf(elsewhere),
  };
}

function urlOf(elsewhere: AgentTarget | undefined): string | undefined {
  return elsewhere !== undefined && "url" in elsewhere ? elsewhere.url : undefined;
}

/** Returns the requested settings with the stored addresses of the same servers. */
function withAddressesOf(stored: RunSettings, requested: RunSettings): RunSettings {
  const { judge, elsewhere } = requested;
  const url = urlOf(stored.elsewhere);
  return {
    ...requested,
    baseUrl: stored.baseUrl,
    ...(judge === null || stored.judge === null ? {} : { judge: { ...judge, baseUrl: stored.judge.baseUrl } }),
    ...(elsewhere === undefined || !("url" in elsewhere) || url === undefined
      ? {}
      : { elsewhere: { ...elsewhere, url } }),
  };
}

/** Returns a note if the environment specifies a different server than the run continues with, or null otherwise. */
export function unusedAddress(
  { model, baseUrl, elsewhere }: RunSettings,
  options: RunOptions,
  env: Environment,
): string | null {
  if (options.baseUrl !== undefined || elsewhere !== undefined) return null;
  const variable = baseUrlVariable(parseModelName(model, null).provider);
  const address = variable === null ? undefined : env[variable];
  if (!address) return null;
  if (trimEndOf(address.trim(), "/") === trimEndOf(baseUrl ?? "", "/")) return null;
  return `the model server is still ${baseUrl ?? "the provider's own"}, not the one in ${variable}. To change it, pass --base-url URL`;
}

function differing(stored: RunSettings, asked: Partial<RunSettings>): string[] {
  return Object.entries(asked).flatMap(([name, now]) => {
    const before = stored[name as keyof RunSettings];
    const [a, b] = [JSON.stringify(before), JSON.stringify(now)];
    return a === b ? [] : [`${name} was ${a} and would be ${b}`];
  });
}

export function newRunSettings(db: Db, options: RunOptions, agent: Agent, { settings }: AppContext): RunSettings {
  const name = modelNameOf(options, agent);
  const baseUrl = baseUrlOf(name.provider, options.baseUrl, settings.env);
  // Avoids the cost of a judge that was not requested and that no scorer uses.
  const isUnused = !asksJudge(options) && !wantsJudge(options.scorers);
  const cheap = isUnused ? null : cheapModel(name.provider, baseUrl, settings.env);
  const judge = judgeSettings(options, null, cheap, settings.env);
  const reasoningTokens = options.reasoningTokens ?? agent.settings.reasoningTokens;
  const reasoningEffort = options.reasoningEffort ?? agent.settings.reasoningEffort;
  refuseExtrasWithoutServer(name, options);
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
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    ...recordedExtras(options),
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

/** Returns the settings of a new run with an external agent. Settings that the agent ignores have their defaults. */
export function externalAgentSettings(
  target: AgentTarget,
  agentId: string,
  options: RunRequest,
  env: Environment,
  access: { readonly mailbox: boolean; readonly machine: boolean } = { mailbox: true, machine: false },
): RunSettings {
  const tools = target.kind === "command" || target.kind === "human" ? offeredToolIds(access) : [];
  const { maxTurns, maxTokens, toolCalls, toolChoice } = agentSettingsSchema.parse({});
  const judge = judgeSettings(options, null, null, env);
  return {
    agentId,
    agentVersion: 0,
    elsewhere: target,
    model: externalModelName(target, agentId, options),
    baseUrl: null,
    wireApi: null,
    prompt: "",
    tools,
    toolsDigest: createHash("sha256").update(JSON.stringify(tools)).digest("hex"),
    maxTurns: options.maxTurns ?? maxTurns,
    maxTokens,
    temperature: null,
    ...recordedExtras(options),
    toolCalls,
    toolChoice,
    ...settingsOfAnyAgent(options),
    ...(target.kind === "human" ? conditionsOfPerson(options) : {}),
    maxTaskCostUsd: null,
    scorers: chosenScorers(options.scorers, judge !== null),
    judge,
  };
}

/** A person answers one question at a time and takes breaks. */
function conditionsOfPerson({ given, taskTimeout }: RunRequest) {
  return { concurrency: 1, taskTimeoutMs: given.has("taskTimeout") ? taskTimeout * 1_000 : 24 * 3_600_000 };
}

function settingsOfAnyAgent(options: RunOptions) {
  return {
    cutoff: options.cutoff,
    taskTimeoutMs: options.taskTimeout * 1_000,
    price: options.price ?? null,
    concurrency: options.concurrency,
    epochs: options.epochs,
    selection: selectionOf(options),
  };
}

export function selectionOf(options: SelectionOptions & Pick<RunOptions, "limit">): RunSettings["selection"] {
  const { limit, minRealism, maxSources, ids, inbox, excludeKnownBad, shuffle, seed } = options;
  return { limit, minRealism, maxSources, ids, inbox, excludeKnownBad, shuffle, seed };
}

/** Returns the settings with the parameters that are actually sent, because some models do not accept all of them. */
function withSent({ sent: _, ...settings }: RunSettings): RunSettings {
  const { maxTokens, reasoningTokens, reasoningEffort, temperature, tools } = settings;
  const baseUrl = settings.baseUrl === null ? null : checkBaseUrl(settings.baseUrl);
  const rules = rulesFor(parseModelName(settings.model, null), wireApiOf(settings.wireApi, baseUrl));
  if (rules === null) return settings;
  const toolChoice = settings.toolChoice === "required" ? "required" : "auto";
  const reasoning = { reasoningTokens, reasoningEffort };
  const asked = { maxTokens, ...reasoning, temperature: temperature ?? undefined, toolChoice } as const;
  return { ...settings, sent: sentParameters(rules, { ...asked, hasTools: tools.length > 0 }) };
}

const FLAGS: Readonly<Record<string, string>> = {
  temperature: "temperature",
  toolChoice: "tool choice",
  reasoningEffort: "reasoning effort",
};

export function notesOnSent({ sent, model }: RunSettings): string[] {
  return (sent?.adjusted ?? [])
    .filter(({ parameter }) => parameter in FLAGS)
    .map(({ parameter, asked, sent: instead, reason }) => {
      const what = instead === null ? "is not sent" : `is sent as ${instead}`;
      return `art-e: the ${FLAGS[parameter]} ${asked} ${what} to ${model}: ${reason}.`;
    });
}

function refuseExtrasWithoutServer({ id, provider }: ModelName, { header, body }: RunOptions): void {
  if (isRemote(provider) || (header === undefined && body === undefined)) return;
  throw new UserError(
    "flags_contradict",
    `--${header === undefined ? "body" : "header"} applies only to requests to a server, and ${id} sends none.`,
    "Remove it, or choose a provider's model.",
  );
}

const ORACLE_MODEL = "offline/oracle";

export function refuseOracle(model: string): void {
  if (model !== ORACLE_MODEL) return;
  throw new UserError(
    "flags_contradict",
    `The model ${model} only answers suite tasks.`,
    "Pass --suite FOLDER, or use another agent.",
  );
}

export async function oracleSettings(model: string, named: string | undefined, folder: SuiteFolder) {
  if (model === ORACLE_MODEL) {
    const { findOracleFile } = await import("../suites/oracle.js");
    return { oracle: findOracleFile(named, folder) };
  }
  if (named !== undefined) throw notFor(model);
  return {};
}

function requestedOracle(stored: RunSettings, named: string | undefined) {
  if (named === undefined) return {};
  if (stored.oracle === undefined) throw notFor(stored.model);
  return { oracle: resolve(named) };
}

function notFor(model: string): UserError {
  const what = `--oracle is for the agent oracle, and the agent's model is ${model}.`;
  return new UserError("flags_contradict", what, "Leave it out, or run -a oracle.");
}

export function refuseFlagsTargetIgnores({ kind }: AgentTarget, { given, cutoff }: RunRequest): void {
  refuseFlags(kind, given);
  if (given.has("cutoff") && cutoff === "off" && kind !== "command" && kind !== "human") {
    const message = `--cutoff off does not apply to an external agent (${FLAG_OF[kind]}).`;
    throw new UserError("flags_contradict", message, "Remove --cutoff.");
  }
}
