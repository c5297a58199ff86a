import { spawn } from "node:child_process";
import { afterAll, describe, expect, it } from "vitest";
import { STREAMS, startStreamingProvider } from "../../providers/streaming-provider.js";
import { BIN, demoQuestion, MAIL, workFolder } from "../art-e.js";

const WORDS = ["The dues ", "are $40, ", "not ", "$35, ", "as Ruth ", "says."];
const answered = STREAMS["openai-chat"]({
  calls: [{ id: "c", name: "return_final_answer", args: ['{"answer":"', ...WORDS, '","sources":[]}'] }],
});
const cutOff = STREAMS["openai-chat"]({ text: WORDS });

describe("art-e ask with a model that streams", () => {
  const { artE, path } = workFolder({ mail: MAIL });
  const { inbox_address, question } = demoQuestion(1);
  const line = ["ask", inbox_address, question, "-a", "email-search", "--model-id", "openai/test", "--base-url"];
  const providers: { close(): Promise<void> }[] = [];
  afterAll(() => Promise.all(providers.map((provider) => provider.close())));

  async function startProvider(frames: readonly string[], everyMs = 0) {
    const provider = await startStreamingProvider([{ frames, everyMs }]);
    providers.push(provider);
    return provider;
  }

  it("prints the answer while it arrives", async () => {
    const provider = await startProvider([...answered.parts, ...answered.finish], 100);
    const child = spawn(BIN, [...line, provider.baseUrl("openai-chat")], { cwd: path("."), env: process.env });
    const writes: { atMs: number; text: string }[] = [];
    child.stdout.on("data", (chunk) => writes.push({ atMs: performance.now(), text: String(chunk) }));
    const code = await new Promise((resolve) => child.on("close", resolve));
    const stdout = writes.map(({ text }) => text).join("");
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^The dues are \$40, not \$35, as Ruth says\.\n\nemail-search /),
    ]);
    expect((writes.at(-1)?.atMs ?? 0) - (writes[0]?.atMs ?? 0)).toBeGreaterThan(400);
  });

  it("prints one document with --json, without streaming", async () => {
    const json = { choices: [{ message: { content: "In one piece." }, finish_reason: "stop" }] };
    const provider = await startStreamingProvider([{ status: 200, json }]);
    providers.push(provider);
    const { stdout } = await artE([...line, provider.baseUrl("openai-chat"), "--json", "--quiet"]);
    expect(JSON.parse(stdout)).toMatchObject({ ending: "answered", answer: "In one piece." });
    expect(provider.requests[0]?.body.stream).toBe(false);
  });

  it("fails after the text if the stream breaks off", async () => {
    const provider = await startProvider(cutOff.parts);
    const { code, stdout } = await artE([...line, provider.baseUrl("openai-chat")]);
    expect(code).toBe(1);
    expect(stdout).toContain(`${WORDS.join("")}\n\nNo answer: openai/test: the reply stream ended`);
    expect(stdout).toMatch(/: 0 turns, .*, unknown cost\. Full trace/);
    expect(provider.requests).toHaveLength(1);
  });
});
