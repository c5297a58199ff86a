import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { saveCurrentVersion } from "../../src/agents/registry-store.js";
import { splitPassages } from "../../src/text/passages.js";
import { addRunTags, deleteRun, setRunName } from "../../src/traces/runs-store.js";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { saveSynthetic } from "../reports/synthetic-run.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

/** Walks through the served pages: from the runs to the mail behind an answer, comparisons, lists and chats. */

describe("pages on the server", { ...needs("browser"), timeout: 120_000 }, () => {
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
    saveCurrentVersion(demo.db, "email-search");
    saveSynthetic(demo.db, { id: "run_a", tasks: 60, model: "acme/best", skill: 0.9, price: 0.004 });
    saveSynthetic(demo.db, {
      id: "run_b",
      tasks: 60,
      agentId: "baseline",
      model: "acme/weak",
      skill: 0.2,
      price: 0.009,
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

  it("show the answers to a task in other runs, and step through them with brackets", async () => {
    for (const [id, skill] of [
      ["run_same_1", 0],
      ["run_same_2", 1],
    ] as const) {
      saveSynthetic(demo.db, { id, tasks: 5, model: `acme/${skill}`, skill });
    }
    setRunName(demo.db, "run_same_2", "skilled");
    const { page, wrong } = await open("#runs/run_same_1?task=run_same_1/2/1");
    const dialog = page.getByRole("dialog");
    const strip = dialog.getByRole("region", { name: "This task in other runs" }).first();
    await strip.getByRole("link", { name: "skilled", exact: true }).waitFor();
    expect(await strip.getByRole("row").count()).toBe(3);
    const shown = strip.locator("tr", { has: page.locator("[aria-current]") });
    expect(await shown.textContent()).toContain("acme/0");
    const other = strip.locator("tr", { hasText: "skilled" });
    expect(await other.locator("td").nth(3).textContent()).toMatch(/^(\+|−)?\d\.\d{3}$|^–$/);
    // Typing a bracket or a letter in a field does not leave the task.
    await dialog.getByLabel("Reason for the label").fill("k]");
    await page.keyboard.press("k");
    expect(new URL(page.url()).hash).toContain("run_same_1/2/1");
    await dialog.getByRole("heading", { level: 2 }).focus();
    await page.setViewportSize({ width: 390, height: 800 });
    const scroll = "[...document.querySelectorAll('.same-task .scroll')].map((e) => e.scrollWidth - e.clientWidth)";
    expect(await page.evaluate(scroll)).toEqual([0]);
    const comparison = other.getByRole("link", { name: /^Compare with skilled: / });
    expect(await comparison.getAttribute("href")).toBe("#compare/run_same_1,run_same_2?task=run_same_1/2/1");
    const before = await strip.getByRole("button", { name: "Answer of the next newer run" }).isEnabled();
    await page.keyboard.press(before ? "[" : "]");
    await page.waitForURL(/#runs\/run_same_2\?task=run_same_2\/2\/1/);
    await strip.locator("tr", { has: page.locator("[aria-current]"), hasText: "skilled" }).waitFor();
    expect(wrong()).toEqual([]);
    for (const id of ["run_same_1", "run_same_2"]) deleteRun(demo.db, id);
  });

  it("lead from the newest run to its worst task and the email that it should have read in three clicks", async () => {
    const { page, wrong } = await open("#runs");
    expect(await firstCells(page)).toMatch(
      /run_b.*0\.\d{3}\*.*Sources correct; 0\.\d{3} with 4 failed as wrong60 of 604 failed/,
    );
    await page.getByRole("link", { name: "run_b" }).click();
    expect(await firstTask(page).textContent()).toContain("503 from the server");
    await firstTask(page).click();
    const mail = page.getByRole("dialog").locator("details.mail", { hasText: "never found" });
    expect(await mail.locator("summary").textContent()).toContain(gold.subject);
    expect((await mail.locator("mark").textContent())?.replace(/\s+/g, " ")).toBe(passage);
    expect(await page.getByRole("dialog").textContent()).toContain("1 of 60");
    await page.keyboard.press("j");
    await page.getByRole("dialog").getByText("2 of 60").waitFor();
    await page.getByRole("dialog").getByRole("link", { name: "Open in playground" }).click();
    expect(await page.getByLabel("Agent", { exact: true }).inputValue()).toBe("email-search");
    expect(await page.getByLabel("Question").inputValue()).toMatch(/^What .* did I agree with/);
    expect(wrong()).toEqual([]);
  });

  it("restore a run's filter and its open task after Back", async () => {
    const { page } = await open("#runs/run_b");
    await page.getByRole("combobox", { name: "Ending" }).selectOption("out_of_turns");
    const counted = await page.locator(".count").textContent();
    expect(counted).toMatch(/^[1-9]\d? of 60 tasks$/);
    const time = page.locator("th.time");
    await time.getByRole("button").click();
    await time.getByRole("button").click();
    expect(page.url()).toContain("?sort=-ms&ending=out_of_turns");
    await firstTask(page).click();
    const question = await page.getByRole("dialog").getByRole("heading", { level: 2 }).textContent();
    await page.getByRole("dialog").getByRole("link", { name: "Trace", exact: true }).click();
    await page.getByRole("heading", { name: "Conversation" }).waitFor();
    await page.goBack();
    await page
      .getByRole("dialog")
      .getByRole("heading", { level: 2, name: question ?? "" })
      .waitFor();
    await page.keyboard.press("Escape");
    expect(await page.locator(".count").textContent()).toBe(counted);
    expect(await page.getByRole("combobox", { name: "Ending" }).inputValue()).toBe("out_of_turns");
    expect(await time.getAttribute("aria-sort")).toBe("descending");
  });

  it("open an email in place, collapse a step, and copy the parts of a task", async () => {
    const { page } = await open("#runs/run_a?task=run_a/1/1");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const dialog = page.getByRole("dialog");
    const agent = dialog.locator(".step.assistant").first();
    await agent.getByText(/^Agent, turn 1.*900 tokens in, 60 out/).waitFor();
    await agent.locator(".hits > summary").click();
    await agent.getByRole("button", { name: "Open the email" }).click();
    await agent.locator("details.mail .mail-text").waitFor();
    await agent.locator("summary.who").click();
    expect(await agent.locator(".call").isVisible()).toBe(false);
    const menu = dialog.locator("details.menu");
    await menu.getByText("Copy", { exact: true }).click();
    for (const [name, copied] of [
      ["Copy the question", /^What .* did I agree with/],
      ["Copy the trace id", /^trace_run_a_1$/],
      ["Copy the command", /^art-e show run_a\/1\/1$/],
    ] as const) {
      await dialog.getByRole("button", { name }).click();
      await dialog.getByRole("button", { name: "Copied" }).first().waitFor();
      expect(await page.evaluate("navigator.clipboard.readText()")).toMatch(copied);
    }
    await dialog.getByRole("button", { name: "Close" }).focus();
    expect(await menu.getByRole("button", { name: "Copied" }).first().isVisible()).toBe(false);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("Next task").waitFor();
  });

  it("label 20 traces with the keyboard, starting with the trace of a task", async () => {
    const { page, wrong } = await open("#runs/run_a?task=run_a/7/1");
    await page.getByRole("dialog").getByRole("link", { name: "Label this trace" }).click();
    const labels = () =>
      demo.db.prepare("SELECT trace_id AS trace, label, drawn FROM eval_labels ORDER BY id").all() as {
        readonly trace: string;
        readonly label: string;
        readonly drawn: string;
      }[];
    await page.getByText(/^60 to label/).waitFor();
    const labeled = () => new Set(labels().map(({ trace }) => trace)).size;
    // Some traces are shown a second time.
    for (let given = 1; labeled() < 20; given++) {
      await page.keyboard.press(given % 2 === 1 ? "b" : "g");
      await expect.poll(() => labels().length).toBe(given);
      await page.locator("[aria-busy=true]").waitFor({ state: "detached" });
    }
    await page.getByText(/^40 to label/).waitFor();
    expect(labels()[0]).toEqual({ trace: "trace_run_a_7", label: "bad", drawn: "unknown" });
    expect(labels()[1]).toMatchObject({ label: "good", drawn: "random" });
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("write the reason").waitFor();
    expect(wrong()).toEqual([]);
  });

  it("name the scores of a trace with their reasons, and lead to its labels and the playground", async () => {
    demo.db.exec(
      `UPDATE traces SET trace = json_set(trace, '$.scores.semanticScore.explanation', '<b>3</b> of 5 words')
       WHERE id = 'trace_run_a_1'`,
    );
    const { page } = await open("#trace/trace_run_a_1");
    const scores = page.getByRole("region", { name: "Scores" });
    expect(await scores.textContent()).toMatch(/Word overlap0\.\d+<b>3<\/b> of 5 words/);
    await page
      .locator("summary", { hasText: /^Agent, turn 1.*400 ms · 900 tokens in, 60 out/ })
      .first()
      .waitFor();
    await page.getByRole("link", { name: "Label this trace" }).waitFor();
    await page.getByRole("link", { name: "Open in playground" }).click();
    expect(await page.getByLabel("Question").inputValue()).toMatch(/^What .* did I agree with/);
    expect(await page.getByLabel("Date").inputValue()).toMatch(/^200\d-0\d-11$/);
  });

  it("compare two runs that are selected in the list, with their differing tasks", async () => {
    const { page, wrong } = await open("#runs?sort=run");
    await page.getByRole("checkbox", { name: "Compare run_a" }).check();
    await page.getByRole("checkbox", { name: "Compare run_b" }).check();
    await page.getByRole("link", { name: "Compare 2 runs" }).click();
    await page.getByRole("heading", { name: "2 runs compared" }).waitFor();
    const metrics = page.locator("table.compared");
    expect(await metrics.getByRole("columnheader").allTextContents()).toEqual(
      expect.arrayContaining([expect.stringContaining("acme/best"), expect.stringContaining("acme/weak")]),
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

  it("chart the scores of comparable runs with their intervals, by date and by tag, and lead to a run", async () => {
    addRunTags(demo.db, "run_b", ["paper"]);
    const { page, wrong } = await open("#runs?q=run:run_b");
    await page.locator("summary", { hasText: "Chart of scores" }).click();
    const chart = page.locator("figure.chart");
    const { body } = await demo.ask("GET", "/api/runs?q=run:run_b");
    const [{ score, agent_id: agent }] = body.runs;
    const digits = (value: number) => value.toFixed(3);
    await chart.locator("svg a").first().waitFor();
    expect(await chart.locator("figcaption b").textContent()).toContain(
      `${agent}, synthetic.jsonl test: ${score.label}`,
    );
    // A point, and a ring for the score with failed tasks as wrong.
    expect(await chart.locator("svg circle").count()).toBe(2);
    await chart.locator("summary").click();
    expect(score.overAll.value).toBeLessThan(score.value);
    const cells = [
      "acme/weak",
      "2026-01-01 00:00",
      digits(score.value),
      `${digits(score.low)} to ${digits(score.high)}`,
      digits(score.overAll.value),
      "–",
    ];
    expect(await chart.locator("tbody tr").locator("th, td").allTextContents()).toEqual(cells);
    await page.getByLabel("Order of the chart").selectOption("tag");
    await chart.getByText("paper", { exact: true }).first().waitFor();
    await chart.locator("svg a").click();
    await page.waitForURL(/#runs\/run_b$/);
    expect(wrong()).toEqual([]);
  });

  it("restore the place, the search and the order of a list after Back", async () => {
    const { page } = await open("#traces");
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByText("100 of 120").waitFor();
    await page.getByRole("button", { name: "Score" }).click();
    await page.keyboard.press("/");
    await page.keyboard.type("price");
    const found = await page.getByText(/^(?!(?:50|100) of 120$)\d+ of \d+$/).textContent();
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

  it("explain what to do if there is nothing to show, or if the server has stopped", async () => {
    const other = await startDemoServer();
    const { page } = await browser.openServed(`${other.url}/#label/chats`);
    await page.getByText("No traces to label yet. Start a run").waitFor();
    await page.goto(`${other.url}/#code/chats`);
    await page.getByText("No traces to code.").waitFor();
    await page.goto(`${other.url}/#nonsense`);
    await page.getByText('The page "nonsense" does not exist.').waitFor();
    await other.close();
    for (const section of ["runs", "runs/run_a", "chat"]) {
      await page.evaluate(`location.assign("#${section}")`);
      await page.getByText("It might have stopped. Start it again, then reload.").waitFor();
    }
  });

  it("say that a run was deleted, on its open page and where it was listed", async () => {
    saveSynthetic(demo.db, { id: "run_gone", tasks: 3, agentId: "gone" });
    const { page } = await open("#runs/run_gone");
    const { page: list } = await open("#runs?q=agent:gone");
    await page.locator("tr[data-index]").first().waitFor();
    deleteRun(demo.db, "run_gone");
    await page.getByText("This run was deleted. The page shows the last received state.").waitFor();
    expect(await page.locator("tr[data-index]").count()).toBe(3);
    await list.getByText("Nothing matches.").waitFor();
    await firstTask(page).click();
    await page.getByRole("dialog").getByText("Unknown run.").waitFor();
    expect(await page.getByRole("dialog").textContent()).not.toContain("shows it in a terminal");
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
});
