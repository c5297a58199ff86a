import { join } from "node:path";
import { UserError } from "../../domain/errors.js";
import type { RunSettings } from "../../domain/runs/benchmark-result.js";
import type { RunLimits } from "../../domain/runs/run-limits.js";
import type { Judge, JudgeSettings } from "../../domain/scores/judgement.js";
import { isPriced, priceOf, priceOfReply } from "../../models/catalog/prices.js";
import { openJsonFileCache } from "../../models/middleware/json-file-cache.js";
import type { CostLimit } from "../../models/middleware/limit-cost.js";
import type { RateLimiter, SharedLimiter } from "../../models/middleware/rate-limiter.js";
import { parseModelName } from "../../models/model-name.js";
import { openJudge } from "../../scoring/judge/ask-judge.js";
import { warnOfOtherModel } from "../run/warn-of-other-model.js";
import { isSameAccount, openModel } from "../settings/open-model.js";
import type { AppSettings } from "../use-case-context.js";
import { JudgeShortfall } from "./judge-shortfall.js";

/** Answers or questions judged at once, at most; the rate limiter finds out how many the server takes. */
export const JUDGE_CONCURRENCY = 20;

/** Of one call, where the answers are there already. */
export const JUDGE_TIMEOUT_MS = 180_000;

export interface CreatedJudge {
  readonly judge: Judge;
  /** One line about answers without a verdict; null where all have one. */
  shortfall(): string | null;
}

/** Where the judge's calls go. `throttle`: that of an agent on the same server; null creates one. */
export interface JudgeConnection {
  readonly timeoutMs: number;
  readonly throttle: RateLimiter | null;
  /** Limits that other machines keep too. */
  readonly shared?: SharedLimiter | undefined;
  /** Of the calls of a command; a run keeps its own. */
  readonly costLimit?: CostLimit | undefined;
  /** Called where a reply names another model than the one that was asked. */
  readonly note: (text: string) => void;
}

/** Throws a UserError where the judge has no key. */
export async function createJudge(
  judge: JudgeSettings,
  settings: AppSettings,
  connection: JudgeConnection,
): Promise<CreatedJudge> {
  const name = parseModelName(judge.model, null);
  const { model: remote } = await openModel(name, { server: judge.baseUrl, ...connection }, settings);
  const { costLimit } = connection;
  const model = costLimit?.applyTo(remote, (usage, answeredBy) => priceOfReply(name.id, answeredBy, usage)) ?? remote;
  const opened = openJudge({
    model: warnOfOtherModel(model, connection.note),
    settings: judge,
    cache: openJsonFileCache(join(settings.cacheDir, "verdicts")),
  });
  const shortfall = new JudgeShortfall();
  return {
    judge: {
      settings: opened.settings,
      async judge(item, signal) {
        const judgement = await opened.judge(item, signal);
        shortfall.add(judgement);
        return judgement;
      },
    },
    shortfall: () => shortfall.text(judge.model),
  };
}

/**
 * Null: the run has none. A judge at the agent's own server shares its rate limiter: the limits are the account's.
 * `shared`: of an account elsewhere, limits that other machines keep too.
 */
export async function createRunJudge(
  run: RunSettings,
  model: { readonly throttle: RateLimiter | null },
  timeoutMs: number,
  settings: AppSettings,
  note: (text: string) => void,
  shared?: SharedLimiter,
): Promise<CreatedJudge | null> {
  const { judge } = run;
  if (judge === null) return null;
  const limits = isSameAccount(judge, run) ? { throttle: model.throttle } : { throttle: null, shared };
  return createJudge(judge, settings, { timeoutMs, note, ...limits });
}

/** Refuses a limit in dollars where the price of the judge is not known. */
export function checkJudgePriced(judge: JudgeSettings | null, { maxCostUsd }: RunLimits): void {
  if (judge === null || maxCostUsd === null || isPriced((usage) => priceOf(judge.model, usage))) return;
  throw new UserError(
    "price_unknown",
    `--max-cost cannot be kept: the price of the judge ${judge.model} is not known.`,
    "Run with --no-judge and judge afterwards (art-e score), or name a judge whose price is known.",
  );
}
