// Rate limits and pauses that all workers share, counted in Redis before each model call.
import type { Redis } from "ioredis";
import pLimit from "p-limit";
import { type RateLimiterAbstract, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { BudgetReached } from "../../models/call-budget.js";
import { connectionOf } from "../../models/connections.js";
import { parseModelName } from "../../models/model-names.js";
import type { SharedLimiter } from "../../models/rate-limiter.js";
import { sleep } from "../../platform/deadline.js";
import type { Environment } from "../../platform/environment.js";
import { sha256Of } from "../../platform/sha256.js";
import type { OwnRunSettings } from "../../traces/run-settings.js";
import { limitKey, pauseKey } from "../connection/redis.js";

/** Requests and tokens per minute for the entire run, or null if unlimited. */
interface Rates {
  readonly rpm: number | null;
  readonly tpm: number | null;
}

interface SharedLimitsOptions extends Rates {
  readonly runId: string;
  /** Hash of the provider's account, equal on workers that share a key. The key cannot be derived from it. */
  readonly account: string;
  /** Receives permanent Redis errors, which must not end a task whose calls are already paid. */
  onFault(error: unknown): void;
}

interface SharedRate {
  readonly key: string;
  readonly limiter: RateLimiterAbstract;
}

/** Pause in milliseconds after a refusal without a stated wait. */
const PAUSE_MS = 1_000;

/** Limits on model calls that all workers share, counted in Redis. */
export class SharedLimits implements SharedLimiter {
  private requests: SharedRate | null = null;
  private tokens: SharedRate | null = null;
  private rates: Rates;
  /** Aborts when the rates change. */
  private changed = new AbortController();
  /** Serializes this worker's calls, so that waiting calls do not all poll Redis. */
  private readonly gate = pLimit(1);
  private waitingFor: ReturnType<SharedLimiter["state"]>["why"] = null;

  constructor(
    private readonly redis: Redis,
    private readonly options: SharedLimitsOptions,
  ) {
    this.rates = options;
    this.openLimiters("");
  }

  /** Changes the rates. Waiting calls wait for the new ones. */
  setRates({ rpm, tpm }: Rates): void {
    if (rpm === this.rates.rpm && tpm === this.rates.tpm) return;
    this.rates = { rpm, tpm };
    // The window of another rate has another length, so it is counted under another key.
    this.openLimiters(`:${rpm}:${tpm}`);
    this.changed.abort();
    this.changed = new AbortController();
  }

  private openLimiters(suffix: string): void {
    const { rpm, tpm } = this.rates;
    const rate = (what: "requests" | "tokens", points: number, duration: number): SharedRate => ({
      key: limitKey(this.options.runId, what) + suffix,
      limiter: new RateLimiterRedis({ storeClient: this.redis, keyPrefix: "", points, duration }),
    });
    this.requests = rpm === null ? null : rate("requests", ...evenly(rpm));
    this.tokens = tpm === null ? null : rate("tokens", Math.max(1, Math.floor(tpm)), 60);
  }

  /** Returns the number of waiting calls and the reason. */
  state(): ReturnType<SharedLimiter["state"]> {
    const waiting = this.gate.activeCount + this.gate.pendingCount;
    return { waiting, why: waiting > 0 ? this.waitingFor : null };
  }

  /**
   * Waits for permission to call. Throws `BudgetReached` on a permanent Redis error, so that the call is not made and
   * the task can be resumed.
   */
  async enter(signal: AbortSignal): Promise<void> {
    await this.gate(async () => {
      for (;;) {
        signal.throwIfAborted();
        const waitMs = await this.waitMs().catch((error) => {
          this.options.onFault(error);
          throw new BudgetReached((error as Error).message);
        });
        if (waitMs <= 0) break;
        const change = AbortSignal.any([signal, this.changed.signal]);
        await sleep(waitMs, change).catch(() => undefined);
      }
      this.waitingFor = null;
    });
  }

  async spend(tokens: number): Promise<void> {
    if (tokens === 0 || this.tokens === null) return;
    const { limiter, key } = this.tokens;
    await limiter.penalty(key, tokens).catch(this.options.onFault);
  }

  /** Pauses all users of the key after the server has refused a call. */
  async pause(ms: number): Promise<void> {
    const pauseMs = Math.max(PAUSE_MS, Math.ceil(ms));
    const key = pauseKey(this.options.account);
    try {
      if ((await this.redis.pttl(key)) < pauseMs) await this.redis.set(key, "1", "PX", pauseMs);
    } catch (error) {
      this.options.onFault(error);
    }
  }

  private async waitMs(): Promise<number> {
    const paused = await this.redis.pttl(pauseKey(this.options.account));
    if (paused > 0) return this.wait("server", paused);
    // `get` uses a transaction, which cannot be resent if Redis refuses it.
    const spent = await this.tokens?.limiter.penalty(this.tokens.key, 0);
    if (spent && spent.remainingPoints <= 0) return this.wait("tokens", spent.msBeforeNext);
    try {
      await this.requests?.limiter.consume(this.requests.key, 1);
      return 0;
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      return this.wait("rate", error.msBeforeNext);
    }
  }

  private wait(why: NonNullable<SharedLimits["waitingFor"]>, ms: number): number {
    this.waitingFor = why;
    return Math.max(1, ms);
  }
}

/** Splits a rate into N requests per window, in the shortest window with whole numbers of requests and seconds. */
function evenly(rpm: number): [points: number, seconds: number] {
  if (rpm < 1) return [1, Math.ceil(60 / rpm)];
  const whole = Math.floor(rpm);
  const divisor = greatestCommonDivisor(whole, 60);
  return [whole / divisor, 60 / divisor];
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/**
 * Returns a hash of the provider's account, equal on machines that share its key. The key cannot be derived from it.
 */
export function accountOf(
  { model, baseUrl, wireApi }: Pick<OwnRunSettings, "model" | "baseUrl" | "wireApi">,
  env: Environment,
): string {
  const { provider } = parseModelName(model, null);
  const { apiKey } = connectionOf(provider, { baseUrl, wireApi, timeoutMs: 0 }, env);
  return sha256Of(JSON.stringify([provider, baseUrl, apiKey])).slice(0, 16);
}
