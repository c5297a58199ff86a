import { getEventListeners, once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { NEVER, openDeadline, sleep, withDeadline } from "../../src/platform/deadline.js";

it("openDeadline adds one listener to the outer signal for all open deadlines, and none if no deadline is open", () => {
  const outer = new AbortController();
  const open = () => openDeadline(outer.signal, 60_000, () => new Error("over"));
  const listeners = () => getEventListeners(outer.signal, "abort").length;
  const [first, second, third] = [open(), open(), open()];
  expect(listeners()).toBe(1);
  first.close();
  second.close();
  expect(listeners()).toBe(1);
  third.close();
  expect(listeners()).toBe(0);
  const alone = open();
  third.close();
  expect(listeners()).toBe(1);
  alone.close();
  const [fourth, closed, sixth] = [open(), open(), open()];
  closed.close();
  outer.abort(new Error("enough"));
  const late = open();
  for (const { signal, hasPassed } of [fourth, sixth, late]) {
    expect({ reason: signal.reason, hasPassed }).toEqual({ reason: outer.signal.reason, hasPassed: false });
  }
  expect([first.signal.aborted, closed.signal.aborted]).toEqual([false, false]);
  for (const one of [fourth, sixth, late]) one.close();
  expect(listeners()).toBe(0);
});

it("openDeadline does not pass immediately if its timeout is longer than the longest timer", async () => {
  const { signal } = new AbortController();
  const deadlines = [2 ** 31, 1e12, Number.POSITIVE_INFINITY].map((ms) => openDeadline(signal, ms, () => new Error()));
  await delay(50);
  expect(deadlines.map(({ hasPassed }) => hasPassed)).toEqual([false, false, false]);
  for (const one of deadlines) one.close();
});

it("sleep does not end immediately if it is longer than the longest timer", async () => {
  const ended: string[] = [];
  const stop = new AbortController();
  for (const ms of [2 ** 31, 1e12, Number.POSITIVE_INFINITY]) {
    void sleep(ms, stop.signal).then(
      () => ended.push("too early"),
      () => ended.push("aborted"),
    );
  }
  await delay(50);
  expect(ended).toEqual([]);
  stop.abort();
  await expect.poll(() => ended).toEqual(["aborted", "aborted", "aborted"]);
});

describe("withDeadline", () => {
  const never = new Promise<string>(() => {});
  const late = new Error("late");

  it("returns the work's result, or its error", async () => {
    expect(
      await withDeadline(
        NEVER,
        60_000,
        () => late,
        async () => "done",
      ),
    ).toBe("done");
    const failing = withDeadline(
      NEVER,
      60_000,
      () => late,
      () => Promise.reject(new Error("broken")),
    );
    await expect(failing).rejects.toThrow("broken");
  });

  it("rejects with its reason at the limit, and with the outer signal's reason before, even if the work ignores both", async () => {
    await expect(
      withDeadline(
        NEVER,
        5,
        () => late,
        () => never,
      ),
    ).rejects.toBe(late);
    const outer = new AbortController();
    const stopped = withDeadline(
      outer.signal,
      60_000,
      () => late,
      () => never,
    );
    outer.abort("stopped");
    await expect(stopped).rejects.toBe("stopped");
  });

  it("does not start work with an aborted signal, and lets the work see the limit", async () => {
    let started = false;
    const work = async () => {
      started = true;
    };
    await expect(withDeadline(AbortSignal.abort("over"), 60_000, () => late, work)).rejects.toBe("over");
    expect(started).toBe(false);
    const seen: unknown[] = [];
    const watching = async (signal: AbortSignal) => {
      await once(signal, "abort");
      seen.push(signal.reason);
    };
    await expect(withDeadline(NEVER, 5, () => late, watching)).rejects.toBe(late);
    expect(seen).toEqual([late]);
  });
});
