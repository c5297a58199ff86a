import { getEventListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { openDeadline, timeLimitReached, withDeadline } from "../../src/models/http.js";

const never = new AbortController().signal;
const forever = () => new Promise<never>(() => undefined);

it("gives what the work gives, and leaves nothing behind on the signal", async () => {
  expect(await withDeadline(never, 60_000, async () => 7)).toBe(7);
  await expect(withDeadline(never, 60_000, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  const thrown = () => {
    throw new Error("at once");
  };
  await expect(withDeadline(never, 60_000, thrown)).rejects.toThrow("at once");
  expect(getEventListeners(never, "abort")).toEqual([]);
});

it("is a time-out that may be tried again, though the work never ends", async () => {
  let inner: AbortSignal | undefined;
  const call = withDeadline(never, 20, (signal) => {
    inner = signal;
    return forever();
  });
  await expect(call).rejects.toMatchObject({ kind: "timeout", retryable: true, message: /within 0.02 s/ });
  expect(inner?.aborted).toBe(true);
});

it("ends with the outer signal's reason, whatever the work says of it", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const hanging = withDeadline(controller.signal, 60_000, forever);
  const complaining = withDeadline(controller.signal, 60_000, async (signal) => {
    await delay(60_000, undefined, { signal }).catch(() => undefined);
    throw new Error("Request was aborted.");
  });
  controller.abort(reason);
  await expect(hanging).rejects.toBe(reason);
  await expect(complaining).rejects.toBe(reason);
  await expect(withDeadline(controller.signal, 60_000, async () => 7)).rejects.toBe(reason);
});

it("stands on the outer signal once for all that are open, and not when none is", () => {
  const outer = new AbortController();
  const open = () => openDeadline(outer.signal, 60_000, timeLimitReached);
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
