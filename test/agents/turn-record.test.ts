import { describe, expect, it } from "vitest";
import { echo, ending } from "./echo-tools.js";
import { call, finish, roll } from "./scripted-model.js";

describe("the cost limit of a task", () => {
  const free = { ...call("echo"), usage: null };

  it("ends it when it is reached: each turn costs $0.01", async () => {
    const lines = [call("echo"), call("echo"), finish("$40")];
    const reached = await roll(lines, [echo(), ending], { maxCostUsd: 0.02 });
    expect(reached).toMatchObject({ ending: "out_of_budget", answer: null, sources: [] });
    expect(reached.turns).toHaveLength(2);
    expect(await roll(lines, [echo(), ending], { maxCostUsd: 0.021 })).toMatchObject({ ending: "answered" });
  });

  it("counts turns of unknown cost as nothing", async () => {
    const rollout = await roll([free, free, call("echo"), finish("$40")], [echo(), ending], { maxCostUsd: 0.01 });
    expect(rollout.ending).toBe("out_of_budget");
    expect(rollout.turns.map(({ costUsd }) => costUsd)).toEqual([null, null, 0.01]);
  });

  it("counts the cost that the server reports before a price of ours", async () => {
    const rollout = await roll([{ ...call("echo"), costUsd: 5 }, finish("$40")], [echo(), ending], { maxCostUsd: 4 });
    expect(rollout.turns.map(({ costUsd }) => costUsd)).toEqual([5]);
    const unknown = await roll([{ ...call("echo"), costUsd: null }, finish("$40")], [echo(), ending]);
    expect(unknown.turns[0]?.costUsd).toBeNull();
  });
});

it("a turn records the model that answered, the wait, the cache and what was sent, where a reply has them", async () => {
  const sent = { maxTokens: 100, temperature: 0, toolChoice: null };
  const providerState = { provider: "script", value: "r1" };
  const line = { ...call("echo"), model: "script-2", waitedMs: 7, cached: true, sent, providerState };
  const { turns, messages } = await roll([line, finish("$40")], [echo(), ending]);
  expect(turns[0]).toMatchObject({ model: "script-2", waitedMs: 7, cached: true, sent });
  expect(turns[1]).toMatchObject({ waitedMs: 0, cached: false });
  expect(turns[1]).not.toHaveProperty("model");
  expect(turns[1]).not.toHaveProperty("sent");
  const replies = messages.filter(({ role }) => role === "assistant");
  expect(replies[0]).toMatchObject({ providerState });
  expect(replies[1]).not.toHaveProperty("providerState");
});
