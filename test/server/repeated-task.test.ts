import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { saveCurrentVersion } from "../../src/agents/registry-store.js";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { saveSynthetic } from "../reports/synthetic-run.js";
import { type DemoServer, eventsOf, openChat, says, startDemoServer } from "./demo-server.js";

/** A stored task that is repeated in the playground, over HTTP and in a real browser. */

const QUESTION = "How much are the softball dues?";
const TRACE = "trace_run_old_1";

describe("a repeated task", { timeout: 120_000 }, () => {
  let demo: DemoServer;
  /** The model server of the run, and the default one of the server. */
  let recorded: FakeProvider;
  let usual: FakeProvider;

  beforeAll(async () => {
    [recorded, usual] = await Promise.all([startFakeProvider(), startFakeProvider()]);
    demo = await startDemoServer({ modelServer: usual.baseUrl("openai-chat") });
    const { db } = demo;
    saveCurrentVersion(db, "email-search");
    saveSynthetic(db, {
      id: "run_old",
      tasks: 2,
      model: "openai/old",
      change: (trace) => ({
        ...trace,
        answer: "<b>something</b> else",
        scores: { semanticScore: { value: 0.125 } },
        task: {
          ...trace.task,
          question: QUESTION,
          answer: "forty dollars",
          inbox_address: "marcus.hale@kestrelplains.example",
        },
      }),
    });
    db.prepare(
      `UPDATE runs SET model = 'openai/old', settings = json_set(settings, '$.model', 'openai/old', '$.baseUrl', ?,
         '$.wireApi', 'chat', '$.temperature', 0.25, '$.prompt', 'Recorded prompt for {{inbox_address}}.')
       WHERE id = 'run_old'`,
    ).run(recorded.baseUrl("openai-chat"));
  });
  afterAll(async () => {
    await demo?.close();
    await Promise.all([recorded, usual].map((provider) => provider?.close()));
  });

  const answer = (provider: FakeProvider, text: string) =>
    provider.push({ toolCalls: [{ name: "return_final_answer", arguments: { answer: text, sources: [] } }] });

  async function repeat(body: Parameters<typeof openChat>[2], agent = "email-search") {
    const events = await eventsOf(await openChat(demo.url, agent, { repeats: { trace_id: TRACE }, ...body }));
    const info = events.find((event) => event.type === "session-info") ?? {};
    return { info, trace: (await demo.ask("GET", `/api/traces/${info.traceId}`)).body.trace };
  }

  it("uses the recorded prompt, model, parameters and model server, and is scored with the gold answer", async () => {
    const { body } = await demo.ask("GET", `/api/traces/${TRACE}/repeat`);
    expect(body).toMatchObject({
      agent_id: "email-search",
      agent_version: 1,
      model: "openai/old",
      base_url: recorded.baseUrl("openai-chat"),
      prompt: "Recorded prompt for {{inbox_address}}.",
      settings: { temperature: 0.25, maxTurns: 10 },
      question: QUESTION,
    });
    answer(recorded, "forty dollars");
    const variables = { inbox_address: body.inbox, query_date: body.query_date };
    const { info, trace } = await repeat({ ...says(QUESTION), variables });
    expect(info.repeats).toBe(TRACE);
    expect(trace).toMatchObject({ repeats: TRACE, model: "openai/old", agentVersion: 1, answer: "forty dollars" });
    expect(trace.scores).toMatchObject({
      exactMatch: { value: 1 },
      semanticScore: { value: 1 },
      readGold: { value: 0 },
    });
    expect(usual.requests).toEqual([]);
    expect(recorded.requests.at(-1)?.body).toMatchObject({ model: "old", temperature: 0.25 });
    expect(trace.messages[0].content).toBe("Recorded prompt for marcus.hale@kestrelplains.example.");
  });

  it("uses the server's own model server for another model", async () => {
    answer(usual, "forty");
    const { trace } = await repeat({ ...says(QUESTION), modelId: "openai/new" });
    expect(trace).toMatchObject({ model: "openai/new", scores: { semanticScore: { value: 0.5 } } });
    expect(usual.requests).toHaveLength(1);
  });

  it("has no scores of the task for another question", async () => {
    answer(recorded, "forty dollars");
    const { trace } = await repeat(says("Who collects the softball dues?"));
    expect(trace).toMatchObject({ repeats: TRACE, scores: {} });
  });

  it("rejects another agent, an invalid prompt and a task of another program", async () => {
    const rejected = async (agent: string, repeats: { trace_id: string; prompt?: string }) => {
      const response = await openChat(demo.url, agent, { ...says(QUESTION), repeats });
      return { status: response.status, ...((await response.json()) as { error: { message: string } }).error };
    };
    const prompt = "Hello {{nobody}}";
    expect(await rejected("baseline", { trace_id: TRACE })).toMatchObject({
      status: 400,
      message: expect.stringContaining("is not from agent"),
    });
    expect(await rejected("email-search", { trace_id: TRACE, prompt })).toMatchObject({ status: 400 });
    expect(await rejected("email-search", { trace_id: "trace_none" })).toMatchObject({ status: 404 });
  });

  describe("in the browser", needs("browser"), () => {
    const browser = new TestBrowser();

    it("stands beside the recorded answer with both scores, with an edited prompt, also after a reload", async () => {
      const { page, wrong } = await browser.openServed(`${demo.url}/#trace/${TRACE}`);
      await page.getByRole("link", { name: "Open in playground" }).click();
      await page.getByRole("region", { name: "Repeated task" }).waitFor();
      expect(await page.getByLabel("Model", { exact: true }).inputValue()).toBe("openai/old");
      expect(await page.getByRole("textbox", { name: "Question" }).inputValue()).toBe(QUESTION);
      expect(await page.getByRole("region", { name: "Repeated task" }).textContent()).toContain(
        "10 turns, 2,048 tokens per reply, temperature 0.25",
      );
      await page.locator("summary", { hasText: "Prompt" }).click();
      const prompt = page.getByLabel("Prompt with its {{variables}}");
      expect(await prompt.inputValue()).toBe("Recorded prompt for {{inbox_address}}.");
      await prompt.fill("Edited prompt for {{inbox_address}}.");
      answer(recorded, "forty dollars");
      await page.getByRole("button", { name: "Ask" }).click();
      const rows = page.getByRole("table", { name: "Recorded and new answer" }).locator("tbody tr");
      await rows.first().waitFor();
      const cells = async (label: string) => rows.filter({ hasText: label }).locator("th, td").allTextContents();
      const check = async () => {
        expect(await cells("Answer")).toEqual(["Answer", "<b>something</b> else", "forty dollars"]);
        expect(await cells("Word overlap")).toEqual(["Word overlap", "0.125", "1.000"]);
        expect(await page.getByText("Gold answer").textContent()).toBe("Gold answer: forty dollars");
      };
      await check();
      const sent = recorded.requests.at(-1)?.body as { messages: { content: string }[] };
      expect(sent.messages[0]?.content).toBe("Edited prompt for marcus.hale@kestrelplains.example.");
      await page.reload();
      await rows.first().waitFor();
      await check();
      expect(await prompt.inputValue()).toBe("Edited prompt for {{inbox_address}}.");
      await page.getByRole("button", { name: "Use current settings" }).click();
      expect(await page.getByRole("region", { name: "Repeated task" }).count()).toBe(0);
      expect(wrong()).toEqual([]);
    });
  });
});
