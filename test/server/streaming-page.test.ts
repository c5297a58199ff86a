import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { STREAMS, type StreamingProvider, startStreamingProvider } from "../providers/streaming-provider.js";
import { MARCUS } from "../runs/demo-setup.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

describe("streaming on the playground", { ...needs("browser"), timeout: 120_000 }, () => {
  const browser = new TestBrowser();
  let provider: StreamingProvider;
  let server: DemoServer;

  beforeAll(async () => {
    const search = STREAMS["openai-chat"]({
      reasoning: ["I must ", "search."],
      text: ["Let me ", "look."],
      calls: [{ id: "c1", name: "email_search", args: [`{"query":"dues","inbox_id":"${MARCUS}"}`] }],
    });
    const answer = STREAMS["openai-chat"]({
      calls: [{ id: "c2", name: "return_final_answer", args: ['{"answer":"The dues ', "are $40 ", "for ever"] }],
    });
    provider = await startStreamingProvider([
      { frames: [...search.parts, ...search.finish] },
      { frames: answer.parts, ending: "hang" },
    ]);
    server = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });
    await server.ask("POST", "/api/agents", { id: "streamer", name: "Streamer", model: "openai/test" });
  }, 120_000);
  afterAll(async () => {
    await server?.close();
    await provider?.close();
  });

  it("shows an unfinished answer and its steps, and cancels the model call with Stop", async () => {
    const { page } = await browser.openServed(server.url);
    await page.getByRole("combobox", { name: "Agent" }).selectOption("streamer");
    await page.getByRole("combobox", { name: "Mailbox" }).fill(MARCUS);
    await page.getByRole("textbox", { name: "Question" }).fill("How much are the dues?");
    await page.getByRole("button", { name: "Ask" }).click();
    await page.locator(".outcome .answer", { hasText: "The dues are $40 for ever" }).waitFor();
    expect(await page.getByRole("status").textContent()).toBe("Answering …");
    expect(await page.locator(".outcome .answer").count()).toBe(1);
    expect(await page.locator(".steps .reasoning").allTextContents()).toEqual(["I must search."]);
    expect(await page.locator(".steps .said").allTextContents()).toEqual(["Let me look."]);
    expect(provider.abandoned).toBe(0);
    await page.getByRole("button", { name: "Stop" }).click();
    await expect.poll(() => provider.abandoned).toBe(1);
    await page.getByText("Stopped.").waitFor();
  });

  it("keeps the chat and the question whose answer a reload interrupts", async () => {
    const part = STREAMS["openai-chat"]({
      calls: [{ id: "c1", name: "return_final_answer", args: ['{"answer":"Half', '"}'] }],
    });
    const complete = STREAMS["openai-chat"]({ text: ["The dues are $40."] });
    const slow = await startStreamingProvider([
      { frames: part.parts.slice(0, -1), ending: "hang" },
      { frames: [...complete.parts, ...complete.finish] },
    ]);
    const own = await startDemoServer({ modelServer: slow.baseUrl("openai-chat") });
    onTestFinished(async () => {
      await own.close();
      await slow.close();
    });
    const { page } = await browser.openServed(own.url);
    const field = page.getByRole("textbox", { name: "Question" });
    const ask = async (question: string, model: string) => {
      await page.getByRole("combobox", { name: "Model" }).fill(model);
      await field.fill(question);
      await page.keyboard.press("Enter");
    };
    await ask("When is the meeting?", "offline/baseline");
    await page.getByRole("link", { name: "Open the trace" }).waitFor();
    await ask("How much are the dues?", "openai/test");
    await page.locator(".outcome .answer", { hasText: "Half" }).waitFor();
    await page.reload();
    await page.locator(".chat").first().waitFor();
    expect(await field.inputValue()).toBe("How much are the dues?");
    await page.getByRole("button", { name: "Ask" }).click();
    await page
      .locator(".chat", { hasText: "The dues are $40." })
      .getByRole("link", { name: "Open the trace" })
      .waitFor();
    expect(await page.locator(".chat .question").first().textContent()).toBe("When is the meeting?");
    expect(await page.locator(".chat .question").last().textContent()).toBe("How much are the dues?");
  });
});
