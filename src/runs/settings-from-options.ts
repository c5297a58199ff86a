// The settings of a new run from its options, and what differs when a stored run continues with others.
import { resolve } from "node:path";
import { type Agent, agentSettingsSchema } from "../agents/agent.js";
import {
  externalAgentOf,
  externalModelName,
  FLAG_OF,
  hasOwnTools,
  requestedExternalAgent,
} from "../agents/external-agent.js";
import { currentVersion } from "../agents/registry-store.js";
import { toolResultsFor } from "../agents/tool-result-text.js";
import { readImportFilter } from "../mail/corpus.js";
import { baseUrlOf, baseUrlVariable, refuseStoredAddress } from "../models/connections.js";
import { checkBaseUrl } from "../models/endpoint.js";
import { isRemote, type ModelName, parseModelName } from "../models/model-names.js";
import { wireApiOf } from "../models/open-model.js";
import { changedExtras, recordedExtras } from "../models/request-extras.js";
import { rulesFor, sentParameters } from "../models/request-parameters.js";
import type { AppContext } from "../platform/app-context.js";
import type { Environment } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { definedProperties, presentProperties } from "../platform/optional-values.js";
import { trimEndOf } from "../platform/trim-end.js";
import { type FunctionScore, isFunctionScore } from "../scoring/function-scorers.js";
import { asksJudge, cheapModel, judgeSettings } from "../scoring/judge-settings.js";
import type { Db } from "../store/open-store.js";
import type { SuiteFolder } from "../suites/suite-folder.js";
import { type OfferedAccess, offeredToolIds, toolsDigest } from "../tools/load-tools.js";
import { attachedOrDefault } from "../tools/tools-store.js";
import {
  type AgentTarget,
  type ExecutedRunSettings,
  type ExternalRunSettings,
  externalRunSettingsSchema,
  type OwnRunSettings,
  type TrainingRunSettings,
} from "../traces/run-settings.js";
import { modelNameOf } from "./model-of-run.js";
import { flagsWhere, type GivenSettings, RUN_FLAGS, type RunFlagName, type RunOptions } from "./run-flags.js";
import { chosenScorers, type RunRequest, refuseFlags, refuseUnusedJudge, wantsJudge } from "./run-options.js";

/** Settings of a run that art-e can continue. */
type ContinuableSettings = ExecutedRunSettings | TrainingRunSettings;

/** Returns the agent as it was when the run was created. Its row might have changed since. */
export function agentOf(settings: ExecutedRunSettings): Agent {
  const { agentId, model, maxTurns } = settings;
  const agent = { id: agentId, name: agentId, description: "", model };
  // An external agent has its own prompt.
  if (settings.kind === "external") return { ...agent, prompt: "", settings: agentSettingsSchema.parse({ maxTurns }) };
  const { prompt, maxTokens, temperature, toolCalls, toolChoice, toolResults, reasoningTokens, reasoningEffort } =
    settings;
  return {
    ...agent,
    prompt,
    settings: agentSettingsSchema.parse({
      maxTurns,
      maxTokens,
      reasoningTokens,
      reasoningEffort,
      toolCalls,
      toolChoice,
      toolResults,
      ...presentProperties({ temperature }),
    }),
  };
}

/** Returns a stored run's settings, overridden by the options given now. */
export function requestedSettings(
  stored: ExecutedRunSettings,
  options: RunRequest,
  context: AppContext,
): ExecutedRunSettings {
  if (stored.kind === "external") {
    return requestedExternalSettings(stored, requestedExternalAgent(stored.externalAgent, options), options, context);
  }
  const target = externalAgentOf(options, {});
  if (target === undefined) return requestedOwnSettings(stored, options, context);
  const external = { ...stored, kind: "external", externalAgent: target };
  return requestedExternalSettings(externalRunSettingsSchema.strip().parse(external), target, options, context);
}

function requestedOwnSettings(
  stored: OwnRunSettings,
  options: RunRequest,
  { settings: { env } }: AppContext,
): OwnRunSettings {
  if (options.baseUrl === undefined) {
    refuseStoredAddress(parseModelName(stored.model, null).provider, stored.baseUrl, env);
  }
  const model = modelNameOf(options, agentOf(stored));
  const requested: OwnRunSettings = {
    ...stored,
    ...requestedConditions(stored, options, cheapModel(model.provider, stored.baseUrl, env), env),
    model: model.id,
    baseUrl: options.baseUrl ?? stored.baseUrl,
    ...givenSettings(options),
    ...(options.unsafeHostPython ? { unsafeHostPython: true } : {}),
    ...options.perturb,
    ...requestedOracle(stored, options.oracle),
  };
  return stored.sent === undefined ? requested : withSent(requested);
}

