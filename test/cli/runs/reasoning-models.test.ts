import { afterAll, describe, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { WireFormat } from "../../providers/wire-request.js";
import { demoQuestion, jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

const { artE, readJson } = workFolder({ mail: MAIL });

const providers: FakeProvider[] = [];
afterAll(() => Promise.all(providers.map((provider) => provider.close())));

const { id, answer, message_ids: sources } = demoQuestion(1);

/** Thinks and is cut off, thinks and says nothing, answers. The server refuses what the real ones refuse. */
async function thinker(): Promise<FakeProvider> {
  const provider = await startFakeProvider([
    { reasoning: "signed-1", finishReason: "length" },
    { reasoning: "signed-2" },
    { reasoning: "signed-3", toolCalls: [{ name: "return_final_answer", arguments: { answer, sources } }] },
  ]);
  providers.push(provider);
  return provider;
}

const run = (provider: FakeProvider, format: WireFormat, flags: string, file: string) => {
  const base = `run -a email-search --dataset ${QUESTIONS} --ids ${id} --no-judge --no-progress -o ${file}`;
  const key = { ANTHROPIC_API_KEY: "k-1234", OPENAI_API_KEY: "k-1234", GOOGLE_API_KEY: "k-1234" };
  return artE(`${base} --base-url ${provider.baseUrl(format)} ${flags}`, key);
};

describe("a reply that is only reasoning costs a turn and not the task", () => {
  it.each<[WireFormat, string]>([
    ["anthropic", "--model-id anthropic/claude-opus-5"],
    ["openai-responses", "--model-id openai/gpt-5-mini --wire-api responses"],
    ["openai-chat", "--model-id openai/gpt-5-mini --wire-api chat"],
    ["google", "--model-id google/gemini-2.5-pro"],
  ])("over %s", async (format, flags) => {
    const { code, stderr } = await run(await thinker(), format, flags, `${format}.json`);
    expect([code, stderr]).toEqual([0, ""]);
    const results = resultsSchema.parse(readJson(`${format}.json`));
    expect(results).toMatchObject({ completedTasks: 1, exactMatchAccuracy: 1, turns: 3 });
  });
});

describe("what is sent is recorded", () => {
  it("in the settings and every turn, with what was left out and why; and is told", async () => {
    const provider = await thinker();
    expect(await artE("agents create forced --prompt Answer. --tool-choice required")).toMatchObject({ code: 0 });
    const flags = "-a forced --model-id anthropic/claude-opus-5 --temperature 0 --max-tokens 500";
    const { code, stderr } = await run(provider, "anthropic", flags, "forced.json");
    expect(code).toBe(0);
    expect(stderr).toContain(
      "art-e: the temperature 0 is not sent to anthropic/claude-opus-5: claude-opus-5 takes no temperature.\n",
    );
    expect(stderr).toContain("art-e: the tool choice required is sent as auto to anthropic/claude-opus-5: ");
    const { settings, runId } = resultsSchema.parse(readJson("forced.json"));
    expect(settings).toMatchObject({ maxTokens: 500, temperature: 0, toolChoice: "required" });
    const { sent } = settings;
    expect(sent).toMatchObject({ maxTokens: 16_884, temperature: null, toolChoice: "auto" });
    expect(sent?.adjusted?.map(({ parameter, asked, sent: to }) => [parameter, asked, to])).toEqual([
      ["maxTokens", 500, 16_884],
      ["temperature", 0, null],
      ["toolChoice", "required", "auto"],
    ]);
    for (const { body } of provider.requests) {
      expect(body).toMatchObject({ max_tokens: 16_884, tool_choice: { type: "auto" } });
      expect(body).not.toHaveProperty("temperature");
    }
    const [trace] = jsonLines((await artE(`export-traces --run ${runId}`)).stdout);
    expect(trace.turns.map((turn: { sent: unknown }) => turn.sent)).toEqual([sent, sent, sent]);
  });

  it("goes on by --resume and is repeated by --repeat without a difference", async () => {
    const more = await thinker();
    const again = await artE(`run --repeat latest --base-url ${more.url} --quiet`, { ANTHROPIC_API_KEY: "k-1234" });
    // Another address is another setting, and the only one.
    expect(again.stderr).toMatch(/cannot be repeated as it was: baseUrl was "\S+" and would be "\S+"\.\n/);
    const forced = await artE(`run --repeat latest --base-url ${more.url} --quiet --force`, {
      ANTHROPIC_API_KEY: "k-1234",
    });
    expect(forced).toMatchObject({ code: 0, stderr: "" });
  });

  it("of a model that takes all, as it was asked for", async () => {
    const provider = await thinker();
    const flags = "--model-id anthropic/claude-sonnet-4-5 --temperature 0.5";
    const { code, stderr } = await run(provider, "anthropic", flags, "plain.json");
    expect([code, stderr]).toEqual([0, ""]);
    expect(resultsSchema.parse(readJson("plain.json")).settings.sent).toEqual({
      maxTokens: 2048,
      temperature: 0.5,
      toolChoice: "auto",
    });
    expect(provider.requests[0]?.body).toMatchObject({ max_tokens: 2048, temperature: 0.5 });
  });

  it("of --reasoning-tokens, for any model, and none where it is 0", async () => {
    const provider = await thinker();
    const some = "--model-provider openai --model-id mine --reasoning-tokens 1000";
    expect(await run(provider, "openai-chat", some, "some.json")).toMatchObject({ code: 0 });
    expect(provider.requests[0]?.body).toMatchObject({ max_tokens: 3048 });
    expect(resultsSchema.parse(readJson("some.json")).settings).toMatchObject({ reasoningTokens: 1000 });
    const other = await thinker();
    const none = "--model-id openai/gpt-5-mini --wire-api chat --reasoning-tokens 0";
    expect(await run(other, "openai-chat", none, "none.json")).toMatchObject({ code: 0 });
    expect(other.requests[0]?.body).toMatchObject({ max_completion_tokens: 2048 });
  });

  it("of an agent's own reasoning tokens, which can be taken away again", async () => {
    expect((await artE("agents set forced --reasoning-tokens 77")).code).toBe(0);
    expect((await artE("agents show forced")).stdout).toContain("reasoningTokens 77");
    expect((await artE("agents set forced --reasoning-tokens default")).code).toBe(0);
    expect((await artE("agents show forced")).stdout).not.toContain("reasoningTokens");
  });
});
