import { describe, expect, it } from "vitest";
import { CostLimit, CostLimitReached } from "../../src/models/call-budget.js";
import { withPrices } from "../../src/models/call-cost.js";
import type { Completion, Model, ModelRequest } from "../../src/models/model.js";
import type { Usage } from "../../src/models/usage.js";

const REQUEST: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: "x".repeat(3_000) }],
  tools: [],
  toolChoice: "auto",
  maxTokens: 1_000,
};

/**
 * A thousand tokens in and out, at one dollar per thousand output tokens. The estimate is about 1 dollar per call, and
 * the real cost is for `used` tokens.
 */
const priceOf = ({ outputTokens }: Usage) => outputTokens / 1_000;

const never = new AbortController().signal;

function completion(outputTokens: number | null): Completion {
  const usage = outputTokens === null ? null : { inputTokens: 1_000, outputTokens, cachedInputTokens: 0 };
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

function limitCost(limited: Model, maxCostUsd: number | null) {
  const limit = new CostLimit(maxCostUsd);
  return { model: limit.applyTo(withPrices(limited, priceOf), priceOf), limit };
}

describe("a cost limit", () => {
  it("prevents a call that might exceed it", async () => {
    const limited = limitCost(model(100).model, 1.25);
    for (let i = 0; i < 3; i++) await limited.model.complete(REQUEST, never);
    expect(limited.limit.spentUsd).toBeCloseTo(0.3, 10);
    await expect(limited.model.complete(REQUEST, never)).rejects.toThrow(
      "--max-cost 1.25 is reached: $0.3000 has been spent, and the next call might cost $1.0000.",
    );
    expect(limited.limit.calls).toBe(3);
  });

  it("makes new calls wait while the calls in progress might use it up", async () => {
    const { model: slow, most } = model(10);
    const limited = limitCost(slow, 2.5);
    await Promise.all(Array.from({ length: 20 }, () => limited.model.complete(REQUEST, never)));
    expect(most()).toBe(2);
    expect(limited.limit).toMatchObject({ calls: 20 });
    expect(limited.limit.spentUsd).toBeCloseTo(0.2, 10);
  });

  it("applies to several models together", async () => {
    const limit = new CostLimit(1.55);
    const [writer, checker] = [model(300), model(300)].map((one) =>
      limit.applyTo(withPrices(one.model, priceOf), priceOf),
    );
    await writer?.complete(REQUEST, never);
    await checker?.complete(REQUEST, never);
    await expect(writer?.complete(REQUEST, never)).rejects.toThrow(CostLimitReached);
    expect(limit).toMatchObject({ calls: 2, spentUsd: 0.6 });
  });

  it("only adds up the cost if there is no limit", async () => {
    const counted = limitCost(model(1_000_000).model, null);
    await Promise.all([counted.model.complete(REQUEST, never), counted.model.complete(REQUEST, never)]);
    expect(counted.limit).toMatchObject({ calls: 2, spentUsd: 2_000 });
  });

  it("charges the maximum if the server reports no usage, and nothing if a call fails", async () => {
    const silent = limitCost(model(null).model, 5);
    await silent.model.complete(REQUEST, never);
    expect(silent.limit.spentUsd).toBe(1);
    const failing = limitCost({ id: "openai/test", complete: () => Promise.reject(new Error("down")) }, 1);
    for (let i = 0; i < 3; i++) await expect(failing.model.complete(REQUEST, never)).rejects.toThrow("down");
    expect(failing.limit).toMatchObject({ spentUsd: 0, calls: 0 });
  });
});
