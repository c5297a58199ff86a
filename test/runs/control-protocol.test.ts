import { describe, expect, it } from "vitest";
import { controlRequestSchema } from "../../src/runs/control-protocol.js";
import { runSchema } from "../../src/runs/run-flags.js";
import { runLimitsSchema } from "../../src/traces/run-settings.js";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

const isAccepted = (changes: object) =>
  controlRequestSchema.safeParse({ command: "set", changes, reason: null }).success;

describe("controlRequestSchema", () => {
  it.each([
    ["concurrency", 9_999, 10_000],
    ["rpm", Number.MAX_SAFE_INTEGER, 1e300],
    ["tpm", Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY],
    ["taskTimeoutMs", LONGEST_TIMER_MS, LONGEST_TIMER_MS + 1],
    ["maxCostUsd", 0.01, 0],
    ["maxTokens", 1, 1.5],
    ["maxTimeMs", LONGEST_TIMER_MS, 1e12],
  ])("bounds %s: accepts %d and rejects %d", (name, accepted, rejected) => {
    expect([isAccepted({ [name]: accepted }), isAccepted({ [name]: rejected })]).toEqual([true, false]);
  });

  it("rejects a change without a limit", () => expect(isAccepted({})).toBe(false));
});

describe("the bounds of a run's limits", () => {
  it("are the same in flags, which have other units, and in stored limits", () => {
    const isFlag = (options: object) => runSchema.safeParse({ agent: "baseline", ...options }).success;
    const seconds = Math.floor(LONGEST_TIMER_MS / 1000);
    expect([seconds, seconds + 1].map((taskTimeout) => isFlag({ taskTimeout }))).toEqual([true, false]);
    expect([seconds / 60, (seconds + 60) / 60].map((maxTime) => isFlag({ maxTime }))).toEqual([true, false]);
    expect(["9999", "10000"].map((concurrency) => isFlag({ concurrency }))).toEqual([true, false]);
    const isStored = (maxTimeMs: number) =>
      runLimitsSchema.safeParse({ maxCostUsd: null, maxTokens: null, maxTimeMs, maxFailures: null }).success;
    expect([LONGEST_TIMER_MS, LONGEST_TIMER_MS + 1].map(isStored)).toEqual([true, false]);
  });
});