function requestedExternalSettings(
  stored: ExternalRunSettings,
  target: AgentTarget,
  options: RunRequest,
  { settings: { env } }: AppContext,
): ExternalRunSettings {
  refuseFlagsTargetIgnores(target, options);
  if (options.oracle !== undefined) throw notFor(stored.model);
  const conditions = requestedConditions(stored, options, null, env);
  const { agentId } = conditions;
  const model = options.modelId === undefined ? stored.model : externalModelName(target, agentId, options);
  return { ...stored, ...conditions, externalAgent: target, model };
}

/** Returns the requested settings that every run of art-e has. `cheap` is the default judge. */
function requestedConditions(
  stored: ExecutedRunSettings,
  options: RunRequest,
  cheap: ReturnType<typeof cheapModel>,
  env: Environment,
) {
  const { explicitFlags } = options;
  if (stored.judge !== null && !asksJudge(options)) {
    refuseStoredAddress(parseModelName(stored.judge.model, null).provider, stored.judge.baseUrl, env);
  }
  const judge = asksJudge(options) ? judgeSettings(options, stored.judge, cheap, env) : stored.judge;
  const functions = functionScorersOf(stored, options);
  const isRescored = options.scorers !== undefined || (judge === null) !== (stored.judge === null);
  return {
    agentId: options.agent ?? stored.agentId,
    maxTurns: options.maxTurns ?? stored.maxTurns,
    ...changedExtras(stored, options),
    cutoff: explicitFlags.has("cutoff") ? options.cutoff : stored.cutoff,
    taskTimeoutMs: explicitFlags.has("taskTimeout") ? options.taskTimeout * 1_000 : stored.taskTimeoutMs,
    ...(options.functions === undefined ? {} : { functions: resolve(options.functions) }),
    scorers: isRescored ? [...chosenScorers(options.scorers, judge !== null), ...functions] : stored.scorers,
    judge,
  };
}

/** Returns the run's function scorers. Throws a UserError if the caller does not provide all of them. */
function functionScorersOf({ scorers }: ExecutedRunSettings, { functionScorers = [] }: RunRequest): FunctionScore[] {
  const functions = scorers.filter(isFunctionScore);
  const missing = functions.find((name) => functionScorers.every((scorer) => scorer.name !== name));
  if (missing === undefined) return functions;
  throw new UserError(
    "scorer_missing",
    `The run has the scorer ${missing}, which is a function of a program.`,
    "Continue the run in that program: resumeArtEBenchmark(RUN, { scorers }).",
  );
}

/** Returns the changed settings that must stay the same while a run continues, as `name was A and would be B`. */
export function differences(stored: ContinuableSettings, requested: ContinuableSettings): string[] {
  const { sent, ...changes } = withHarmlessSettingsOf(stored, requested);
  const changed = differing(stored, changes);
  // `sent` follows from the other settings. It differs alone if this version of art-e knows the model's rules better.
  return changed.length > 0 || sent === undefined ? changed : differing(stored, { sent });
}

/** Describes the run's servers whose address has changed. This does not change the answers. */
export function movedServers(stored: ExecutedRunSettings, requested: ExecutedRunSettings): string[] {
  const before = addressesOf(stored);
  const shown = (address: string | null) => address ?? "the provider's own URL";
  return Object.entries(addressesOf(requested)).flatMap(([server, address]) => {
    const old = before[server];
    if (old === undefined || address === undefined || old === address) return [];
    return [`${server} was at ${shown(old)} and is at ${shown(address)}`];
  });
}

/** Describes the raised task limits. More time or money does not make earlier answers worse. */
export function raisedLimits(stored: ExecutedRunSettings, requested: ExecutedRunSettings): string[] {
  const [before, now] = [stored.taskTimeoutMs / 1_000, requested.taskTimeoutMs / 1_000];
  const raised = now > before ? [`--task-timeout was ${before} and is ${now}`] : [];
  if (stored.kind !== "own" || requested.kind !== "own") return raised;
  const [cost, newCost] = [stored.maxTaskCostUsd, requested.maxTaskCostUsd];
  return isRaised(cost, newCost) ? [...raised, `--max-task-cost was ${cost} and is ${newCost}`] : raised;
}

function isRaised(before: number | null, now: number | null): boolean {
  return before !== null && now !== null && now > before;
}

