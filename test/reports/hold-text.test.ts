import { describe, expect, it } from "vitest";
import { holdOf } from "../../src/reports/hold-text.js";
import type { RunProcessState } from "../../src/traces/progress.js";

const NOW = Date.parse("2026-01-01T00:00:10.000Z");

const retry = (taskId: number, since: string, waitedMs: number) => ({
  taskId,
  epoch: 1,
  startedAt: "2026-01-01T00:00:00.000Z",
  activity: { type: "retry" as const, retry: { attempt: 1, reason: "429\nslow down", waitedMs } },
  since,
});

const doing = (taskId: number, type: "queued" | "calling") => ({ ...retry(taskId, "", 0), activity: { type } });

const state = (underWay: RunProcessState["underWay"], change: Partial<RunProcessState> = {}): RunProcessState => ({
  state: "running",
  underWay,
  underWayCount: underWay.length,
  limiter: null,
  workers: null,
  retries: [],
  retriesUnderWay: 0,
  ...change,
});

const WAITING = [retry(1, "2026-01-01T00:00:08.000Z", 9_000), retry(2, "2026-01-01T00:00:09.000Z", 4_500)];

describe("holdOf", () => {
  it("names the reason and the time until the next try if all tasks wait", () => {
    expect(holdOf(state([...WAITING, doing(3, "queued")]), NOW)).toEqual({
      state: "waiting",
      text: "Waiting: 429 slow down; next try in 4 s (2 of 3 tasks)",
    });
  });

  it("returns null while one task is making progress", () => {
    expect(holdOf(state([...WAITING, doing(3, "calling")]), NOW)).toBeNull();
    expect(holdOf(state([doing(3, "queued")]), NOW)).toBeNull();
  });

  it("names the pause or the stop first, with the wait of its running tasks", () => {
    expect(holdOf(state([], { state: "paused" }), NOW)?.text).toMatch(/^Paused: running tasks finish/);
    expect(holdOf(state(WAITING, { state: "stopping" }), NOW)).toMatchObject({
      state: "stopping",
      text: expect.stringMatching(/^Stopping: .*\. 429 slow down; next try in 4 s \(2 of 2 tasks\)$/),
    });
  });
});
