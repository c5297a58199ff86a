// Limits calls per minute, tokens and concurrency, and learns from the server's refusals.
import { sleep } from "../platform/deadline.js";
import { type CallProgress, type CallWait, type LimitReason, type Model, ModelError } from "./model.js";

export interface RateLimiterOptions {
  /** Maximum concurrent calls. `auto` adapts to the server's capacity. */
  readonly concurrency: number | "auto";
  /** Maximum requests per minute, or null to rely on the server's limit. */
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly shared?: SharedLimiter | undefined;
}

export type RateLimits = Pick<RateLimiterOptions, "concurrency" | "rpm" | "tpm">;

/** Port for call limits shared by several machines. */
export interface SharedLimiter {
  state(): { readonly waiting: number; readonly why: "rate" | "tokens" | "server" | null };
  enter(signal: AbortSignal): Promise<void>;
  spend(tokens: number): Promise<void>;
  /** Reports a refused call. `ms` is the wait requested by the server, or 0 if it requested none. */
  pause(ms: number): Promise<void>;
}

export interface RateLimiterState {
  readonly limit: number;
  readonly running: number;
  readonly waiting: number;
  readonly why: LimitReason | null;
  readonly refused: number;
}

/** Time source in milliseconds. Tests replace it. */
export interface Clock {
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Calls that started since the last judgment of the rate. */
interface Trial {
  readonly since: number;
  started: number;
  accepted: number;
  refused: number;
  /** Longest requested wait in milliseconds. */
  pauseMs: number;
}

/** A rate that was cut, and the fraction of refused calls that caused the cut. */
interface CutRate {
  readonly perMs: number;
  readonly share: number;
}

/** Runs `call` when the rate limiter admits it. Reports both waiting and starting to `onProgress`. */
export function callThrottled<T>(
  throttle: RateLimiter,
  call: () => Promise<T>,
  tokensOf: (done: T) => number,
  signal: AbortSignal,
  onProgress: ((progress: CallProgress) => void) | undefined,
): Promise<T> {
  onProgress?.({ type: "queued" });
  return throttle.call(
    (waitedFor) => {
      onProgress?.({ type: "calling", waitedFor });
      return call();
    },
    tokensOf,
    signal,
  );
}

export function withRateLimit(model: Model, throttle: RateLimiter): Model {
  return {
    id: model.id,
    complete: (request, signal) =>
      callThrottled(
        throttle,
        () => model.complete(request, signal),
        ({ usage }) => (usage === null ? 0 : usage.inputTokens + usage.outputTokens),
        signal,
        request.onProgress,
      ),
  };
}

/** Shorter waits are measurement noise. */
const SHORTEST_MS = 1;

/** Adds up the waiting times of a call based on its progress. Excludes the last attempt, which is the call itself. */
export class CallWaits {
  private readonly waits: CallWait[] = [];
  private since: number;

  /** @param now current time in milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.since = now();
  }

  add(progress: CallProgress): void {
    const durationMs = this.now() - this.since;
    if (progress.type === "calling" && typeof progress.waitedFor === "string") {
      this.push({ kind: progress.waitedFor === "concurrency" ? "slot" : "throttled", durationMs });
    } else if (progress.type === "retry") {
      this.push({ kind: "failed_attempt", durationMs });
      this.push({ kind: "pause", durationMs: progress.retry.waitedMs });
      this.since += durationMs + progress.retry.waitedMs;
      return;
    }
    this.since += durationMs;
  }

  toField(): { waits?: CallWait[] } {
    return this.waits.length === 0 ? {} : { waits: this.waits };
  }

  private push(wait: CallWait): void {
    if (wait.durationMs >= SHORTEST_MS) this.waits.push(wait);
  }
}

const REAL_CLOCK: Clock = { now: () => performance.now(), sleep };

/**
 * `auto` starts with a few concurrent calls, and doubles their number after every successful round until the first
 * reduction. After that, the number grows slowly, and shrinks by the fraction of refused calls, but by at most a fifth
 * (similar to Inspect AI).
 */
const START = 20;
const MOST = 256;
const GROWTH = 1.05;
const SHRINK = 0.8;

/** A longer requested wait affects only that call, not all calls. */
const LONGEST_PAUSE_MS = 60_000;

/** Assumed tokens per call before the first call completes. */
const FIRST_GUESS_TOKENS = 2_000;

/** Rate limiter for one provider and key. Every attempt of every call passes through it separately. */
export class RateLimiter {
  private limit: number;
  private running = 0;
  private refused = 0;
  private clean = 0;
  private wasCut = false;
  private timedOutAt = Number.NEGATIVE_INFINITY;
  private pausedUntil = Number.NEGATIVE_INFINITY;
  private rate: AdaptiveRate;
  private tokens: TokenBudget | null;
  private readonly queue: (() => void)[] = [];
  private why: RateLimiterState["why"] = null;
  private readonly listeners: ((limit: number) => void)[] = [];
  /** Cancels the running wait for the next turn. */
  private asleep: AbortController | null = null;

