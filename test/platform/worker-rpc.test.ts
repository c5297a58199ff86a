import { afterEach, expect, it } from "vitest";
import { WorkerRpc } from "../../src/platform/worker-rpc.js";

/** Answers each call with the calls in the same message. */
const TELLS_WHAT_CAME = `
  import { parentPort } from "node:worker_threads";
  parentPort.on("message", (calls) => {
    const together = calls.map(({ call }) => call);
    const answer = ({ id, call }) => (call === "bad" ? { id, error: { message: "no", code: "E" } } : { id, answer: together });
    parentPort.postMessage(calls.map(answer));
  });`;
const FILE = new URL(`data:text/javascript,${encodeURIComponent(TELLS_WHAT_CAME)}`);

let thread: WorkerRpc<unknown, readonly unknown[]>;
const open = (gatherMs?: number) => {
  thread = new WorkerRpc(FILE, {
    data: null,
    youngGenerationMb: 4,
    ...(gatherMs === undefined ? {} : { batchDelayMs: gatherMs }),
  });
};
afterEach(() => thread.close());

it("sends a worker call immediately", async () => {
  open();
  const calls = [1, 2, 3].map((call) => thread.call(call));
  expect(thread.pending).toBe(3);
  expect(await Promise.all(calls)).toEqual([[1], [2], [3]]);
  expect(thread.pending).toBe(0);
});

it("combines worker calls that follow soon after another, and never delays the first", async () => {
  open(1_000);
  const calls = [1, 2, 3].map((call) => thread.call(call));
  expect(await calls[0]).toEqual([1]);
  const later = thread.call(4);
  expect(await Promise.all([...calls.slice(1), later])).toEqual([
    [2, 3, 4],
    [2, 3, 4],
    [2, 3, 4],
  ]);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const alone = [thread.call(5), thread.call(6)];
  expect(await Promise.all(alone)).toEqual([[5], [6]]);
});

it("rejects a worker call with the thread's error, or if it cannot be copied", async () => {
  open();
  await expect(thread.call("bad")).rejects.toMatchObject({ message: "no", code: "E" });
  await expect(thread.call(() => 0)).rejects.toThrow("could not be cloned");
  expect(await thread.call(1)).toEqual([1]);
});

it("rejects waiting worker calls when the worker is closed, combined or not", async () => {
  open(10_000);
  const calls = [thread.call(1), thread.call(2)];
  const outcomes = Promise.allSettled(calls);
  await thread.close();
  expect((await outcomes)[1]).toMatchObject({
    status: "rejected",
    reason: { message: expect.stringContaining("a thread exited") },
  });
  await expect(thread.call(3)).rejects.toThrow("a thread exited");
});
