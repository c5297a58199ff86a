import { UserError } from "../../domain/errors.js";
import type { JudgeSettings } from "../../domain/scores/judgement.js";
import { JUDGE_MODELS } from "../../models/catalog/judge-models.js";
import { type ModelName, parseModelName } from "../../models/model-name.js";
import { isProvider, type Provider } from "../../models/provider-names.js";
import { protocolVersion } from "../../scoring/judge/ask-judge.js";
import { hasKey, refuseStoredAddress, serverOf } from "../settings/endpoints.js";
import type { Environment } from "../settings/env-file.js";

/** What a user may ask of the judge. */
export interface JudgeOptions {
  /** provider/model, art, art:provider/model, or off. */
  readonly judge?: string | undefined;
  readonly noJudge: boolean;
  readonly judgeVotes?: number | undefined;
  readonly judgeBaseUrl?: string | undefined;
}

const EXAMPLES = "--judge anthropic/claude-haiku-5-5, --judge art, --judge art:openai/gpt-6-luna";

/** Whether any option of the judge was given. */
export function asksJudge({ judge, noJudge, judgeVotes, judgeBaseUrl }: JudgeOptions): boolean {
  return judge !== undefined || noJudge || judgeVotes !== undefined || judgeBaseUrl !== undefined;
}

export function isJudgeOff({ judge, noJudge }: JudgeOptions): boolean {
  if (noJudge && judge !== undefined && judge !== "off") {
    throw new UserError(
      "options_contradict",
      "--no-judge and --judge contradict each other.",
      "Leave one of them out.",
    );
  }
  return noJudge || judge === "off";
}

/**
 * The judge asked for, else `stored`, else `fallback`'s cheap model; null where there is none. Votes and address go
 * for each of them. Throws where something is asked of a judge that is not there.
 */
export function judgeSettings(
  options: JudgeOptions,
  stored: JudgeSettings | null,
  fallback: ModelName | null,
  env: Environment,
): JudgeSettings | null {
  if (isJudgeOff(options)) {
    refuseOfNone(options, "--judge is off");
    return null;
  }
  const { judge, judgeBaseUrl } = options;
  const isArt = judge === "art" || judge?.startsWith("art:") === true;
  const given = isArt ? judge?.slice("art:".length) : judge;
  if (given === undefined && stored !== null) {
    if (judgeBaseUrl === undefined)
      refuseStoredAddress(parseModelName(stored.model, null).provider, stored.baseUrl, env);
    return { ...stored, votes: options.judgeVotes ?? stored.votes, baseUrl: judgeBaseUrl ?? stored.baseUrl };
  }
  const name = given ? named(given) : fallback;
  if (name === null) {
    if (judge !== undefined) {
      throw new UserError(
        "judge_missing",
        `--judge ${judge} names no model, and there is no default.`,
        `Examples: ${EXAMPLES}.`,
      );
    }
    refuseOfNone(options, "there is no judge");
    return null;
  }
  const protocol = isArt ? "art" : "verdict";
  return {
    model: name.id,
    baseUrl: serverOf(name.provider, judgeBaseUrl, env, "--judge-base-url"),
    protocol,
    version: protocolVersion(protocol),
    votes: options.judgeVotes ?? 1,
  };
}

function refuseOfNone({ judgeVotes, judgeBaseUrl }: JudgeOptions, why: string): void {
  if (judgeVotes === undefined && judgeBaseUrl === undefined) return;
  const flag = judgeVotes !== undefined ? "--judge-votes" : "--judge-base-url";
  throw new UserError("judge_missing", `${flag} is given, but ${why}.`, `Name a judge: ${EXAMPLES}.`);
}

function named(given: string): ModelName {
  const [provider = ""] = given.split("/");
  if (!isProvider(provider) || provider === "offline" || !given.includes("/")) {
    throw new UserError(
      "judge_unknown",
      `--judge ${given} names no model that could judge.`,
      `Give it as provider/model: ${EXAMPLES}.`,
    );
  }
  return parseModelName(given, null);
}

/** The cheap model of a provider. Null without a key, and for a compatible server, whose models are not known. */
export function cheapModel(provider: Provider, baseUrl: string | null, env: Environment): ModelName | null {
  const model = JUDGE_MODELS[provider];
  if (model === undefined || baseUrl !== null || !hasKey(provider, env)) return null;
  return parseModelName(`${provider}/${model}`, null);
}

/** The cheap model of the first provider with a key. */
export function anyCheapModel(env: Environment): ModelName | null {
  const provider = (Object.keys(JUDGE_MODELS) as Provider[]).find((name) => hasKey(name, env));
  return provider === undefined ? null : parseModelName(`${provider}/${JUDGE_MODELS[provider]}`, null);
}
