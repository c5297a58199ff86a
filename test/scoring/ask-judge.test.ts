import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openJsonFileCache } from "../../src/models/cache.js";
import type { Model } from "../../src/models/model.js";
import { parseModelName } from "../../src/models/names.js";
import { resolveModel } from "../../src/models/open-model.js";
import { withPrices } from "../../src/models/prices.js";
import { DEFAULT_RETRY } from "../../src/platform/retry.js";
import { type JudgeRequest, openJudge, protocolVersion } from "../../src/scoring/judge.js";
import { type Judgement, judgementSchema } from "../../src/traces/trace.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import type { WireFormat } from "../providers/wire-request.js";

const ITEM = { question: "How much are the dues?", gold: "$40", answer: "forty dollars" };
const QUICK = { ...DEFAULT_RETRY, baseMs: 1, maxMs: 2 };
const never = new AbortController().signal;

let folder: string;
let open: FakeProvider[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "art-e-verdicts-"));
  open = [];
});
afterEach(async () => {
  await Promise.all(open.map((provider) => provider.close()));
  rmSync(folder, { recursive: true, force: true });
});

async function provide(...script: Parameters<typeof startFakeProvider>): Promise<FakeProvider> {
  const provider = await startFakeProvider(...script);
  open.push(provider);
  return provider;
}

const MODELS: Readonly<Record<WireFormat, string>> = {
  anthropic: "anthropic/claude-haiku-4-5",
  "openai-chat": "openai/gpt-4.1-mini",
  "openai-responses": "openai/gpt-4.1-mini",
  google: "google/gemini-2.5-flash",
};

const nameOf = (id: string) => id.slice(id.indexOf("/") + 1);

async function reach(provider: FakeProvider, format: WireFormat = "openai-chat"): Promise<Model> {
  const wireApi = format === "openai-responses" ? ("responses" as const) : null;
  const connection = { apiKey: "k", baseUrl: provider.baseUrl(format), wireApi, timeoutMs: 60_000 };
  return resolveModel(parseModelName(MODELS[format], null), connection, QUICK);
}

function judge(model: Model, settings: Partial<JudgeRequest["settings"]> = {}) {
  return openJudge({
    model: withPrices(model, (usage) => usage.inputTokens / 1_000),
    settings: { model: model.id, baseUrl: null, protocol: "verdict", version: 1, votes: 1, ...settings },
    cache: openJsonFileCache(folder),
  });
}

const says = (verdict: string, reason = "so it is"): Answer => ({
  toolCalls: [{ name: "record_verdict", arguments: { reason, verdict } }],
});

/** The stored form must satisfy the schema. */
const checked = (judgement: Judgement): Judgement => judgementSchema.parse(JSON.parse(JSON.stringify(judgement)));

