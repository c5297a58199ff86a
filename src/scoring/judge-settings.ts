// Opens the judge for a run or a command: its model, server, rate limiter and cost limit.
import { join } from "node:path";
import { type JsonFileCache, openJsonFileCache } from "../models/cache.js";
import type { CostLimit } from "../models/call-budget.js";
import { requirePriced } from "../models/call-cost.js";
import { hasKey, refuseStoredAddress, serverOf } from "../models/connections.js";
import { isProvider, JUDGE_MODELS, type ModelName, type Provider, parseModelName } from "../models/model-names.js";
import { isSameAccount, openModel, pricesOf } from "../models/open-model.js";
import type { RateLimiter, SharedLimiter } from "../models/rate-limiter.js";
import type { ReasoningEffort } from "../models/reasoning-effort.js";
import { changedExtras, type GivenExtras, openExtras, recordedExtras } from "../models/request-extras.js";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine, flagName } from "../platform/command-line.js";
import type { Environment } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { presentProperties } from "../platform/optional-values.js";
import type { Judge, JudgeSettings, Judgment, PromptVariant } from "../traces/judgment.js";
import type { RunLimits, RunSettings } from "../traces/run-settings.js";
import { type JudgeRequest, openJudge, protocolVersion } from "./judge.js";

export interface JudgeOptions {
  /** `provider/model`, `art`, `art:provider/model`, `eval:NAME` or `off`. */
  readonly judge?: string | undefined;
  readonly noJudge: boolean;
  readonly judgeVotes?: number | undefined;
  readonly judgeBaseUrl?: string | undefined;
  readonly judgeReasoningEffort?: ReasoningEffort | undefined;
  readonly judgeHeader?: GivenExtras["header"];
  readonly judgeBody?: GivenExtras["body"];
  /** The judge of an eval, if `--judge eval:NAME` selected it. */
  readonly judgeOfEval?: JudgeSettings | undefined;
}

interface CreatedJudge {
  readonly judge: Judge;
  /** Returns one line about answers without a verdict, or null if all answers have one. */
  shortfall(): string | null;
}

export interface JudgeConnection {
  readonly timeoutMs: number;
  readonly throttle: RateLimiter | null;
  readonly shared?: SharedLimiter | undefined;
  /** Cost limit for a command's calls. A run enforces its limit separately. */
  readonly costLimit?: CostLimit | undefined;
  /** Called if a reply specifies a different model than the requested one. */
  readonly note: (text: string) => void;
  /** Headers and body fields passed with this command. Without them, the recorded ones apply. */
  readonly commandExtras?: GivenExtras;
  /** Another form of the prompt. */
  readonly variant?: PromptVariant | undefined;
  /** Cache of votes, if it is not the usual one. */
  readonly cache?: JudgeRequest["cache"];
}

const EXAMPLES = "--judge anthropic/claude-haiku-5-5, --judge art, --judge art:openai/gpt-6-luna";

export function asksJudge(options: JudgeOptions): boolean {
  const isSelected = options.judge !== undefined || options.judgeOfEval !== undefined;
  return isSelected || options.noJudge || detailOf(options) !== null;
}

/** The first option that configures a judge without selecting one, or null. */
function detailOf({ judgeVotes, judgeBaseUrl, judgeReasoningEffort, judgeHeader, judgeBody }: JudgeOptions) {
  const details = { judgeVotes, judgeBaseUrl, judgeReasoningEffort, judgeHeader, judgeBody };
  return Object.entries(details).find(([, value]) => value !== undefined)?.[0] ?? null;
}

/** Additional headers and body fields for the judge's requests. */
export function judgeExtras({ judgeHeader, judgeBody }: JudgeOptions): GivenExtras {
  return { header: judgeHeader, body: judgeBody };
}

export function isJudgeOff({ judge, noJudge }: JudgeOptions): boolean {
  if (noJudge && judge !== undefined && judge !== "off") {
    throw new UserError("flags_contradict", "--no-judge and --judge cannot be combined.", "Remove one of them.");
  }
  return noJudge || judge === "off";
}

/**
 * Returns the requested judge, otherwise `recorded`, otherwise the cheap model `fallback`, or null if all are missing.
 * The requested votes and base URL apply to each of them. Throws a UserError if options require a judge that is
 * missing.
 */
export function judgeSettings(
  options: JudgeOptions,
  recorded: JudgeSettings | null,
  fallback: ModelName | null,
  env: Environment,
): JudgeSettings | null {
  const stored = options.judgeOfEval ?? recorded;
  if (isJudgeOff(options)) {
    refuseOfNone(options, "--judge is off");
    return null;
  }
  const { judge, judgeBaseUrl } = options;
  const isArt = judge === "art" || judge?.startsWith("art:") === true;
  const modelId = isArt ? judge?.slice("art:".length) : judge;
  if (modelId === undefined && stored !== null) {
    if (judgeBaseUrl === undefined)
      refuseStoredAddress(parseModelName(stored.model, null).provider, stored.baseUrl, env);
    const { judgeReasoningEffort: effort } = options;
    return {
      ...stored,
      votes: options.judgeVotes ?? stored.votes,
      baseUrl: judgeBaseUrl ?? stored.baseUrl,
      ...presentProperties({ reasoningEffort: effort }),
      ...changedExtras(stored, judgeExtras(options)),
    };
  }
  const name = modelId ? named(modelId) : fallback;
  if (name === null) {
    if (judge !== undefined) {
      throw new UserError(
        "judge_missing",
        `--judge ${judge}: expected a model, because there is no default judge.`,
        `Specify a judge, for example ${EXAMPLES}.`,
      );
    }
    refuseOfNone(options, "no judge is set");
    return null;
  }
  const protocol = isArt ? "art" : "verdict";
  return {
    model: name.id,
    baseUrl: serverOf(name.provider, judgeBaseUrl, env, "--judge-base-url"),
    protocol,
    version: protocolVersion(protocol),
    votes: options.judgeVotes ?? 1,
    ...presentProperties({ reasoningEffort: options.judgeReasoningEffort }),
    ...recordedExtras(judgeExtras(options)),
  };
}

