import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { saveTasks } from "../../src/traces/results-store.js";
import { TestBrowser } from "../browser.js";
import { demoQuestions } from "../cli/art-e.js";
import { needs } from "../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { MARCUS } from "../runs/demo-setup.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

/** The playground page in a real browser. */

const HOSTILE = `</pre><img src=x onerror="document.title='stolen'"><script>document.title='stolen'</script>`;

const MBOX = `From mallory@evil.example Mon May 14 10:00:00 2001
Message-ID: <hostile@evil.example>
Date: Mon, 14 May 2001 10:00:00 +0000
From: mallory@evil.example
To: victim@example.com
Subject: ${HOSTILE}

The dues are ${HOSTILE} a head.
`;

/** Fields, buttons and links without a name for screen readers. */
const NAMELESS = `[...document.querySelectorAll("main input, main select, main textarea, main button, main a")]
  .filter((one) => !one.ariaLabel && !one.textContent.trim() && !document.querySelector('label[for="' + one.id + '"]'))
  .map((one) => one.outerHTML)`;

describe("the playground", { ...needs("browser"), timeout: 120_000 }, () => {
  const browser = new TestBrowser();
  let folder: string;
  let provider: FakeProvider;
  let demo: DemoServer;
  let hostile: DemoServer;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "art-e-page-"));
    writeFileSync(join(folder, "hostile.mbox"), MBOX);
    provider = await startFakeProvider();
    [demo, hostile] = await Promise.all([
      startDemoServer({ access: { token: "a-token-for-this-test" } }),
      startDemoServer({ mail: join(folder, "hostile.mbox"), modelServer: provider.baseUrl("openai-chat") }),
    ]);
  }, 120_000);
  afterAll(async () => {
    await Promise.all([demo, hostile].map((server) => server?.close()));
    await provider?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const openPage = (server: DemoServer) => browser.openServed(server.url);

  async function giveToken(page: Page) {
    await page.getByRole("textbox", { name: "Token" }).fill("a-token-for-this-test");
    await page.getByRole("button", { name: "Continue" }).click();
  }

  async function askBaseline(page: Page) {
    await page.getByLabel("Agent").selectOption("baseline");
    await page.getByLabel("Mailbox").fill(MARCUS);
    await page.getByRole("textbox", { name: "Question" }).fill("How much are the softball dues?");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Open the trace" }).waitFor();
  }

  it("offers questions about the mailbox with their dates", async () => {
    const { page } = await openPage(demo);
    await giveToken(page);
    saveTasks(
      demo.db,
      { source: "mine.jsonl", revision: null, sha256: "e".repeat(64), split: "test" },
      demoQuestions.slice(0, 9).map((task) => ({ kind: "question", task })),
    );
    await page.reload();
    await page.getByLabel("Mailbox").fill(MARCUS);
    const examples = page.getByRole("group", { name: "Example questions" }).getByRole("button");
    await expect.poll(() => examples.count()).toBe(3);
    const text = (await examples.first().textContent()) ?? "";
    const asked = demoQuestions.find(({ question }) => question === text);
    expect(asked?.inbox_address).toBe(MARCUS);
    await examples.first().click();
    expect(await page.getByRole("textbox", { name: "Question" }).inputValue()).toBe(text);
    expect(await page.getByLabel("Date").inputValue()).toBe(asked?.query_date);
    await page.getByLabel("Mailbox").fill("nobody@kestrelplains.example");
    await expect.poll(() => examples.count()).toBe(0);
  });

  it("requires the token, accepts a question, shows the emails and the answer, and saves feedback", async () => {
    const { page, wrong } = await openPage(demo);
    await page.getByRole("textbox", { name: "Token" }).fill("wrong");
    await page.keyboard.press("Enter");
    await giveToken(page);
    await askBaseline(page);
    const log = page.getByRole("log", { name: "Conversation" });
    expect(await log.locator(".answer").textContent()).toBe("The league added an umpire fee so dues are $40, not 35.");
    expect(await log.locator(".mail").first().textContent()).toContain("umpire fee");
    expect(await log.locator(".call").first().textContent()).toMatch(/^email_search.*9 emails/);
    expect(await page.evaluate("document.activeElement.id")).toBe("question");

    await page.getByLabel("Note about your feedback").fill("right");
    await page.getByRole("button", { name: "Good answer" }).click();
    await page.getByText("Your feedback is saved with the trace").waitFor();
    const { body } = await demo.ask("GET", "/api/traces?q=rating:positive");
    expect(body.traces).toMatchObject([{ question: "How much are the softball dues?", agent_id: "baseline" }]);

    await page.getByRole("link", { name: "Open the trace" }).click();
    await page.getByRole("heading", { name: "Conversation" }).waitFor();
    expect(await page.getByRole("list", { name: "Feedback so far" }).textContent()).toContain("positive");
    expect(await page.locator("dl.facts").textContent()).toContain(MARCUS);
    // After going back, the conversation is still visible.
    await page.goBack();
    await page.getByRole("link", { name: "Open the trace" }).waitFor();
    await page.getByRole("textbox", { name: "Question" }).fill("And who takes them?");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByRole("link", { name: "Open the trace" }).nth(1).waitFor();
    expect((await demo.ask("GET", "/api/sessions")).body.sessions).toMatchObject([{ chats: 2 }]);
    expect(wrong()).toEqual([]);
  });

  it("restores the conversation, the mailbox and the draft after a reload", async () => {
    const { page, wrong } = await openPage(demo);
    await giveToken(page);
    await page.getByLabel("Date").fill("2001-12-31");
    await askBaseline(page);
    await page.getByRole("textbox", { name: "Question" }).fill("And who");
    const log = page.getByRole("log", { name: "Conversation" });
    const before = await log.textContent();
    await page.reload();
    await page.getByRole("link", { name: "Open the trace" }).waitFor();
    expect(await log.textContent()).toBe(before);
    expect(await page.getByLabel("Mailbox").inputValue()).toBe(MARCUS);
    expect(await page.getByLabel("Date").inputValue()).toBe("2001-12-31");
    expect(await page.getByLabel("Agent", { exact: true }).inputValue()).toBe("baseline");
    expect(await page.getByRole("textbox", { name: "Question" }).inputValue()).toBe("And who");
    await page.getByRole("textbox", { name: "Question" }).fill("And who takes them?");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByRole("link", { name: "Open the trace" }).nth(1).waitFor();
    const [session] = (await demo.ask("GET", "/api/sessions")).body.sessions;
    expect(session).toMatchObject({ chats: 2, inbox_address: MARCUS, query_date: "2001-12-31" });

    // Any mailbox is also a choice, and no other one replaces it.
    await page.getByRole("button", { name: "New session" }).click();
    await page.getByLabel("Mailbox").fill("");
    await page.reload();
    await page.getByRole("button", { name: "Ask", exact: true }).waitFor();
    expect(await page.getByLabel("Mailbox").inputValue()).toBe("");
    expect(await log.textContent()).toBe("");
    expect(wrong()).toEqual([]);
  });

  it("starts a new session if the stored one is missing, and suggests addresses if the mailbox is unknown", async () => {
    const { page } = await openPage(demo);
    await giveToken(page);
    await askBaseline(page);
    const [{ id }] = (await demo.ask("GET", "/api/sessions")).body.sessions;
    demo.db.prepare("DELETE FROM traces WHERE session_id = ?").run(id);
    await page.reload();
    await page.getByRole("textbox", { name: "Question" }).fill("How much are the softball dues?");
    await page.getByLabel("Mailbox").fill(MARCUS.replace("marcus", "markus"));
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    expect(await page.getByRole("alert").textContent()).toContain(MARCUS);
  });

  it("shows agents, tools, traces and runs", async () => {
    const { page, wrong } = await openPage(demo);
    await giveToken(page);
    for (const [section, text] of [
      ["Agents", "email-search"],
      ["Tools", "return_final_answer"],
      ["Traces", "Started"],
      ["Runs", "No runs yet"],
    ] as const) {
      await page.getByRole("navigation").getByRole("link", { name: section }).click();
      await page.getByRole("heading", { name: section, exact: true }).waitFor();
      expect(await page.getByRole("main").textContent()).toContain(text);
    }
    await page.goto(`${demo.url}/#agents/email-search`);
    await page.getByRole("heading", { name: "Email Search Agent" }).waitFor();
    await page.getByRole("link", { name: "Ask this agent" }).click();
    expect(await page.getByLabel("Agent").inputValue()).toBe("email-search");
    await page.goto(`${demo.url}/#trace/nothing`);
    expect(await page.getByRole("alert").textContent()).toContain("Unknown trace");
    expect(wrong().filter((text) => !text.includes("404"))).toEqual([]);
  });

  it("separates agents with the same name", async () => {
    for (const id of ["helper-a", "helper-b"]) await demo.ask("POST", "/api/agents", { id, name: "Helper" });
    const { page } = await openPage(demo);
    await giveToken(page);
    await page.getByLabel("Agent").waitFor();
    const names = await page.getByLabel("Agent").locator("option").allTextContents();
    expect(names).toEqual(expect.arrayContaining(["Helper (helper-a)", "Helper (helper-b)", "Email Search Agent"]));
  });

  it("shows content from mail and models as text, whatever it contains", async () => {
    const { page, wrong } = await openPage(hostile);
    provider.push(
      {
        content: HOSTILE,
        toolCalls: [{ name: "email_search", arguments: { query: "dues", inbox_id: "victim@example.com" } }],
      },
      { toolCalls: [{ name: "email_get", arguments: { message_id: "<hostile@evil.example>" } }] },
      { toolCalls: [{ name: "email_get", arguments: { message_id: HOSTILE } }] },
      { toolCalls: [{ name: "return_final_answer", arguments: { answer: HOSTILE, sources: [HOSTILE] } }] },
    );
    await page.getByLabel("Agent").selectOption("email-search");
    await page.getByLabel("Mailbox").fill("victim@example.com");
    await page.getByLabel("Model").fill("openai/test");
    await page.getByRole("textbox", { name: "Question" }).fill(HOSTILE);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Open the trace" }).waitFor();
    const log = page.getByRole("log", { name: "Conversation" });
    expect(await log.locator(".answer").textContent()).toBe(HOSTILE);
    expect(await log.locator(".mail .subject").textContent()).toBe(HOSTILE);
    expect(await log.locator(".mail-text").textContent()).toContain(`The dues are ${HOSTILE}`);
    expect(await log.locator(".call.refused .error").textContent()).toContain("<img src=x");
    await page.getByRole("link", { name: "Open the trace" }).click();
    await page.getByRole("heading", { name: "Conversation" }).waitFor();
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(await page.title()).toBe("Trace · art-e");
    expect(wrong()).toEqual([]);
  });

  it("lists what the agent changed in the mailbox as text, also after a reload", async () => {
    const { page, wrong } = await openPage(hostile);
    provider.push(
      { toolCalls: [{ name: "email_get", arguments: { message_id: "<hostile@evil.example>" } }] },
      {
        toolCalls: [{ name: "label_emails", arguments: { message_ids: ["<hostile@evil.example>"], add: [HOSTILE] } }],
      },
      { toolCalls: [{ name: "return_final_answer", arguments: { answer: "Done.", sources: [] } }] },
    );
    await page.getByLabel("Agent").selectOption("mail-worker");
    await page.getByLabel("Mailbox").fill("victim@example.com");
    await page.getByLabel("Model").fill("openai/test");
    await page.getByRole("textbox", { name: "Question" }).fill("Label it.");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Open the trace" }).waitFor();
    const changes = page.getByRole("log", { name: "Conversation" }).locator(".changes");
    const shown = await changes.textContent();
    expect(shown).toContain(`label "${HOSTILE}"`);
    expect(shown).not.toContain("collateral");
    await page.reload();
    await page.getByRole("link", { name: "Open the trace" }).waitFor();
    expect(await changes.textContent()).toBe(shown);
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(await page.title()).not.toBe("stolen");
    expect(wrong()).toEqual([]);
  });

  it("stops an answer on request", async () => {
    const { page } = await openPage(hostile);
    const before = provider.requests.length;
    provider.push({ fail: "silence" });
    await page.getByLabel("Agent").selectOption("email-search");
    await page.getByLabel("Model").fill("openai/test");
    await page.getByRole("textbox", { name: "Question" }).fill("?");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await provider.received(before + 1);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped.").waitFor();
    await expect.poll(() => hostile.chats.count, { timeout: 20_000 }).toBe(0);
    expect(await page.getByRole("button", { name: "Ask", exact: true }).isEnabled()).toBe(true);
  });

  it("fits a narrow screen, light and dark, and shows a name for each field", async () => {
    const { page } = await openPage(demo);
    await page.setViewportSize({ width: 360, height: 740 });
    await giveToken(page);
    await askBaseline(page);
    const overflow = () => page.evaluate("document.documentElement.scrollWidth - innerWidth");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await overflow()).toBe(0);
      const background: string = await page.evaluate("getComputedStyle(document.body).backgroundColor");
      expect(Number(/\d+/.exec(background)?.[0]) > 128).toBe(colorScheme === "light");
      expect(await page.evaluate(NAMELESS)).toEqual([]);
    }
    for (const section of ["traces", "agents", "tools", "agents/art-e", "tools/email_search"]) {
      await page.goto(`${demo.url}/#${section}`);
      await page.getByRole("heading", { level: 2 }).first().waitFor();
      expect([section, await overflow()]).toEqual([section, 0]);
    }
  });
});
