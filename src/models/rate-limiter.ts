import { setTimeout as delay } from "node:timers/promises";
import { type CallProgress, type CallWait, type LimitReason, type Model, ModelError } from "./model.js";

/** What is let through by the throttle, once it is; `onProgress` hears of both. */
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

/** Shorter waits are what measuring takes. */
const SHORTEST_MS = 1;

/** Adds up what a call waits for, from what is heard of it. Its last attempt is not in it: it is the call itself. */
export class CallWaits {
  private readonly waits: CallWait[] = [];
  private since: number;

  /** `now`: in ms. */
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

export interface RateLimiterOptions {
  /** Calls under way at once; `auto` finds out how many the server takes. */
  readonly concurrency: number | "auto";
  /** Requests a minute; null: no cap but the server's own. */
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly shared?: SharedLimiter | undefined;
}

/** Port: limits on calls that several machines keep together. */
export interface SharedLimiter {
  state(): { readonly waiting: number; readonly why: "rate" | "tokens" | "server" | null };
  enter(signal: AbortSignal): Promise<void>;
  spend(tokens: number): Promise<void>;
  /** The server has refused a call, and asks for so much patience; 0: it says nothing of it. */
  pause(ms: number): Promise<void>;
}

export interface RateLimiterState {
  readonly limit: number;
  readonly running: number;
  readonly waiting: number;
  readonly why: LimitReason | null;
  readonly refused: number;
}

/** What time it is, in ms, and how to let it pass; replaced where time must not be real. */
export interface Clock {
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const REAL_CLOCK: Clock = { now: () => performance.now(), sleep: (ms, signal) => delay(ms, undefined, { signal }) };

/**
 * `auto`: begins modestly, doubles every clean round until the first refusal, then grows slowly and shrinks a little
 * (as Inspect AI does).
 */
const START = 20;
const MOST = 256;
const GROWTH = 1.05;
const SHRINK = 0.8;

/** A server that asks for more patience than this stops the one call, not all of them. */
const LONGEST_PAUSE_MS = 60_000;

/** Tokens that a call is taken to cost before any has been paid for. */
const FIRST_GUESS_TOKENS = 2_000;

/** One for every provider and key: all calls to it pass through here, each attempt by itself. */
export class RateLimiter {
  private limit: number;
  private running = 0;
  private refused = 0;
  private clean = 0;
  private wasRefused = false;
  private shrunkAt = Number.NEGATIVE_INFINITY;
  private pausedUntil = Number.NEGATIVE_INFINITY;
  private readonly rate: AdaptiveRate;
  private readonly tokens: TokenBudget | null;
  private readonly queue: (() => void)[] = [];
  private why: RateLimiterState["why"] = null;
  private readonly listeners: ((limit: number) => void)[] = [];
  /** Ends the wait for the next turn, while there is one. */
  private asleep: AbortController | null = null;

  constructor(
    private readonly options: RateLimiterOptions,
    private readonly clock: Clock = REAL_CLOCK,
  ) {
    this.limit = options.concurrency === "auto" ? START : options.concurrency;
    this.rate = new AdaptiveRate(options.rpm === null ? null : options.rpm / 60_000);
    this.tokens = options.tpm === null ? null : new TokenBudget(options.tpm / 60_000, clock.now());
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
    // Where nobody waits there is no turn to wait for, which most calls of most runs find.
    if (this.queue.length > 0 || this.asleep !== null || this.waitMs() > 0) {
      waitedFor = this.why;
      await this.turn(signal);
    } else this.enter();
    const startedAt = this.clock.now();
    try {
      const done = await work(waitedFor);
      this.tokens?.spend(tokensOf(done));
      if (this.options.shared !== undefined) await this.options.shared.spend(tokensOf(done));
      this.succeeded();
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
        // A timer that nobody waits for would keep the process alive.
        if (this.queue.length === 0) this.wake();
        reject(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.queue.push(start);
      this.pump();
    });
  }

  /** Lets in as many as may begin now, and comes back when the next may. */
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

  /** Until the next call may begin; infinite where one must end first. */
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
    // Whole ms: a timer is no finer, and a rest of 1e-13 would never pass.
    return Math.ceil(Math.max(0, longest.ms));
  }

  private succeeded(): void {
    this.rate.succeeded(this.clock.now());
    if (this.options.concurrency !== "auto" || ++this.clean < this.limit) return;
    this.clean = 0;
    // A limit that was never reached says nothing about a larger one.
    if (this.running < Math.floor(this.limit)) return;
    this.resize(this.wasRefused ? Math.max(this.limit + 1, this.limit * GROWTH) : this.limit * 2);
  }

