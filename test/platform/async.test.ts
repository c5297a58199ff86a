import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { batchCalls } from "../../src/platform/batches.js";
import { isProcessAlive } from "../../src/platform/processes.js";

it("batchCalls combines calls that arrive while one is running, and returns its own result to each", async () => {
  const calls: (readonly number[])[] = [];
  let finish: () => void = () => undefined;
  const double = batchCalls(async (items: readonly number[]) => {
    calls.push(items);
    if (calls.length === 1) await new Promise<void>((resolve) => (finish = resolve));
    return items.map((item) => item * 2);
  });
  const first = double(1);
  await new Promise(setImmediate);
  const rest = [double(2), double(3), double(4)];
  finish();
  expect(await Promise.all([first, ...rest])).toEqual([2, 4, 6, 8]);
  expect(calls).toEqual([[1], [2, 3, 4]]);
  expect(await double(5)).toBe(10);
});

it("batchCalls rejects only the calls in a failed batch", async () => {
  const odd = batchCalls(async (items: readonly number[]) => {
    if (items.includes(2)) throw new Error("even");
    return items;
  });
  const together = await Promise.allSettled([odd(1), odd(2)]);
  expect(together.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await odd(3)).toBe(3);
});

it("isProcessAlive returns true for this and the first process, and false for an ended one or an invalid id", () => {
  const ended = spawnSync(process.execPath, ["-e", ""]).pid;
  expect([process.pid, 1, ended, 2 ** 40].map(isProcessAlive)).toEqual([true, true, false, false]);
});
