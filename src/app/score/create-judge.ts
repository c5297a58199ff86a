import { join } from "node:path";
import { UserError } from "../../domain/errors.js";
import type { RunLimits } from "../../domain/runs/run-limits.js";
import type { Judge, JudgeSettings } from "../../domain/scores/judgement.js";
import { RateLimiter } from "../../models/middleware/rate-limiter.js";
import { openVerdictCache } from "../../models/middleware/verdict-cache.js";
import { parseModelName } from "../../models/model-name.js";
import { priceOf, priceOfReply } from "../../models/prices.js";
import { resolveModel } from "../../models/resolve-model.js";
import { DEFAULT_RETRY } from "../../platform/retry.js";
import { openJudge } from "../../scoring/judge/ask-judge.js";
import { withOtherModelNotes } from "../run/note-other-model.js";
import { connectionOf, type Settings } from "../settings/settings.js";

/** Answers under way at once; the throttle then finds out how many the server takes. */
export const JUDGE_CONCURRENCY = 20;

export interface CreatedJudge {
  readonly judge: Judge;
  /** What is to be told of answers without a verdict; null where all have one. */
  shortfall(): string | null;
}

/** Where the judge's calls go. `throttle`: of an agent that asks the same server; null has one made. */
export interface JudgeOptions {
  readonly timeoutMs: number;
  readonly throttle: RateLimiter | null;
  /** Hears of replies by another model than the one asked. */
  readonly note: (text: string) => void;
}

/** Reaches the judge. Throws a UserError where it has no key. */
export async function createJudge(
  judge: JudgeSettings,
  settings: Settings,
  reach: JudgeOptions,
): Promise<CreatedJudge> {
  const name = parseModelName(judge.model, null);
  const { baseUrl } = judge;
  const connection = connectionOf(name.provider, { baseUrl, wireApi: null, timeoutMs: reach.timeoutMs }, settings.env);
  const throttle = reach.throttle ?? new RateLimiter({ concurrency: "auto", rpm: null, tpm: null });
  const asked = openJudge({
    model: withOtherModelNotes(await resolveModel(name, connection, DEFAULT_RETRY, throttle), reach.note),
    settings: judge,
    memory: openVerdictCache(join(settings.cacheDir, "verdicts")),
    priceOf: (usage, answeredBy) => priceOfReply(judge.model, answeredBy, usage),
  });
  let judged = 0;
  const unscored: string[] = [];
  return {
    judge: {
      settings: asked.settings,
      async judge(item, signal) {
        const judgement = await asked.judge(item, signal);
        judged++;
        if (judgement.verdict === null) unscored.push(judgement.reason);
        return judgement;
      },
    },
    shortfall() {
      if (unscored.length === 0) return null;
      return `art-e: the judge ${judge.model} gave no verdict on ${unscored.length} of ${judged} answers: ${unscored.at(-1)}`;
    },
  };
}

/** A limit in dollars says nothing where nobody knows what the judge costs. */
export function checkJudgePriced(judge: JudgeSettings | null, { maxCostUsd }: RunLimits): void {
  const million = { inputTokens: 1_000_000, outputTokens: 1_000_000, cachedInputTokens: 0 };
  if (judge === null || maxCostUsd === null || priceOf(judge.model, million) !== null) return;
  throw new UserError(
    "price_unknown",
    `--max-cost cannot be kept: the price of the judge ${judge.model} is not known.`,
    "Run with --no-judge and judge afterwards (art-e score), or name a judge whose price is known.",
  );
}