  /** Returns the pause that the server asked for; null where it has not refused the call. */
  private failed(error: ModelError, startedAt: number): number | null {
    const now = this.clock.now();
    this.clean = 0;
    if (error.kind !== "rate_limit" && error.kind !== "overloaded") return null;
    this.refused++;
    this.wasRefused = true;
    const requestedMs = error.retryAfterMs ?? 0;
    const pause = requestedMs <= LONGEST_PAUSE_MS ? requestedMs : 0;
    this.pausedUntil = Math.max(this.pausedUntil, now + pause);
    if (error.kind === "rate_limit") this.rate.refused(now, startedAt, pause);
    this.shrink(startedAt, now);
    return pause;
  }

  private shrink(startedAt: number, now: number): void {
    // All that were under way together are refused together: that is one refusal, not twenty.
    if (this.options.concurrency !== "auto" || startedAt < this.shrunkAt) return;
    this.shrunkAt = now;
    this.resize(this.limit * SHRINK);
  }

  private resize(limit: number): void {
    this.limit = Math.min(MOST, Math.max(1, limit));
    for (const listener of this.listeners) listener(Math.floor(this.limit));
  }
}

/** Tokens of a minute, spread evenly; what a call costs is known when it ends. */
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
    // One call at least may always begin: a budget below a call's cost would wait forever.
    const missing = running === 0 ? -this.left : guess * running - this.left;
    return missing <= 0 ? 0 : missing / this.perMs;
  }
}

/** Successes are remembered so long: servers count requests by the minute. */
const WINDOW_MS = 60_000;

/** Fewer successes say nothing about a rate: then a refusal is waited out and no more. */
const EVIDENCE = 20;

/**
 * A learned rate grows by this share after every so many ms without a refusal, to find out whether more is allowed by
 * now, and by twice as much each further time.
 */
const PROBE = 0.02;
const LARGEST_PROBE = 0.16;
const PROBE_EVERY_MS = 10_000;

/** What is begun at once after a pause, in ms of the rate. */
const BURST_MS = 500;

/** How many requests a server takes in a time: as told, or as learned from its refusals. Requests a ms; times in ms. */
export class AdaptiveRate {
  private perMs: number | null;
  private credit = 1;
  private at = Number.NEGATIVE_INFINITY;
  private changedAt = Number.NEGATIVE_INFINITY;
  private readonly successes: number[] = [];
  private firstAt: number | null = null;
  private step = PROBE;

  /** `cap` null: none is known. */
  constructor(private readonly cap: number | null) {
    this.perMs = cap;
  }

  waitMs(now: number): number {
    if (this.perMs === null) return 0;
    this.probe(now);
    const burst = Math.max(1, this.perMs * BURST_MS);
    this.credit =
      this.at === Number.NEGATIVE_INFINITY ? 1 : Math.min(burst, this.credit + (now - this.at) * this.perMs);
    this.at = now;
    return this.credit >= 1 ? 0 : (1 - this.credit) / this.perMs;
  }

  take(now: number): void {
    this.firstAt ??= now;
    if (this.perMs !== null) this.credit -= 1;
  }

  succeeded(now: number): void {
    this.successes.push(now);
    this.forget(now);
  }

  /**
   * Refused, and asked to wait: what passed since the window began must last until the wait is over. Where that
   * says more than the rate already in force, the rate was a little too high. Requests that began before the last
   * change say nothing new.
   */
  refused(now: number, startedAt: number, retryAfterMs: number): void {
    if (startedAt < this.changedAt) return;
    this.forget(now);
    if (this.successes.length < EVIDENCE) return;
    const since = Math.max(now - WINDOW_MS, this.firstAt ?? now);
    const seen = this.successes.length / Math.max(now - since + retryAfterMs, 1_000);
    const learned = this.perMs === null ? seen : Math.min(this.perMs * 0.98, Math.max(seen, this.perMs * 0.7));
    this.perMs = Math.max(Math.min(learned, this.cap ?? Number.POSITIVE_INFINITY), 1 / WINDOW_MS);
    this.credit = Math.min(this.credit, 0);
    this.step = PROBE;
    this.changedAt = now;
  }

  private probe(now: number): void {
    if (this.perMs === null || now - this.changedAt < PROBE_EVERY_MS) return;
    this.perMs = Math.min(this.perMs * (1 + this.step), this.cap ?? Number.POSITIVE_INFINITY);
    this.step = Math.min(this.step * 2, LARGEST_PROBE);
    this.changedAt = now;
  }

  private forget(now: number): void {
    let old = 0;
    while (old < this.successes.length && (this.successes[old] ?? now) < now - WINDOW_MS) old++;
    if (old > 0) this.successes.splice(0, old);
  }
}