  constructor(
    private options: RateLimiterOptions,
    private readonly clock: Clock = REAL_CLOCK,
  ) {
    this.limit = options.concurrency === "auto" ? START : options.concurrency;
    this.rate = rateOf(options);
    this.tokens = tokenBudgetOf(options, clock);
  }

  /** Current limits, without what was learned from the server. */
  get limits(): RateLimits {
    const { concurrency, rpm, tpm } = this.options;
    return { concurrency, rpm, tpm };
  }

  /** Replaces limits while calls are running. Calls that wait for an old limit are admitted by the new one. */
  set(changes: Partial<RateLimits>): void {
    this.options = { ...this.options, ...changes };
    if (changes.rpm !== undefined) this.rate = rateOf(this.options);
    if (changes.tpm !== undefined) this.tokens = tokenBudgetOf(this.options, this.clock);
    const { concurrency } = changes;
    if (concurrency !== undefined) {
      this.limit = concurrency === "auto" ? Math.min(MOST, this.limit) : concurrency;
      for (const listener of this.listeners) listener(Math.floor(this.limit));
    }
    this.wake();
    this.pump();
  }

  state(): RateLimiterState {
    const shared = this.options.shared?.state() ?? { waiting: 0, why: null };
    const own = this.queue.length;
    return {
      limit: this.limit,
      running: this.running,
      waiting: own + shared.waiting,
      why: shared.why ?? (own > 0 ? this.why : null),
      refused: this.refused,
    };
  }

  onLimit(listener: (limit: number) => void): void {
    this.listeners.push(listener);
    listener(this.limit);
  }

  async call<T>(
    work: (waitedFor: LimitReason | null) => Promise<T>,
    tokensOf: (done: T) => number,
    signal: AbortSignal,
  ): Promise<T> {
    signal.throwIfAborted();
    let waitedFor: LimitReason | null = null;
    if (this.options.shared !== undefined) {
      await this.options.shared.enter(signal);
      waitedFor = "rate";
    }
    // In most runs, the queue is usually empty, so the call does not need to wait for its turn.
    if (this.queue.length > 0 || this.asleep !== null || this.waitMs() > 0) {
      waitedFor = this.why;
      await this.turn(signal);
    } else this.enter();
    const startedAt = this.clock.now();
    try {
      const done = await work(waitedFor);
      this.tokens?.spend(tokensOf(done));
      if (this.options.shared !== undefined) await this.options.shared.spend(tokensOf(done));
      this.succeeded(startedAt);
      return done;
    } catch (error) {
      const pauseMs = error instanceof ModelError ? this.failed(error, startedAt) : null;
      if (pauseMs !== null) await this.options.shared?.pause(pauseMs);
      throw error;
    } finally {
      this.running--;
      this.pump();
    }
  }

  private turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        const at = this.queue.indexOf(start);
        if (at !== -1) this.queue.splice(at, 1);
        // A timer that is still set would keep the process alive.
        if (this.queue.length === 0) this.wake();
        reject(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.queue.push(start);
      this.pump();
    });
  }

