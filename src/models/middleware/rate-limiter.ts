import { setTimeout as delay } from "node:timers/promises";
import { type LimitReason, ModelError } from "../../domain/models/model.js";
import { AdaptiveRate } from "./adaptive-rate.js";

export interface RateLimiterOptions {
  /** Calls under way at once; `auto` finds out how many the server takes. */
  readonly concurrency: number | "auto";
  /** Requests a minute; null: no cap but the server's own. */
  readonly rpm: number | null;
  /** Tokens a minute, in and out. */
  readonly tpm: number | null;
  /** Limits that other machines keep too. */
  readonly shared?: SharedLimiter | undefined;
}

/** Port: limits on calls that several machines keep together. */
export interface SharedLimiter {
  state(): { readonly waiting: number; readonly why: "rate" | "tokens" | "server" | null };
  /** Resolves when the next call may begin. */
  enter(signal: AbortSignal): Promise<void>;
  spend(tokens: number): Promise<void>;
  /** The server has refused a call, and asks for so much patience; 0: it says nothing of it. */
  pause(ms: number): Promise<void>;
}

export interface RateLimiterState {
  readonly limit: number;
  readonly running: number;
  readonly waiting: number;
  /** Why calls wait; null where none does. */
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

  /** Hears the limit now and whenever it changes. */
  onLimit(listener: (limit: number) => void): void {
    this.listeners.push(listener);
    listener(this.limit);
  }

  /** Makes one attempt when its turn has come. */
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
