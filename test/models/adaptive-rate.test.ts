import { describe, expect, it } from "vitest";
import { AdaptiveRate } from "../../src/models/rate-limiter.js";

/** Begins requests as soon as they may be, from one moment to another; each is answered at once. */
function drive(rate: AdaptiveRate, from: number, to: number): number {
  let begun = 0;
  for (let now = from; now <= to; ) {
    const wait = rate.waitMs(now);
    if (wait > 0) {
      now += Math.ceil(wait);
      continue;
    }
    rate.take(now);
    rate.succeeded(now);
    if (++begun > 100_000) break;
  }
  return begun;
}

/** So many requests a second, without asking. */
function busy(rate: AdaptiveRate, seconds: number, perSecond: number): void {
  for (let i = 0; i < seconds * perSecond; i++) {
    rate.take((i * 1000) / perSecond);
    rate.succeeded((i * 1000) / perSecond);
  }
}

describe("a rate that was told", () => {
  it("is kept from the first request on", () => {
    const rate = new AdaptiveRate(600 / 60_000);
    expect(rate.waitMs(0)).toBe(0);
    rate.take(0);
    expect(rate.waitMs(0)).toBeCloseTo(100, 6);
    expect(rate.waitMs(60)).toBeCloseTo(40, 6);
    expect(rate.waitMs(100)).toBeCloseTo(0, 6);
  });

  it("lets half a second of it through at once after a rest, and no more", () => {
    const rate = new AdaptiveRate(600 / 60_000);
    rate.waitMs(0);
    rate.take(0);
    expect(drive(rate, 1_000_000, 1_000_000)).toBe(5);
  });

  it("is never exceeded, however long nothing is refused", () => {
    expect(drive(new AdaptiveRate(600 / 60_000), 0, 600_000)).toBeLessThanOrEqual(6_005);
  });
});

describe("a rate that nobody told", () => {
  it("is none until a refusal", () => {
    const rate = new AdaptiveRate(null);
    busy(rate, 10, 100);
    expect(rate.waitMs(10_000)).toBe(0);
  });

  it("is not learned from a refusal after few requests", () => {
    const rate = new AdaptiveRate(null);
    busy(rate, 1, 19);
    rate.refused(1_000, 500, 10_000);
    expect(rate.waitMs(1_000)).toBe(0);
  });

  it("is learned from what passed until the server's wait is over", () => {
    const rate = new AdaptiveRate(null);
    busy(rate, 10, 10);
    rate.refused(10_000, 9_900, 10_000);
    // 100 requests in 20 seconds.
    const begun = drive(rate, 10_000, 19_000);
    expect(begun).toBeGreaterThanOrEqual(43);
    expect(begun).toBeLessThanOrEqual(47);
  });

  it("falls once for requests that were under way together", () => {
    const once = new AdaptiveRate(null);
    const often = new AdaptiveRate(null);
    for (const rate of [once, often]) {
      busy(rate, 10, 10);
      rate.refused(10_000, 9_900, 10_000);
    }
    for (let i = 0; i < 20; i++) often.refused(10_001 + i, 9_900 + i, 10_000);
    expect(drive(often, 10_100, 19_000)).toBe(drive(once, 10_100, 19_000));
  });

  it("grows again where nothing is refused any more", () => {
    const rate = new AdaptiveRate(null);
    busy(rate, 10, 10);
    rate.refused(10_000, 9_900, 10_000);
    const first = drive(rate, 10_000, 19_000);
    drive(rate, 19_001, 200_000);
    expect(drive(rate, 200_001, 209_000)).toBeGreaterThan(2 * first);
  });
});