  /** Starts as many calls as currently allowed, and schedules itself for the next one. */
  private pump(): void {
    while (this.queue.length > 0 && this.asleep === null) {
      const wait = this.waitMs();
      if (wait === Number.POSITIVE_INFINITY) return;
      if (wait > 0) {
        const asleep = new AbortController();
        this.asleep = asleep;
        const next = () => {
          this.asleep = null;
          this.pump();
        };
        void this.clock.sleep(wait, asleep.signal).then(next, () => undefined);
        return;
      }
      this.enter();
      this.queue.shift()?.();
    }
  }

  private enter(): void {
    this.running++;
    this.rate.take(this.clock.now());
  }

  private wake(): void {
    this.asleep?.abort();
    this.asleep = null;
  }

  /** Returns the milliseconds until the next call can start, or infinity if a running call must finish first. */
  private waitMs(): number {
    const now = this.clock.now();
    if (this.running >= Math.floor(this.limit)) {
      this.why = "concurrency";
      return Number.POSITIVE_INFINITY;
    }
    const waits = [
      { why: "server", ms: this.pausedUntil - now },
      { why: "rate", ms: this.rate.waitMs(now) },
      { why: "tokens", ms: this.tokens?.waitMs(now, this.running) ?? 0 },
    ] as const;
    const longest = waits.reduce((a, b) => (b.ms > a.ms ? b : a));
    this.why = longest.why;
    // Rounded up to whole milliseconds, the resolution of timers. Otherwise, a remainder of 1e-13 would never elapse.
    return Math.ceil(Math.max(0, longest.ms));
  }

  private succeeded(startedAt: number): void {
    this.scale(this.rate.succeeded(this.clock.now(), startedAt));
    if (this.options.concurrency !== "auto" || ++this.clean < this.limit) return;
    this.clean = 0;
    // A limit that was never reached does not justify a larger one.
    if (this.running < Math.floor(this.limit)) return;
    this.resize(this.wasCut ? Math.max(this.limit + 1, this.limit * GROWTH) : this.limit * 2);
  }

  /** Returns the pause that the server requests, or null if it did not refuse the call. */
  private failed(error: ModelError, startedAt: number): number | null {
    const now = this.clock.now();
    if (error.kind === "timeout" && startedAt >= this.timedOutAt) {
      // The server queues calls. Calls that started together also time out together, so they count only once.
      this.timedOutAt = now;
      this.scale(0.5);
    }
    if (error.kind !== "rate_limit" && error.kind !== "overloaded") return null;
    this.refused++;
    const requestedMs = error.retryAfterMs ?? 0;
    const pause = requestedMs <= LONGEST_PAUSE_MS ? requestedMs : 0;
    this.pausedUntil = Math.max(this.pausedUntil, now + pause);
    this.scale(this.rate.refused(now, startedAt, pause));
    return pause;
  }

  private scale(factor: number): void {
    if (factor === 1 || this.options.concurrency !== "auto") return;
    this.clean = 0;
    this.wasCut = factor < 1;
    this.resize(this.limit * factor);
  }

  private resize(limit: number): void {
    this.limit = Math.min(MOST, Math.max(1, limit));
    for (const listener of this.listeners) listener(Math.floor(this.limit));
  }
}

function rateOf({ rpm }: RateLimits): AdaptiveRate {
  return new AdaptiveRate(rpm === null ? null : rpm / 60_000);
}

function tokenBudgetOf({ tpm }: RateLimits, clock: Clock): TokenBudget | null {
  return tpm === null ? null : new TokenBudget(tpm / 60_000, clock.now());
}

/** Tokens per minute, spread evenly. The tokens of a call are known only after it completes. */
class TokenBudget {
  private left: number;
  private calls = 0;
  private spent = 0;

  constructor(
    private readonly perMs: number,
    private at: number,
  ) {
    this.left = perMs * 10_000;
  }

  spend(tokens: number): void {
    this.left -= tokens;
    this.spent += tokens;
    this.calls++;
  }

