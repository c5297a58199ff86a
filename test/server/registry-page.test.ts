import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

/** Agents, tools and their attachments, created and changed in a real browser. */

const HOSTILE = `</textarea></p><img src=x onerror="document.title='stolen'"><script>document.title='stolen'</script>`;

describe("the pages about agents and tools", { ...needs("browser"), timeout: 60_000 }, () => {
  const browser = new TestBrowser();
  let demo: DemoServer;

  beforeAll(async () => {
    demo = await startDemoServer();
  }, 60_000);
  afterAll(() => demo?.close());

  async function open(hash: string) {
    const opened = await browser.openServed(`${demo.url}/#${hash}`);
    await opened.page.getByRole("heading", { level: 2 }).waitFor();
    return opened;
  }

  const saying = (page: Page, text: string) => page.getByRole("status").filter({ hasText: text }).waitFor();

  const get = async (path: string) => (await demo.ask("GET", path)).body;

  it("create an agent, and save changes to it as its next version", async () => {
    const { page, wrong } = await open("agents");
    await page.getByText("New agent").click();
    await page.getByLabel("Name", { exact: true }).fill("Dues helper");
    await page.getByRole("button", { name: "Create agent" }).click();
    await page.getByRole("heading", { name: "Dues helper" }).waitFor();
    expect(page.url()).toContain("#agents/dues-helper");

    await page.getByLabel("Name", { exact: true }).fill(HOSTILE);
    await page.getByLabel("Purpose").fill(HOSTILE);
    await page.getByLabel("Prompt").fill(`${HOSTILE} {{inbox_address}}`);
    await page.getByLabel("Model (set per chat").fill("offline/baseline");
    await page.getByLabel("Maximum model calls per task").fill("4");
    await page.getByLabel("Temperature").fill("0.5");
    await page.getByLabel("Tool calls per reply").selectOption("first");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await saying(page, "Saved: version 2.");
    const agent = await get("/api/agents/dues-helper");
    expect(agent).toMatchObject({ name: HOSTILE, description: HOSTILE, model: "offline/baseline", version: 2 });
    expect(agent.settings).toMatchObject({ maxTurns: 4, temperature: 0.5, toolCalls: "first" });

    await page.reload();
    await page.getByRole("heading", { level: 2 }).filter({ hasText: "<img" }).waitFor();
    expect(await page.getByLabel("Prompt").inputValue()).toBe(`${HOSTILE} {{inbox_address}}`);
    await page.getByLabel("Temperature").fill("");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await saying(page, "Saved: version 3.");
    expect((await get("/api/agents/dues-helper")).settings.temperature).toBeUndefined();
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(wrong()).toEqual([]);
  });

  it("keep the entered text if the server rejects it", async () => {
    await demo.ask("POST", "/api/agents", { id: "refused", name: "Refused" });
    const { page } = await open("agents/refused");
    await page.getByLabel("Prompt").fill("Of {{nobody}}");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await saying(page, "nobody");
    expect(await page.getByLabel("Prompt").inputValue()).toBe("Of {{nobody}}");
    await page.getByText("Attach a tool").click();
    await page.getByLabel("Config for this agent").last().fill("{not json");
    await page.getByRole("button", { name: "Attach", exact: true }).click();
    await saying(page, "not valid JSON");
  });

  it("save an agent again and again, but tell the second of two people who change it", async () => {
    await demo.ask("POST", "/api/agents", { id: "twice", name: "Twice" });
    const { page } = await open("agents/twice");
    const save = async (prompt: string) => {
      await page.getByLabel("Prompt").fill(prompt);
      await page.getByRole("button", { name: "Save", exact: true }).click();
    };
    await save("First.");
    await saying(page, "Saved: version 2.");
    await page.getByText("Attach a tool").click();
    await page.getByLabel("Tool", { exact: true }).selectOption("read_email");
    await page.getByRole("button", { name: "Attach", exact: true }).click();
    await saying(page, "Attached read_email.");
    await save("Second.");
    await saying(page, "Saved: version 4.");

    await demo.ask("PATCH", "/api/agents/twice", { prompt: "From another browser." });
    // Reads the agent again, with the prompt that the form does not show.
    await page.getByRole("button", { name: "Remove read_email" }).click();
    await saying(page, "Removed read_email.");
    await save("Third.");
    await saying(page, "twice has been changed since it was loaded (now version 6).");
    expect((await get("/api/agents/twice")).prompt).toBe("From another browser.");
  });

  it("attach a tool with a config, change the config, and detach all tools except the last", async () => {
    await demo.ask("POST", "/api/agents", { id: "tooled", name: "Tooled", tools: [{ id: "return_final_answer" }] });
    const { page, wrong } = await open("agents/tooled");
    await page.getByText("Attach a tool").click();
    await page.getByLabel("Tool", { exact: true }).selectOption("email_search");
    await page.getByRole("button", { name: "Attach", exact: true }).click();
    await saying(page, "Attached email_search.");
    const item = page.getByRole("listitem").filter({ hasText: "email_search" });
    await item.getByText("Config").first().click();
    await item.getByLabel("Config for this agent").fill("{}");
    await item.getByRole("button", { name: "Save config" }).click();
    await saying(page, "Saved the config of email_search.");
    const { tools } = await get("/api/agents/tooled/tools");
    expect(tools).toMatchObject([
      { id: "return_final_answer", config: null },
      { id: "email_search", config: {} },
    ]);

    await page.getByRole("button", { name: "Remove return_final_answer" }).click();
    await saying(page, "Removed return_final_answer.");
    await page.getByRole("button", { name: "Remove email_search" }).click();
    await saying(page, "would have no tools");
    expect((await get("/api/agents/tooled")).tools).toEqual(["email_search"]);
    expect(wrong().filter((text) => !text.includes("status of 4"))).toEqual([]);
  });

  it("copy a built-in agent, which cannot be changed, and delete the copy", async () => {
    const { page, wrong } = await open("agents/art-e");
    expect(await page.getByRole("main").textContent()).toContain("it can be copied but not changed");
    expect(await page.getByRole("button", { name: "Save" }).count()).toBe(0);
    await page.getByText("Copy art-e").click();
    await page.getByLabel("Id of the copy").fill("art-e-mine");
    await page.getByRole("button", { name: "Create copy" }).click();
    await page.getByRole("heading", { name: "ART-E Agent (copy)" }).waitFor();
    const [own, origin] = [await get("/api/agents/art-e-mine"), await get("/api/agents/art-e")];
    for (const name of ["prompt", "settings", "tools"]) expect(own[name]).toEqual(origin[name]);
    await page.getByRole("button", { name: "Delete this agent" }).click();
    await page.getByRole("button", { name: "Keep" }).click();
    await page.getByRole("button", { name: "Delete this agent" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("heading", { name: "Agents" }).waitFor();
    expect((await demo.ask("GET", "/api/agents/art-e-mine")).status).toBe(404);
    expect(wrong()).toEqual([]);
  });

  it("compare two versions of an agent by lines and words, as text", async () => {
    const prompt = "Answer from {{inbox_address}}.\nBe brief.";
    await demo.ask("POST", "/api/agents", { id: "versioned", name: "Versioned", prompt });
    await demo.ask("PATCH", "/api/agents/versioned", { prompt: prompt.replace("brief", "<b>very</b> brief") });
    await demo.ask("PATCH", "/api/agents/versioned", { model: "offline/baseline" });
    const { page, wrong } = await open("agents/versioned?versions=1,2");
    const lines = page.locator(".line-differences");
    await lines.waitFor();
    expect(await lines.locator("del").allTextContents()).toEqual(["-  Be brief."]);
    expect(await lines.locator("ins").allTextContents()).toEqual(["+  Be <b>very</b> brief."]);
    expect(await lines.locator("ins mark").allTextContents()).toEqual(["<b>very</b> "]);
    await page.getByLabel("To version").selectOption("3");
    await lines.locator("ins", { hasText: "model: offline/baseline" }).waitFor();
    expect(page.url()).toContain("#agents/versioned?versions=1,3");
    await page.getByLabel("From version").selectOption("3");
    await page.getByText("The two versions are equal.").waitFor();
    expect(wrong()).toEqual([]);
  });

  it("ask before unsaved edits are lost, and stay on the page if the user keeps editing", async () => {
    await demo.ask("POST", "/api/agents", { id: "edited", name: "Edited" });
    const { page } = await open("agents");
    await page.getByRole("link", { name: "edited" }).click();
    await page.getByRole("heading", { name: "Edited" }).waitFor();
    const questions: string[] = [];
    let isLeaving = false;
    page.removeAllListeners("dialog");
    page.on("dialog", async (dialog) => {
      questions.push(dialog.type());
      await (isLeaving ? dialog.accept() : dialog.dismiss());
    });
    const prompt = page.getByLabel("Prompt");
    const saved = await prompt.inputValue();
    await prompt.fill("Half a thought");
    await page.getByRole("link", { name: "Tools", exact: true }).click();
    await page.waitForURL(/#agents\/edited$/);
    await page.goBack();
    await page.waitForURL(/#agents\/edited$/);
    await page.evaluate("location.reload()");
    await expect.poll(() => questions).toEqual(["confirm", "confirm", "beforeunload"]);
    expect(await prompt.inputValue()).toBe("Half a thought");

    await prompt.fill(saved);
    await page.getByRole("link", { name: "Tools", exact: true }).click();
    // The page of an agent has a heading "Tools" too.
    await page.getByText("New tool").waitFor();
    await page.goBack();
    await prompt.fill("Half a thought");
    isLeaving = true;
    await page.getByRole("link", { name: "Tools", exact: true }).click();
    await page.getByText("New tool").waitFor();
    expect(questions.slice(3)).toEqual(["confirm"]);
    expect((await get("/api/agents/edited")).prompt).toBe(saved);
  });

  it("create, change and delete a tool", async () => {
    const { page, wrong } = await open("tools");
    await page.getByText("New tool").click();
    await page.getByLabel("Id", { exact: true }).fill("weather");
    await page.getByLabel("Description for the model").fill(HOSTILE);
    await page.getByRole("button", { name: "Create tool" }).click();
    await page.getByRole("heading", { name: "weather" }).waitFor();
    await page.getByLabel("Category").fill("outside");
    await page.getByLabel("Handler config").fill('{"url": "https://example.com/{{query}}"}');
    await page.getByRole("button", { name: "Save" }).click();
    await saying(page, "Saved.");
    expect(await get("/api/tools/weather")).toMatchObject({
      description: HOSTILE,
      category: "outside",
      handler_key: "http",
      handler_config: { url: "https://example.com/{{query}}" },
    });
    await page.getByLabel("Parameters").fill("{");
    await page.getByRole("button", { name: "Save" }).click();
    await saying(page, "Parameters (JSON Schema): not valid JSON");

    await demo.ask("POST", "/api/agents/tooled/tools", { tool_id: "weather" });
    await page.getByRole("button", { name: "Delete this tool" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await saying(page, 'attached to agent "tooled"');
    await demo.ask("DELETE", "/api/agents/tooled/tools/weather");
    await page.getByRole("button", { name: "Delete this tool" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("heading", { name: "Tools" }).waitFor();
    expect((await demo.ask("GET", "/api/tools/weather")).status).toBe(404);
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(wrong().filter((text) => !text.includes("status of 4"))).toEqual([]);
  });

  it("fit a width of 390 pixels, and have names for their fields", async () => {
    const { page } = await open("tools");
    await page.setViewportSize({ width: 390, height: 800 });
    const nameless = `[...document.querySelectorAll("main input, main select, main textarea")]
      .filter((field) => field.labels.length !== 1 && !field.hasAttribute("aria-label")).length`;
    for (const [hash, heading] of [
      ["tools", "Tools"],
      ["agents/tooled", "Tooled"],
      ["agents/art-e", "ART-E Agent"],
    ] as const) {
      await page.goto(`${demo.url}/#${hash}`);
      await page.getByRole("heading", { level: 2, name: heading, exact: true }).waitFor();
      for (const summary of await page.locator("main summary").all()) await summary.click();
      expect([hash, await page.evaluate("document.documentElement.scrollWidth - innerWidth")]).toEqual([hash, 0]);
      expect([hash, await page.evaluate(nameless)]).toEqual([hash, 0]);
    }
  });
});