function refuseOfNone(options: JudgeOptions, why: string): void {
  const detail = detailOf(options);
  if (detail === null) return;
  throw new UserError(
    "judge_missing",
    `${flagName(detail)} requires a judge, but ${why}.`,
    `Specify a judge, for example ${EXAMPLES}.`,
  );
}

function named(id: string): ModelName {
  const [provider = ""] = id.split("/");
  if (!isProvider(provider) || provider === "offline" || !id.includes("/")) {
    throw new UserError(
      "judge_unknown",
      `Unknown judge model "${id}".`,
      `Pass provider/model, for example ${EXAMPLES}.`,
    );
  }
  return parseModelName(id, null);
}

/** Returns the provider's cheap model. Null without a key, and for compatible servers, whose models are unknown. */
export function cheapModel(provider: Provider, baseUrl: string | null, env: Environment): ModelName | null {
  const model = JUDGE_MODELS[provider];
  if (model === undefined || baseUrl !== null || !hasKey(provider, env)) return null;
  return parseModelName(`${provider}/${model}`, null);
}

export function anyCheapModel(env: Environment): ModelName | null {
  const provider = (Object.keys(JUDGE_MODELS) as Provider[]).find((name) => hasKey(name, env));
  return provider === undefined ? null : parseModelName(`${provider}/${JUDGE_MODELS[provider]}`, null);
}

/** Maximum number of answers or questions judged concurrently. The rate limiter adapts to the server. */
export const JUDGE_CONCURRENCY = 20;

/** Timeout per judge call when judging stored answers. */
export const JUDGE_TIMEOUT_MS = 180_000;

/** Opens a judge. Throws a UserError if the judge's API key is missing. */
export async function createJudge(
  judge: JudgeSettings,
  settings: AppSettings,
  { commandExtras = {}, variant, cache = verdictCache(settings), ...connection }: JudgeConnection,
): Promise<CreatedJudge> {
  const name = parseModelName(judge.model, null);
  const extras = openExtras(judge, commandExtras, settings.env, "judge-");
  const { model } = await openModel(name, { baseUrl: judge.baseUrl, extras, ...connection }, settings);
  const openedJudge = openJudge({ model, settings: judge, cache, variant });
  const shortfall = new JudgeShortfall();
  return {
    judge: {
      settings: openedJudge.settings,
      async judge(item, signal, calls) {
        const judgment = await openedJudge.judge(item, signal, calls);
        shortfall.add(judgment);
        return judgment;
      },
    },
    shortfall: () => shortfall.text(judge.model),
  };
}

/** The cache of verdicts by judges and eval rubrics. */
export function verdictCache({ cacheDir }: AppSettings): JsonFileCache {
  return openJsonFileCache(join(cacheDir, "verdicts"));
}

/**
 * Opens the judge of a run, or returns null if the run has none. A judge on the agent's server shares its rate limiter,
 * because the limits apply to the account. `shared` holds the limits of another account that other machines also use.
 */
export async function createRunJudge(
  run: RunSettings,
  model: { readonly throttle: RateLimiter | null },
  { shared, ...connection }: Pick<JudgeConnection, "timeoutMs" | "note" | "commandExtras" | "shared">,
  settings: AppSettings,
): Promise<CreatedJudge | null> {
  const { judge } = run;
  if (judge === null) return null;
  const server = { model: run.model, baseUrl: run.kind === "own" ? run.baseUrl : null };
  const limits = isSameAccount(judge, server) ? { throttle: model.throttle } : { throttle: null, shared };
  return createJudge(judge, settings, { ...connection, ...limits });
}

/** Throws a UserError if a cost limit is set but the judge's price is unknown. */
export async function checkJudgePriced(judge: JudgeSettings | null, { maxCostUsd }: RunLimits): Promise<void> {
  if (judge === null || maxCostUsd === null) return;
  requirePriced(
    await pricesOf(parseModelName(judge.model, null)),
    "--max-cost",
    `the judge ${judge.model}`,
    `Run with --no-judge and judge afterwards (${commandLine`art-e score`}), or choose a judge with a known price.`,
  );
}

/** Counts the answers that a judge returned no verdict for. */
export class JudgeShortfall {
  private judged = 0;
  private without = 0;
  private lastReason = "";

  add({ verdict, reason }: Judgment): void {
    this.judged++;
    if (verdict !== null) return;
    this.without++;
    this.lastReason = reason;
  }

  text(model: string): string | null {
    if (this.without === 0) return null;
    return `art-e: the judge ${model} gave no verdict on ${this.without} of ${this.judged} answers: ${this.lastReason}`;
  }
}