  waitMs(now: number, running: number): number {
    this.left = Math.min(this.perMs * 10_000, this.left + (now - this.at) * this.perMs);
    this.at = now;
    const guess = this.calls === 0 ? FIRST_GUESS_TOKENS : this.spent / this.calls;
    // One call can always start. Otherwise, with a budget below the tokens of a single call, that call would wait
    // forever.
    const missing = running === 0 ? -this.left : guess * running - this.left;
    return missing <= 0 ? 0 : missing / this.perMs;
  }
}

/** Time window for counting successes, because servers count requests per minute. */
const WINDOW_MS = 60_000;

/** Minimum number of finished calls required to judge a rate. Until then, a refusal only causes the requested wait. */
const EVIDENCE = 20;

/**
 * A rate is judged after this time, or as soon as this number of calls has been refused. If a server requests a longer
 * wait, it has a per-minute quota, so each of its rates is tried for longer.
 */
const TRIAL_MS = 2_000;
const QUOTA_TRIAL_MS = 10_000;
const MANY_REFUSALS = 8;

/**
 * Growth after the first successful trial of a rate, larger for the longer trials of a quota. The growth doubles with
 * each further trial, so a rate that was cut by mistake recovers quickly.
 */
const SMALLEST_STEP = 0.025;
const SMALLEST_QUOTA_STEP = 0.03;
const LARGEST_STEP = 0.16;

/** Minimum reduction of the rate after a quota refusal, as a fraction. */
const SMALLEST_CUT = 0.02;

/** A smaller fraction of refused calls does not justify a cut. */
const NEGLIGIBLE = 0.01;

/** If a larger fraction is refused, the server is overloaded, even if a lower rate does not reduce the refusals. */
const LARGEST_NOISE = 0.5;

/** Calls that can start immediately after a pause, expressed as milliseconds at the current rate. */
const BURST_MS = 500;

/**
 * The request rate that a server accepts, either set as a cap or learned from its refusals. Rates are in requests per
 * millisecond, and times are in milliseconds.
 *
 * Each rate is tried for a while. Refusals cut the rate by the fraction of refused calls. If the next trial has just as
 * many refusals, they do not depend on the rate. In that case, the previous rate is restored, and this fraction of
 * refusals is tolerated from then on.
 */
export class AdaptiveRate {
  private perMs: number | null;
  private credit = 1;
  private at = Number.NEGATIVE_INFINITY;
  private readonly successes: number[] = [];
  private firstAt: number | null = null;
  private step = SMALLEST_STEP;
  private trial: Trial = newTrial(Number.NEGATIVE_INFINITY);
  /** The rate before the last cut, until the next trial shows whether the cut helped. */
  private before: CutRate | null = null;
  private tolerated = 0;
  private trialMs = TRIAL_MS;

  /** @param cap requests per millisecond, or null if unknown */
  constructor(private readonly cap: number | null) {
    this.perMs = cap;
  }

  waitMs(now: number): number {
    if (this.perMs === null) return 0;
    const burst = Math.max(1, this.perMs * BURST_MS);
    this.credit =
      this.at === Number.NEGATIVE_INFINITY ? 1 : Math.min(burst, this.credit + (now - this.at) * this.perMs);
    this.at = now;
    return this.credit >= 1 ? 0 : (1 - this.credit) / this.perMs;
  }

  take(now: number): void {
    this.firstAt ??= now;
    if (this.trial.since === Number.NEGATIVE_INFINITY) this.trial = newTrial(now);
    this.trial.started++;
    if (this.perMs !== null) this.credit -= 1;
  }

  /** Returns the factor for the number of concurrent calls, like `refused`. */
  succeeded(now: number, startedAt: number): number {
    this.successes.push(now);
    this.forget(now);
    if (startedAt < this.trial.since) return 1;
    this.trial.accepted++;
    return now - this.trial.since >= this.trialMs ? this.judge(now) : 1;
  }