/** Returns the requested settings, with the stored limits in place of raised ones, and the stored addresses. */
function withHarmlessSettingsOf(stored: ContinuableSettings, requested: ContinuableSettings): Record<string, unknown> {
  const taskTimeoutMs = Math.min(requested.taskTimeoutMs, stored.taskTimeoutMs);
  const isJudged = requested.judge !== null && stored.judge !== null;
  const judge = isJudged ? { ...requested.judge, baseUrl: stored.judge.baseUrl } : requested.judge;
  const shared = { ...requested, taskTimeoutMs, judge };
  if (stored.kind === "own" && requested.kind === "own") {
    const { baseUrl, maxTaskCostUsd: cost, perturbation, attackKinds } = stored;
    const maxTaskCostUsd = isRaised(cost, requested.maxTaskCostUsd) ? cost : requested.maxTaskCostUsd;
    // Only a repeat can change the perturbation, and that is its purpose.
    return { ...shared, baseUrl, maxTaskCostUsd, perturbation, attackKinds };
  }
  if (stored.kind !== "external" || requested.kind !== "external") return shared;
  const url = urlOf(stored.externalAgent);
  const hasMoved = url !== undefined && urlOf(requested.externalAgent) !== undefined;
  return hasMoved ? { ...shared, externalAgent: { ...requested.externalAgent, url } } : shared;
}

/** Returns the address of each server. Null is the provider's own address. Undefined if the run has no such server. */
function addressesOf(settings: ExecutedRunSettings): Readonly<Record<string, string | null | undefined>> {
  return {
    ...(settings.kind === "own" ? { "the model server": settings.baseUrl } : {}),
    "the judge's server": settings.judge?.baseUrl,
    ...(settings.kind === "external" ? { "the agent's server": urlOf(settings.externalAgent) } : {}),
  };
}

function urlOf(target: AgentTarget): string | undefined {
  return "url" in target ? target.url : undefined;
}

/** Returns a note if the environment specifies a different server than the run continues with, or null otherwise. */
export function unusedAddress(settings: ExecutedRunSettings, options: RunOptions, env: Environment): string | null {
  if (options.baseUrl !== undefined || settings.kind === "external") return null;
  const { model, baseUrl } = settings;
  const variable = baseUrlVariable(parseModelName(model, null).provider);
  const address = variable === null ? undefined : env[variable];
  if (!address) return null;
  if (trimEndOf(address.trim(), "/") === trimEndOf(baseUrl ?? "", "/")) return null;
  return `the model server is still ${baseUrl ?? "the provider's own"}, not the one in ${variable}. To change it, pass --base-url URL`;
}

function differing(stored: object, requested: Readonly<Record<string, unknown>>): string[] {
  const before = new Map<string, unknown>(Object.entries(stored));
  return Object.entries(requested).flatMap(([name, now]) => {
    const [a, b] = [JSON.stringify(before.get(name)), JSON.stringify(now)];
    return a === b ? [] : [`${name} was ${a} and would be ${b}`];
  });
}

export function newRunSettings(db: Db, options: RunOptions, agent: Agent, { settings }: AppContext): OwnRunSettings {
  const name = modelNameOf(options, agent);
  const baseUrl = baseUrlOf(name.provider, options.baseUrl, settings.env);
  refuseUnusedJudge(options);
  // Avoids the cost of a judge that was not requested and that no scorer uses.
  const isUnused = !asksJudge(options) && !wantsJudge(options.scorers);
  const cheap = isUnused ? null : cheapModel(name.provider, baseUrl, settings.env);
  const judge = judgeSettings(options, null, cheap, settings.env);
  const given = givenSettings(options);
  const requested = { ...agent.settings, ...given };
  const { maxTokens, reasoningTokens, temperature = null, reasoningEffort, toolCalls, toolChoice } = requested;
  const toolResults = toolResultsFor(agent.settings.toolResults, name.id);
  refuseExtrasWithoutServer(name, options);
  const mailFilter = readImportFilter(db);
  return withSent({
    kind: "own",
    agentId: agent.id,
    agentVersion: currentVersion(db, agent.id),
    model: name.id,
    baseUrl,
    wireApi: null,
    prompt: agent.prompt,
    tools: attachedOrDefault(db, agent.id).map(({ tool }) => tool.id),
    toolsDigest: toolsDigest(db, agent.id),
    maxTurns: options.maxTurns ?? agent.settings.maxTurns,
    maxTokens,
    ...presentProperties({ reasoningTokens }),
    temperature,
    ...presentProperties({ reasoningEffort }),
    ...recordedExtras(options),
    toolCalls,
    toolChoice,
    ...(toolResults === "plain" ? {} : { toolResults }),
    ...settingsOfAnyAgent(options),
    ...presentProperties({ mailFilter }),
    maxTaskCostUsd: null,
    ...given,
    ...(options.unsafeHostPython ? { unsafeHostPython: true } : {}),
    ...options.perturb,
    scorers: chosenScorers(options.scorers, judge !== null),
    judge,
  });
}

