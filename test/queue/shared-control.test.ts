import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerControls, readControlReply, sendControl } from "../../src/queue/protocol/shared-control.js";
import type { ControlRequest } from "../../src/runs/control-protocol.js";
import { needs } from "../machine-requirements.js";
import { type RedisServer, startRedis } from "./redis-server.js";

describe("answerControls", needs("redis"), () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.close());

  it("answers each request, and names the invalid value of a request that it cannot carry out", async () => {
    const set = (changes: object) => ({ command: "set", changes, reason: null }) as ControlRequest;
    const requests = [
      set({ taskTimeoutMs: 1e12 }),
      set({}),
      set({ maxTimeMs: -1 }),
      set({ rpm: "9" }),
      set({ maxCostUsd: Number.NaN }),
      { command: "explode" } as unknown as ControlRequest,
      { command: "show", showText: false } as const,
    ];
    const ids = requests.map(() => crypto.randomUUID());
    for (const [i, request] of requests.entries()) await sendControl(redis.client, "run_1", ids[i] ?? "", request);
    await answerControls(redis.client, "run_1", async () => ({ ok: false, code: "asked", message: "", hint: "" }));
    const replies = await Promise.all(ids.map((id) => readControlReply(redis.client, "run_1", id)));
    const where = replies.map((reply) => (reply?.ok === false ? `${reply.code} ${reply.message}` : reply));
    expect(where).toEqual([
      "control_request_invalid Cannot read the control request: changes.taskTimeoutMs: expected a number above 0, at most 2147483647.",
      "control_request_invalid Cannot read the control request: changes: expected at least one limit.",
      "control_request_invalid Cannot read the control request: changes.maxTimeMs: expected a number above 0, at most 2147483647.",
      "control_request_invalid Cannot read the control request: changes.rpm: expected a number above 0.",
      "control_request_invalid Cannot read the control request: changes.maxCostUsd: expected a number above 0.",
      expect.stringMatching(/^control_request_invalid .*command/),
      "asked ",
    ]);
  });
});