  refused(now: number, startedAt: number, retryAfterMs: number): number {
    // Calls that started in an earlier trial say nothing about this rate.
    if (startedAt < this.trial.since) return 1;
    this.trial.refused++;
    this.trial.pauseMs = Math.max(this.trial.pauseMs, retryAfterMs);
    this.forget(now);
    const enough = this.trial.refused >= MANY_REFUSALS || retryAfterMs >= TRIAL_MS;
    return enough || now - this.trial.since >= this.trialMs ? this.judge(now) : 1;
  }

  private judge(now: number): number {
    const { trial } = this;
    const finishedCalls = trial.accepted + trial.refused;
    const blocked = trial.refused >= MANY_REFUSALS && trial.accepted <= trial.refused;
    if (finishedCalls < EVIDENCE && !blocked) return 1;
    this.trial = newTrial(now);
    const share = trial.refused / finishedCalls;
    const isQuota = trial.pauseMs >= TRIAL_MS;
    if (!isQuota && share <= 1.5 * this.tolerated + NEGLIGIBLE) return this.grow();
    const { before } = this;
    if (!isQuota && before !== null && share > before.share / 2 && share <= LARGEST_NOISE) {
      return this.restore(before, share);
    }
    if (this.successes.length >= EVIDENCE) {
      if (isQuota) this.followQuota(trial, now);
      else this.cut(trial, share, now);
    }
    return shrink(share);
  }

  private grow(): number {
    this.before = null;
    if (this.perMs === null) return 1;
    this.change(this.perMs * (1 + this.step));
    this.step = Math.min(this.step * 2, LARGEST_STEP);
    return 1;
  }

  private restore(before: CutRate, share: number): number {
    this.before = null;
    this.tolerated = share;
    this.change(before.perMs);
    return 1 / shrink(before.share);
  }

  private cut(trial: Trial, share: number, now: number): void {
    const ratePerMs = trial.started / Math.max(now - trial.since, 1);
    const perMs = Math.min(this.perMs ?? ratePerMs, ratePerMs);
    const succeeded = this.successRate(now, trial.pauseMs);
    const isPaused = trial.pauseMs > 0 && succeeded < perMs;
    this.before = { perMs, share };
    this.lower(isPaused ? succeeded : Math.max(perMs * (1 - share), succeeded / 2), TRIAL_MS);
  }

  /**
   * Lowers the rate to the number of calls that succeeded per minute. That number is taken as the quota, which must
   * last until the requested wait is over.
   */
  private followQuota(trial: Trial, now: number): void {
    const { perMs } = this;
    const succeeded = this.successRate(now, trial.pauseMs);
    this.before = null;
    this.lower(
      perMs === null ? succeeded : Math.min(perMs * (1 - SMALLEST_CUT), Math.max(succeeded, perMs * 0.7)),
      QUOTA_TRIAL_MS,
    );
  }

  private lower(perMs: number, trialMs: number): void {
    this.change(perMs);
    this.credit = Math.min(this.credit, 0);
    this.step = trialMs === TRIAL_MS ? SMALLEST_STEP : SMALLEST_QUOTA_STEP;
    this.tolerated /= 2;
    this.trialMs = trialMs;
  }

  /** Returns the number of successful calls per millisecond, over the last minute and the wait. */
  private successRate(now: number, pauseMs: number): number {
    const windowMs = Math.min(WINDOW_MS, now - (this.firstAt ?? now));
    return this.successes.length / Math.max(windowMs + pauseMs, 1_000);
  }

  private change(perMs: number): void {
    this.perMs = Math.max(Math.min(perMs, this.cap ?? Number.POSITIVE_INFINITY), 1 / WINDOW_MS);
  }

  private forget(now: number): void {
    let old = 0;
    while (old < this.successes.length && (this.successes[old] ?? now) < now - WINDOW_MS) old++;
    if (old > 0) this.successes.splice(0, old);
  }
}

/** Returns the factor for the number of concurrent calls based on the fraction of refused calls. */
const shrink = (share: number) => Math.max(SHRINK, 1 - share);

const newTrial = (since: number): Trial => ({ since, started: 0, accepted: 0, refused: 0, pauseMs: 0 });