describe("a judge", () => {
  test.each(["anthropic", "openai-chat", "openai-responses", "google"] as const)(
    "is asked in the %s format",
    async (format) => {
      const provider = await provide([says("correct")]);
      const judgement = checked(await judge(await reach(provider, format)).judge(ITEM, never));
      expect(judgement).toEqual({
        model: MODELS[format],
        baseUrl: null,
        protocol: "verdict",
        version: 1,
        votes: 1,
        verdict: "correct",
        reason: "so it is",
        agreement: 1,
        cast: [{ verdict: "correct", reason: "so it is", model: nameOf(MODELS[format]), cached: false }],
        usage: { inputTokens: 100, outputTokens: 20, cachedInputTokens: 0 },
        costUsd: 0.1,
      });
      const sent = JSON.stringify(provider.requests[0]?.body);
      expect(sent).toContain("record_verdict");
      expect(sent).toMatch(/"temperature":0[,}]/);
    },
  );

  test("that is kept busy elsewhere is asked again", async () => {
    const provider = await provide([{ fail: "status", status: 529 }, { fail: "reset" }, says("partly")]);
    const judgement = await judge(await reach(provider)).judge(ITEM, never);
    expect(judgement.verdict).toBe("partly");
    expect(provider.requests).toHaveLength(3);
  });

  test("remembers a vote by all that decides it: model, server, protocol and its version, texts, and which vote", async () => {
    const provider = await provide(Array.from({ length: 2 }, () => says("correct")));
    const keys: unknown[] = [];
    const model = await reach(provider);
    const settings = { model: model.id, baseUrl: "http://judge", protocol: "verdict", version: 1, votes: 2 } as const;
    const memory = { get: (key: unknown) => void keys.push(key), put: async (key: unknown) => void keys.push(key) };
    await openJudge({ model, settings, cache: memory }).judge(ITEM, never);
    const key = (vote: number) => [
      model.id,
      "http://judge",
      "verdict",
      protocolVersion("verdict"),
      ITEM.question,
      ITEM.gold,
      ITEM.answer,
      vote,
    ];
    expect(keys).toHaveLength(4);
    expect(keys).toEqual(expect.arrayContaining([key(1), key(2), key(1), key(2)]));
  });

  test("is asked once for the same, and answers from memory after that, at no cost", async () => {
    const provider = await provide([says("correct"), says("wrong")]);
    const model = await reach(provider);
    const first = await judge(model).judge(ITEM, never);
    const again = checked(await judge(model).judge(ITEM, never));
    expect(again).toEqual({
      ...first,
      cast: [{ verdict: "correct", reason: "so it is", model: "gpt-4.1-mini", cached: true }],
      usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
      costUsd: 0,
    });
    expect(provider.requests).toHaveLength(1);
  });

  test.each<[string, Partial<typeof ITEM>, Partial<JudgeRequest["settings"]>]>([
    ["another question", { question: "How much?" }, {}],
    ["another gold answer", { gold: "$41" }, {}],
    ["another answer", { answer: "$40" }, {}],
    ["another address", {}, { baseUrl: "http://127.0.0.1:1" }],
  ])("is asked anew for %s", async (_, item, settings) => {
    const provider = await provide([says("correct"), says("wrong")]);
    const model = await reach(provider);
    await judge(model).judge(ITEM, never);
    expect((await judge(model, settings).judge({ ...ITEM, ...item }, never)).verdict).toBe("wrong");
  });

  test("is priced call by call: many short prompts are no long one", async () => {
    const provider = await provide([1, 2, 3].map(() => says("correct")));
    const asked: number[] = [];
    const model = withPrices(await reach(provider), ({ inputTokens }, answeredBy) => {
      asked.push(inputTokens);
      return answeredBy === "gpt-4.1-mini" ? (inputTokens > 150 ? 100 : 1) : null;
    });
    const judge = openJudge({
      model,
      settings: { model: "openai/gpt-4.1-mini", baseUrl: null, protocol: "verdict", version: 1, votes: 3 },
      cache: openJsonFileCache(folder),
    });
    const { costUsd } = await judge.judge(ITEM, never);
    expect({ costUsd, asked }).toEqual({ costUsd: 3, asked: [100, 100, 100] });
  });

  test("votes as often as it is told to, each vote remembered by itself", async () => {
    const verdicts = ["correct", "wrong", "correct"];
    const provider = await provide(verdicts.map((verdict) => says(verdict, verdict)));
    const model = await reach(provider);
    const judgement = checked(await judge(model, { votes: 3 }).judge(ITEM, never));
    expect(judgement.costUsd).toBeCloseTo(0.3, 12);
    expect(judgement).toMatchObject({ verdict: "correct", agreement: 2 / 3, votes: 3 });
    expect(judgement.cast.map(({ verdict }) => verdict).sort()).toEqual(["correct", "correct", "wrong"]);
    const again = await judge(model, { votes: 3 }).judge(ITEM, never);
    expect(again.cast.map(({ verdict, cached }) => [verdict, cached])).toEqual(
      judgement.cast.map(({ verdict }) => [verdict, true]),
    );
    expect(provider.requests).toHaveLength(3);
  });

  test.each<[string, Answer, RegExp]>([
    ["says nothing that can be read", { content: "I would call it correct." }, /could not be read/],
    ["is cut off", { toolCalls: [{ name: "record_verdict", arguments: '{"verdict": "corr' }] }, /could not be read/],
    ["refuses the key", { fail: "status", status: 401, message: "no" }, /judge failed: .*401|judge failed/],
    ["does not know the model", { fail: "status", status: 404, message: "no such model" }, /judge failed/],
  ])("that %s leaves the answer unscored, and is asked again the next time", async (_, answer, reason) => {
    const provider = await provide([answer, says("correct")]);
    const model = await reach(provider);
    const judgement = checked(await judge(model).judge(ITEM, never));
    expect(judgement).toMatchObject({ verdict: null, agreement: null });
    expect(judgement.reason).toMatch(reason);
    expect((await judge(model).judge(ITEM, never)).verdict).toBe("correct");
  });

  test("that never answers is given up when the run is stopped", async () => {
    const provider = await provide([{ fail: "silence" }]);
    const stop = new AbortController();
    const judging = judge(await reach(provider)).judge(ITEM, stop.signal);
    await provider.received(1);
    stop.abort(new Error("stopped"));
    expect(await judging).toMatchObject({ verdict: null, reason: "stopped before the judge had answered", costUsd: 0 });
  });

  test("whose server does not tell the tokens has no known cost", async () => {
    const provider = await provide([{ ...(says("correct") as object), usage: null }]);
    expect(await judge(await reach(provider)).judge(ITEM, never)).toMatchObject({ verdict: "correct", costUsd: null });
  });

  test.each([
    ["no answer", null, "$40", "abstained"],
    ["an empty answer", " ", "$40", "abstained"],
    ["I don't know", "I don't know", "$40", "abstained"],
    ["I don't know, where that is right", "I could not find any emails about it.", "I don't know", "correct"],
  ])("is not asked about %s", async (_, answer, gold, verdict) => {
    const provider = await provide([]);
    const judgement = checked(await judge(await reach(provider)).judge({ ...ITEM, gold, answer }, never));
    expect(judgement).toMatchObject({ verdict, cast: [], costUsd: 0 });
    expect(provider.requests).toHaveLength(0);
  });

  test("that calls an abstention one is understood where the question cannot be answered", async () => {
    const provider = await provide([says("abstained")]);
    const item = { ...ITEM, gold: "I don't know", answer: "Nobody seems to have written of it." };
    expect((await judge(await reach(provider)).judge(item, never)).verdict).toBe("correct");
  });

  test("of the published protocol is given no tool, and says one word", async () => {
    const provider = await provide([{ content: "True" }, { content: "False" }, { content: "Both" }]);
    const art = judge(await reach(provider), { protocol: "art" });
    const verdicts = [];
    for (const answer of ["a", "b", "c"]) verdicts.push((await art.judge({ ...ITEM, answer }, never)).verdict);
    expect(verdicts).toEqual(["correct", "wrong", null]);
    expect(JSON.stringify(provider.requests[0]?.body)).not.toContain("record_verdict");
  });
});

describe("what is remembered", () => {
  test("holds no question, no answer and no key, and is written whole", async () => {
    const provider = await provide([says("correct")]);
    await judge(await reach(provider)).judge(ITEM, never);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      statSync(join(folder, name)).isFile(),
    );
    expect(files).toHaveLength(1);
    expect(files[0]).toMatch(/^[0-9a-f]{2}\/[0-9a-f]{64}\.json$/);
    expect(JSON.parse(readFileSync(join(folder, files[0] ?? ""), "utf8"))).toEqual({
      verdict: "correct",
      reason: "so it is",
      model: "gpt-4.1-mini",
    });
  });

  test("is asked anew where it has been spoilt, or cannot be kept", async () => {
    const provider = await provide([says("correct"), says("partly"), says("wrong")]);
    const model = await reach(provider);
    await judge(model).judge(ITEM, never);
    const [file = ""] = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".json"),
    );
    writeFileSync(join(folder, file), '{"verdict": "splendid"}');
    expect((await judge(model).judge(ITEM, never)).verdict).toBe("partly");
    rmSync(folder, { recursive: true });
    writeFileSync(folder, "in the way");
    expect((await judge(model).judge(ITEM, never)).verdict).toBe("wrong");
  });
});
