import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { splitPassages } from "../../src/text/passages.js";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { saveSynthetic } from "../reports/synthetic-run.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

/** Walks through the served pages: from the runs to the mail behind an answer, comparisons, lists and chats. */

describe("the served pages", { ...needs("browser"), timeout: 120_000 }, () => {
  const browser = new TestBrowser();
  let demo: DemoServer;
  let gold: { readonly message_id: string; readonly subject: string; readonly body: string };
  /** The gold answer of the second run's tasks, which the gold email contains. */
  let passage: string;
  beforeAll(async () => {
    demo = await startDemoServer();
    gold = demo.db
      .prepare("SELECT message_id, subject, body FROM emails WHERE subject <> '' ORDER BY message_id LIMIT 1")
      .get() as typeof gold;
    passage = splitPassages(gold.body).at(-1) ?? "";
    const withGold = { message_ids: [gold.message_id], answer: passage };
    saveSynthetic(demo.db, { id: "run_a", tasks: 60, model: "acme/best", skill: 0.9, price: 0.004 });
    saveSynthetic(demo.db, {
      ...{ id: "run_b", tasks: 60, agentId: "baseline", model: "acme/weak", skill: 0.2, price: 0.009 },
      change: (trace) => ({ ...trace, task: { ...trace.task, ...withGold } }),
    });
  });
  afterAll(() => demo?.close());

  async function open(hash: string) {
    const opened = await browser.openServed(`${demo.url}/${hash}`);
    await opened.page.getByRole("heading", { level: 2 }).first().waitFor();
    return opened;
  }

  const firstTask = (page: Page) => page.locator("tr[data-index]").first();
  const firstCells = (page: Page) => page.locator("main tbody tr").first().textContent();

  it("lead from the newest run to its worst task and the email that it should have read in three clicks", async () => {
    const { page, wrong } = await open("#runs");
    expect(await firstCells(page)).toMatch(/run_b.*56 of 60.*4 503 from the server: overloaded/);
    await page.getByRole("link", { name: "run_b" }).click();
    expect(await firstTask(page).textContent()).toContain("503 from the server");
    await firstTask(page).click();
    const mail = page.getByRole("dialog").locator("details.mail", { hasText: "never found" });
    expect(await mail.locator("summary").textContent()).toContain(gold.subject);
    expect((await mail.locator("mark").textContent())?.replace(/\s+/g, " ")).toBe(passage);
    expect(await page.getByRole("dialog").textContent()).toContain("1 of 60");
    await page.keyboard.press("j");
    await page.getByRole("dialog").getByText("2 of 60").waitFor();
    await page.getByRole("dialog").getByRole("link", { name: "Ask again" }).click();
    expect(await page.getByLabel("Agent", { exact: true }).inputValue()).toBe("baseline");
    expect(await page.getByLabel("Question").inputValue()).toMatch(/^What .* did I agree with/);
    expect(wrong()).toEqual([]);
  });

  it("compare two runs that are selected in the list, with their differing tasks", async () => {
    const { page, wrong } = await open("#runs?sort=Run");
    await page.getByRole("checkbox", { name: "Compare run_a" }).check();
    await page.getByRole("checkbox", { name: "Compare run_b" }).check();
    await page.getByRole("link", { name: "Compare 2 runs" }).click();
    await page.getByRole("heading", { name: "2 runs compared" }).waitFor();
    const metrics = page.locator("table.compared");
    expect(await metrics.getByRole("columnheader").allTextContents()).toEqual(
      expect.arrayContaining([expect.stringMatching(/^A/), expect.stringMatching(/^B/)]),
    );
    const matrix = page.getByRole("table", { name: "Questions by run" });
    expect(await matrix.getByRole("columnheader").allTextContents()).toEqual([
      "Question and gold answer",
      expect.stringContaining("acme/best"),
      expect.stringContaining("acme/weak"),
    ]);
    const all = page.locator(".matrix-tools");
    expect(await all.textContent()).toMatch(/60 of 60$/);
    await page.getByLabel("Only differences").check();
    expect(page.url()).toContain("compared=differs/any/");
    expect(await page.locator(".count").textContent()).toMatch(/^\d+ of 120 tasks$/);
    expect(await all.textContent()).toMatch(/[1-5]?\d of 60$/);
    const row = matrix.locator("tbody tr").first();
    expect(await row.locator("th").textContent()).toMatch(/^What .*Gold answer: \w+ \d+$/);
    // The largest difference comes first, with the verdict on the second run.
    const [first = 0, second = 0] = (await row.getByRole("link").allTextContents()).map(Number);
    expect(await row.locator(".badge").textContent()).toBe(second > first ? "won" : "lost");
    await row.getByRole("link").nth(1).click();
    expect(await page.getByRole("dialog").locator(".eyebrow").textContent()).toContain("acme/weak");
    await page.getByRole("button", { name: "Close" }).click();
    await page.reload();
    await page.getByRole("checkbox", { name: "Only differences", checked: true }).waitFor();
    expect(wrong()).toEqual([]);
  });

  it("restore the place, the search and the order of a list after Back", async () => {
    const { page } = await open("#traces");
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByText("100 of 120").waitFor();
    await page.getByRole("button", { name: "Score" }).click();
    await page.keyboard.press("/");
    await page.keyboard.type("price");
    const found = await page.getByText(/^\d+ found in 100 of 120$/).textContent();
    const rows = page.locator("main tbody tr");
    const before = await rows.allTextContents();
    await rows.last().scrollIntoViewIfNeeded();
    const scrolled = Number(await page.evaluate("scrollY"));
    expect(scrolled).toBeGreaterThan(0);
    await rows.last().getByRole("link").first().click();
    await page.getByRole("heading", { name: "Conversation" }).waitFor();
    await page.goBack();
    await page.getByText(found ?? "").waitFor();
    expect(await rows.allTextContents()).toEqual(before);
    expect(await page.evaluate("scrollY")).toBe(scrolled);
  });

  it("show a chat with the oldest question first, and restore it from its URL", async () => {
    const { page } = await open("#chat");
    const questions = page.locator(".chat .question");
    for (const question of ["When is the meeting?", "Who is Marcus?"]) {
      await page.getByRole("textbox", { name: "Question" }).fill(question);
      await page.keyboard.press("Enter");
      await page.locator(".chat", { hasText: question }).getByRole("link", { name: "Open the trace" }).waitFor();
    }
    expect(await questions.allTextContents()).toEqual(["When is the meeting?", "Who is Marcus?"]);
    expect(page.url()).toMatch(/#chats\/.+/);
    const other = await open(new URL(page.url()).hash);
    await other.page.locator(".chat").nth(1).waitFor();
    expect(await other.page.locator(".chat .question").allTextContents()).toEqual(await questions.allTextContents());
    expect(await other.page.locator(".chat").allTextContents()).not.toContainEqual(expect.stringContaining("refused"));
  });

  it("list their keys, and switch between light and dark", async () => {
    const { page } = await open("#runs");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("next row or task").waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("j");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("run_b");
    await page.keyboard.press("j");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("run_a");
    await page.getByRole("button", { name: "Switch to dark colors" }).click();
    await page.reload();
    await page.getByRole("button", { name: "Switch to light colors" }).waitFor();
  });

  it("show 10,000 tasks quickly", { timeout: 300_000 }, async () => {
    saveSynthetic(demo.db, { id: "run_large", tasks: 10_000, skill: 0.5 });
    const { page } = await open("#runs");
    await page.goto(`${demo.url}/#runs/run_large`);
    await firstTask(page).waitFor();
    expect(await page.getByText("10,000 tasks", { exact: true }).count()).toBe(1);
    // Far more than the filter needs, because other programs use the machine during tests.
    expect(await page.evaluate(TYPING)).toBeLessThan(500);
  });
});

/** Milliseconds for one change of the search field, including the new layout. */
const TYPING = `(() => {
  const field = document.querySelector("#report input[type=search]");
  field.value = "price";
  const start = performance.now();
  field.dispatchEvent(new Event("input", { bubbles: true }));
  document.body.offsetHeight;
  const took = performance.now() - start;
  console.log("typing", took);
  return took;
})()`;
