import { describe, expect, it } from "vitest";
import type { Completion, Model, ModelRequest, Usage } from "../../../src/domain/models/model.js";
import { limitCost } from "../../../src/models/middleware/limit-cost.js";

const REQUEST: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: "x".repeat(3_000) }],
  tools: [],
  toolChoice: "auto",
  maxTokens: 1_000,
};

/** A thousand tokens in and out, at a dollar a thousand out: a call may cost some 1 dollar, and costs `used` tokens. */
const priceOf = ({ outputTokens }: Usage) => outputTokens / 1_000;

const never = new AbortController().signal;

function completion(outputTokens: number | null): Completion {
  const usage = outputTokens === null ? null : { inputTokens: 0, outputTokens, cachedInputTokens: 0 };
  return {
    content: "",
    toolCalls: [],
    finishReason: "stop",
    rawFinishReason: "stop",
    usage,
    latencyMs: 0,
    retries: [],
  };
}

function model(outputTokens: number | null): { model: Model; most: () => number } {
  let [underWay, most] = [0, 0];
  return {
    most: () => most,
    model: {
      id: "openai/test",
      async complete() {
        most = Math.max(most, ++underWay);
        await new Promise(setImmediate);
        underWay--;
        return completion(outputTokens);
      },
    },
  };
}

describe("a limit of cost", () => {
  it("makes no call that could exceed it", async () => {
    const limited = limitCost(model(100).model, priceOf, 1.25);
    for (let i = 0; i < 3; i++) await limited.model.complete(REQUEST, never);
    expect(limited.limit.spentUsd).toBeCloseTo(0.3, 10);
    await expect(limited.model.complete(REQUEST, never)).rejects.toThrow(
      "--max-cost 1.25 is reached: $0.3000 is spent, and the next call may cost $1.0000.",
    );
    expect(limited.limit.calls).toBe(3);
  });

  it("lets calls wait while those under way could use it up", async () => {
    const { model: slow, most } = model(10);
    const limited = limitCost(slow, priceOf, 2.5);
    await Promise.all(Array.from({ length: 20 }, () => limited.model.complete(REQUEST, never)));
    expect(most()).toBe(2);
    expect(limited.limit).toMatchObject({ calls: 20 });
    expect(limited.limit.spentUsd).toBeCloseTo(0.2, 10);
  });

  it("charges the most where a server does not say what was used, and nothing for a call that failed", async () => {
    const silent = limitCost(model(null).model, priceOf, 5);
    await silent.model.complete(REQUEST, never);
    expect(silent.limit.spentUsd).toBe(1);
    const failing = limitCost({ id: "openai/test", complete: () => Promise.reject(new Error("down")) }, priceOf, 1);
    for (let i = 0; i < 3; i++) await expect(failing.model.complete(REQUEST, never)).rejects.toThrow("down");
    expect(failing.limit).toEqual({ spentUsd: 0, calls: 0 });
  });
});