/** Returns the settings of a new run with an external agent. */
export function externalAgentSettings(
  target: AgentTarget,
  agentId: string,
  options: RunRequest,
  env: Environment,
  access: OfferedAccess = { mailbox: true, machine: false },
): ExternalRunSettings {
  const tools = hasOwnTools(target.kind) ? offeredToolIds(access) : [];
  const judge = judgeSettings(options, null, null, env);
  return {
    kind: "external",
    agentId,
    externalAgent: target,
    model: externalModelName(target, agentId, options),
    tools,
    maxTurns: options.maxTurns ?? agentSettingsSchema.parse({}).maxTurns,
    ...recordedExtras(options),
    ...settingsOfAnyAgent(options),
    ...(target.kind === "human" ? conditionsOfPerson(options) : {}),
    scorers: chosenScorers(options.scorers, judge !== null),
    judge,
  };
}

/** A person answers one question at a time and takes breaks. */
function conditionsOfPerson({ explicitFlags, taskTimeout }: RunRequest) {
  return { concurrency: 1, taskTimeoutMs: explicitFlags.has("taskTimeout") ? taskTimeout * 1_000 : 24 * 3_600_000 };
}

function settingsOfAnyAgent(options: RunOptions) {
  return {
    cutoff: options.cutoff,
    taskTimeoutMs: options.taskTimeout * 1_000,
    price: options.price ?? null,
    concurrency: options.concurrency,
    epochs: options.epochs,
    selection: selectionOf(options),
    ...(options.queue === undefined ? {} : { queue: true as const }),
  };
}

/** Returns the values of the flags that the settings of an own run contain as given. */
function givenSettings(options: RunOptions): GivenSettings {
  const given: Record<string, unknown> = {};
  for (const [name, { effect }] of Object.entries(RUN_FLAGS)) {
    if (effect === "none" || effect.isRecordedAsGiven !== true) continue;
    given[effect.recordedAs.replace("settings.", "")] = options[name as RunFlagName];
  }
  return definedProperties(given);
}

/** Returns the values of all flags that select tasks, except those that the run records elsewhere. */
export function selectionOf(options: { readonly [Name in RunFlagName]?: unknown }): OwnRunSettings["selection"] {
  const names = flagsWhere(({ effect }) => effect !== "none" && effect.recordedAs === "selection");
  return Object.fromEntries(names.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])));
}

/** Returns the settings with the parameters that are actually sent, because some models do not accept all of them. */
function withSent({ sent: _, ...settings }: OwnRunSettings): OwnRunSettings {
  const { maxTokens, reasoningTokens, reasoningEffort, temperature, tools } = settings;
  const baseUrl = settings.baseUrl === null ? null : checkBaseUrl(settings.baseUrl);
  const rules = rulesFor(parseModelName(settings.model, null), wireApiOf(settings.wireApi, baseUrl));
  if (rules === null) return settings;
  const toolChoice = settings.toolChoice === "required" ? "required" : "auto";
  const reasoning = { reasoningTokens, reasoningEffort };
  const parameters = { maxTokens, ...reasoning, temperature: temperature ?? undefined, toolChoice } as const;
  return { ...settings, sent: sentParameters(rules, { ...parameters, hasTools: tools.length > 0 }) };
}

const FLAGS: Readonly<Record<string, string>> = {
  temperature: "temperature",
  toolChoice: "tool choice",
  reasoningEffort: "reasoning effort",
};

export function notesOnSent({ sent, model }: Pick<OwnRunSettings, "sent" | "model">): string[] {
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

export const ORACLE_MODEL = "offline/oracle";

export async function oracleSettings(model: string, requestedPath: string | undefined, folder: SuiteFolder) {
  if (model === ORACLE_MODEL) {
    const { findOracleFile } = await import("../suites/oracle.js");
    return { oracle: findOracleFile(requestedPath, folder) };
  }
  if (requestedPath !== undefined) throw notFor(model);
  return {};
}

function requestedOracle(stored: OwnRunSettings, requestedPath: string | undefined) {
  if (requestedPath === undefined) return {};
  if (stored.oracle === undefined) throw notFor(stored.model);
  return { oracle: resolve(requestedPath) };
}

function notFor(model: string): UserError {
  const what = `--oracle is for the agent oracle, and the agent's model is ${model}.`;
  return new UserError("flags_contradict", what, "Leave it out, or run -a oracle.");
}

export function refuseFlagsTargetIgnores({ kind }: AgentTarget, { explicitFlags, cutoff }: RunRequest): void {
  refuseFlags(kind, explicitFlags);
  if (explicitFlags.has("cutoff") && cutoff === "off" && !hasOwnTools(kind)) {
    const message = `--cutoff off does not apply to an external agent (${FLAG_OF[kind]}).`;
    throw new UserError("flags_contradict", message, "Remove --cutoff.");
  }
}
