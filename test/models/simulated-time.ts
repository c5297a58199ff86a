import { setMaxListeners } from "node:events";
import { ModelError } from "../../src/models/model.js";
import type { Clock, RateLimiter } from "../../src/models/rate-limiter.js";
import { seeded } from "../random.js";

/** Time that passes only when a test advances it, and servers with a limited number of requests in that time. */

export const MINUTE = 60_000;

export class SimulatedTime implements Clock {
  private time = 0;
  private readonly sleepers: { readonly at: number; readonly wake: () => void }[] = [];

  now(): number {
    return this.time;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const sleeper = { at: this.time + ms, wake: resolve };
      const later = this.sleepers.findIndex(({ at }) => at > sleeper.at);
      this.sleepers.splice(later === -1 ? this.sleepers.length : later, 0, sleeper);
      signal?.addEventListener("abort", () => {
        const at = this.sleepers.indexOf(sleeper);
        if (at !== -1) this.sleepers.splice(at, 1);
        reject(signal.reason);
      });
    });
  }

  get asleep(): number {
    return this.sleepers.length;
  }

  /** Advances time to a moment, after all timers before it. */
  async until(moment: number): Promise<void> {
    for (;;) {
      await settled();
      const next = this.sleepers[0];
      if (next === undefined || next.at > moment) break;
      this.sleepers.shift();
      this.time = Math.max(this.time, next.at);
      next.wake();
    }
    this.time = moment;
  }
}

/** Runs all pending work that does not wait for time. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/** Handles a request at a moment in ms. Returns 0, or the wait until the next one is allowed. */
export type Admit = (now: number) => number;

/** Servers that allow 600 requests per minute, each with another algorithm. */
export const SERVERS: Readonly<Record<string, () => Admit>> = {
  "a fixed window": () => {
    let window = 0;
    let taken = 0;
    return (now) => {
      const at = Math.floor(now / MINUTE);
      if (at !== window) [window, taken] = [at, 0];
      return taken++ < 600 ? 0 : (at + 1) * MINUTE - now;
    };
  },
  "a sliding window": () => {
    const taken: number[] = [];
    return (now) => {
      while ((taken[0] ?? now) <= now - MINUTE) taken.shift();
      if (taken.length >= 600) return (taken[0] ?? now) + MINUTE - now;
      taken.push(now);
      return 0;
    };
  },
  "a bucket of 10": () => bucket(10),
  "a bucket of 600": () => bucket(600),
};

function bucket(size: number): Admit {
  let left = size;
  let at = 0;
  return (now) => {
    left = Math.min(size, left + (now - at) / 100);
    at = now;
    if (left < 1) return (1 - left) * 100;
    left--;
    return 0;
  };
}

export interface Served {
  /** When each request was answered, and when each was refused. */
  readonly answered: readonly number[];
  readonly refused: readonly number[];
}

export const refusal = (retryAfterMs: number | null) =>
  new ModelError("rate_limit", "429", { status: 429, retryable: true, retryAfterMs });

/** The number of clients that the limiter allows call a server without rest, and wait a little when refused. */
export function load(time: SimulatedTime, throttle: RateLimiter, admit: Admit, latencyMs: number): Served {
  const random = seeded(7);
  const answered: number[] = [];
  const refused: number[] = [];
  const never = new AbortController().signal;
  setMaxListeners(0, never);
  const request = async () => {
    const wait = admit(time.now());
    await time.sleep(wait > 0 ? 20 : latencyMs);
    if (wait === 0) return answered.push(time.now());
    refused.push(time.now());
    throw refusal(Math.ceil(wait / 1000) * 1000);
  };
  const client = async () => {
    for (;;) {
      await throttle
        .call(request, () => 0, never)
        .catch((error: unknown) => {
          if (!(error instanceof ModelError)) throw error;
          return time.sleep(Math.max(error.retryAfterMs ?? 0, 0) + random() * 1000);
        });
    }
  };
  let clients = 0;
  throttle.onLimit((limit) => {
    for (; clients < limit; clients++) void client();
  });
  return { answered, refused };
}
