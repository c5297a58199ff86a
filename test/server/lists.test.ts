import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { addRunTags, finishRun, setRunName } from "../../src/traces/runs-store.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { saveSynthetic } from "../reports/synthetic-run.js";
import { MARCUS } from "../runs/demo-setup.js";
import { finished, saveRun, saveTask } from "../traces/saved-runs.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

/** The playground's lists of chats, runs and traces, its links to emails, and its error messages. */

/** The rows of a list: their visible text, its lines, and the number of parts that are cut. */
const SHOWN_ROWS = `[...document.querySelectorAll("main tbody tr")].map((row) => {
  const range = document.createRange();
  range.selectNodeContents(row);
  const boxes = [...range.getClientRects()].filter(({ width }) => width > 0);
  const centers = boxes.map(({ y, height }) => y + height / 2).sort((a, b) => a - b);
  const parts = [row, ...row.querySelectorAll("td, td *")];
  return {
    text: row.innerText,
    lines: centers.filter((y, i) => i === 0 || y - centers[i - 1] > 8).length,
    cut: parts.filter((part) => part.clientWidth > 0 && part.scrollWidth > part.clientWidth).length,
  };
})`;

describe("the lists on the playground", { ...needs("browser"), timeout: 120_000 }, () => {
  const browser = new TestBrowser();
  let provider: FakeProvider;
  let demo: DemoServer;

  beforeAll(async () => {
    provider = await startFakeProvider();
    demo = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });
    for (let i = 1; i <= 60; i++) {
      saveRun(demo.db, `run_${i}`, `2026-01-01T10:00:${String(i % 60).padStart(2, "0")}.000Z`);
      finishRun(demo.db, `run_${i}`, i % 2 === 0 ? "completed" : "interrupted", "2026-01-01T11:00:00.000Z", 10);
    }
    setRunName(demo.db, "run_7", "before the fix");
    addRunTags(demo.db, "run_7", ["nightly"]);
    saveTask(demo.db, "run_7", 1, 0.5);
    saveTask(demo.db, "run_7", 2, null);
  }, 120_000);
  afterAll(async () => {
    await demo?.close();
    await provider?.close();
  });

  async function open(hash: string, width = 1_280): Promise<Page> {
    const { page } = await browser.openServed(`${demo.url}/#${hash}`, { viewport: { width, height: 800 } });
    await page.getByRole("heading", { level: 2 }).first().waitFor();
    return page;
  }

  const text = (page: Page) => page.getByRole("main").textContent();

  async function ask(page: Page, question: string): Promise<void> {
    const before = await page.getByRole("link", { name: "Open the trace" }).count();
    await page.getByRole("textbox", { name: "Question" }).fill(question);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Open the trace" }).nth(before).waitFor();
  }

  it("filters runs, restores the filter after a reload, and shows all runs page by page", async () => {
    const page = await open("runs");
    expect(await text(page)).toContain("50 of 60");
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByText("60 of 60").waitFor();
    expect(await page.getByRole("row").count()).toBe(61);
    expect(await page.getByRole("button", { name: "Show more" }).isVisible()).toBe(false);

    const search = page.getByRole("searchbox");
    await search.fill("status:interrupted");
    await page.getByText("30 of 30").waitFor();
    await search.fill("status:interrupted tag:nightly");
    await page.getByText("1 of 1").waitFor();
    await page.reload();
    await page.getByText("1 of 1").waitFor();
    expect(await search.inputValue()).toBe("status:interrupted tag:nightly");
    await page.getByRole("link", { name: "before the fix" }).click();
    await page.getByRole("heading", { name: "before the fix" }).waitFor();
    expect(await text(page)).toContain("2 of 2 tasks done, 1 of them failed");
    await page.goBack();
    await page.getByText("1 of 1").waitFor();
    await search.fill("tag:weekly");
    await page.getByText("Nothing matches.").waitFor();
    await page.getByRole("button", { name: "Clear the search" }).click();
    await page.getByText("50 of 60").waitFor();
    await search.fill("modle:x");
    await page.getByText('Unknown field "modle"').waitFor();
    await page.getByText("Search by field").click();
    await search.fill("");
    await page.getByRole("button", { name: "tag", exact: true }).click();
    expect(await search.inputValue()).toBe("tag:");
    await page.keyboard.type("nightly");
    await page.getByText("1 of 1").waitFor();
    await page.keyboard.press("Escape");
    expect(await page.evaluate("document.activeElement.tagName")).toBe("BODY");
    expect(await search.inputValue()).toBe("tag:nightly");
  });

  it("shows a new run in an open list, finds old runs, and opens a run by its row", async () => {
    const page = await open("runs?q=agent:live");
    await page.getByText("Nothing matches.").waitFor();
    saveSynthetic(demo.db, { id: "run_live", tasks: 2, agentId: "live" });
    const row = page.getByRole("row").filter({ hasText: "run_live" });
    await row.getByText("2 of 2").waitFor();
    await row.getByText("synthetic.jsonl").click();
    await page.waitForURL(/#runs\/run_live/);
  });

  it("shows a run's dataset and score, on wide and narrow screens", async () => {
    const id = "run_scored";
    saveSynthetic(demo.db, { id, tasks: 3, agentId: id });
    const page = await open(`runs?q=agent:${id}`);
    const row = page.getByRole("row").filter({ hasText: id });
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await row.textContent()).toMatch(
        /synthetic\.jsonl test1\.000\*0\.\d{3} to 1\.000Sources correct3 of 30\$0\.0\d+$/,
      );
      expect(await text(page)).toContain("* Not judged: the score is");
      const edges = await row
        .locator("td")
        .evaluateAll((all) =>
          all.map((each) => each.getBoundingClientRect()).map(({ left, right }) => ({ left, right })),
        );
      expect(edges.length).toBeGreaterThan(0);
      expect(edges.filter(({ left, right }) => left < 0 || right > width)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    }

    // Each score is on an axis with labeled ends.
    await page.goto(`${demo.url}/#runs/${id}`);
    const scores = page.getByRole("region", { name: "Scores", exact: true });
    await scores.waitFor();
    const track = scores.locator(".axis").first();
    for (const width of [390, 1_280]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await track.locator("span").allTextContents()).toEqual(["0", "1"]);
      const { right } = await track.evaluate((each) => each.getBoundingClientRect());
      expect(right).toBeLessThanOrEqual(width);
    }
  });

  it("shows a row in one line of 32 px on a wide screen, with all columns and numbers aligned to the right", async () => {
    const failing = (trace: QuestionTrace): QuestionTrace =>
      trace.taskId === 1 ? { ...trace, ending: "timeout", error: "too slow", answer: null, scores: {} } : trace;
    const names = { agentId: "email-search-with-long-name", model: "openrouter/provider/long-model-name-2026" };
    saveSynthetic(demo.db, { id: "run_wide_20261130-071107", tasks: 40, ...names, change: failing });
    addRunTags(demo.db, "run_wide_20261130-071107", ["nightly", "paper"]);
    for (const hash of ["runs?q=agent:long", "traces?q=agent:long", "label?q=agent:long", "agents", "tools"]) {
      const page = await open(hash);
      const list = page.locator(".list-tools ~ .scroll");
      await list.locator("tbody tr").first().waitFor();
      const heights = await list
        .locator("tbody tr")
        .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect()));
      expect(new Set(heights.map(({ height }) => Math.round(height))), hash).toEqual(new Set([32]));
      expect(await list.evaluate((region) => region.scrollWidth - region.clientWidth), hash).toBe(0);
      const aligned = await list
        .locator("td.number")
        .evaluateAll((cells) => cells.map((cell) => cell.computedStyleMap().get("text-align")?.toString()));
      expect(new Set(aligned), hash).toEqual(new Set(hash === "tools" ? [] : ["right"]));
    }
  });

  it("shows a run in four lines on a phone, with nothing cut", async () => {
    const failing = (trace: QuestionTrace): QuestionTrace =>
      trace.taskId === 1 ? { ...trace, ending: "timeout", error: "too slow", answer: null, scores: {} } : trace;
    const model = "openai/gpt-6.1-sol";
    saveSynthetic(demo.db, { id: "run_20261130-071107_8f6379", tasks: 40, agentId: "phone", model, change: failing });
    saveSynthetic(demo.db, { id: "run_repeated", tasks: 40, epochs: 4, agentId: "phone", model });
    setRunName(demo.db, "run_repeated", "nightly-2026-11-30");
    const page = await open("runs?q=agent:phone", 390);
    await page.getByText("2 of 2").waitFor();
    const rows = (await page.evaluate(SHOWN_ROWS)) as readonly { text: string; lines: number; cut: number }[];
    expect(rows.map(({ lines, cut }) => ({ isShort: lines <= 4, cut }))).toEqual(
      rows.map(() => ({ isShort: true, cut: 0 })),
    );
    for (const name of ["nightly-2026-11-30", "run_20261130-071107_8f6379"]) {
      const text = rows.find((row) => row.text.includes(name))?.text ?? "";
      for (const shown of ["phone", model, "*", " of ", "$"]) {
        expect(text).toContain(shown);
      }
      expect(text).toMatch(/; 0\.\d{3} with \d+ failed/);
    }
    expect(await page.locator("main tbody .track").first().isVisible()).toBe(true);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  });

  it("shows pass^k of a run with several epochs next to its score, in the list and in the chart", async () => {
    saveSynthetic(demo.db, { id: "run_epochs", agentId: "repeated", tasks: 30, epochs: 3, skill: 0.8 });
    const { scores } = (await demo.ask("GET", "/api/runs/run_epochs")).body;
    const { k, passHatK } = scores.sourcesCorrect.repeats.at(-1);
    expect(k).toBe(3);
    expect(passHatK.value).toBeLessThan(scores.sourcesCorrect.value);
    const page = await open("runs?q=agent:repeated");
    const shown = passHatK.value.toFixed(3);
    await page.getByRole("row").getByText(`pass^3 ${shown}`).waitFor();
    await page.locator("summary", { hasText: "Chart of scores" }).click();
    const chart = page.locator("figure.chart");
    await chart.getByText("A diamond is pass^k").waitFor();
    expect(await chart.locator("svg a title").textContent()).toContain(`; pass^3 ${shown}`);
    await chart.locator("summary").click();
    expect(await chart.locator("tbody td").last().textContent()).toBe(shown);
  });

  it("keeps the chosen columns of a list", async () => {
    saveSynthetic(demo.db, { id: "run_columns", tasks: 1, agentId: "columns" });
    const page = await open("runs?q=agent:columns");
    const heads = () => page.getByRole("columnheader").allTextContents();
    await page.getByRole("status").getByText("1 of 1").waitFor();
    expect(await heads()).not.toContain("Tokens");
    await page.locator("summary", { hasText: "Columns" }).click();
    await page.getByLabel("Tokens").check();
    await page.getByLabel("Model").uncheck();
    await page.reload();
    await page.getByRole("status").getByText("1 of 1").waitFor();
    expect(await heads()).toEqual(["Run", "Started", "Agent", "Dataset", "Score", "Tasks", "Failed", "Cost", "Tokens"]);
    // Nothing of the usual columns is out of sight.
    await page.evaluate("localStorage.clear()");
    await page.reload();
    await page.getByRole("status").getByText("1 of 1").waitFor();
    expect(await page.locator(".scroll").evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
  });

  it("shows who labeled a trace, on its page and in its task, and says before it replaces a newer label", async () => {
    saveSynthetic(demo.db, { id: "run_labeled", tasks: 1 });
    const { traces } = (await demo.ask("GET", "/api/traces?run_id=run_labeled")).body;
    const [{ id, task_id }] = traces;
    const given = { trace_id: id, label: "bad", note: "Wrong <b>year</b>" };
    const { status, body } = await demo.ask("POST", "/api/evals/labels", { ...given, annotator: "Ann" });
    expect(status).toBe(201);
    const page = await open(`trace/${encodeURIComponent(id)}`);
    const panel = page.getByRole("region", { name: "Labels and notes" });
    await panel.getByText("Wrong <b>year</b>").waitFor();
    expect(await panel.textContent()).toMatch(/bad Wrong <b>year<\/b>Ann · \d{4}-/);

    // Another browser replaces the label that this page shows.
    await demo.ask("POST", "/api/evals/labels", { ...given, annotator: "Ann", note: "Newer", seen: body.id });
    const good = panel.getByRole("button", { name: "Good" });
    await good.click();
    await panel.getByText(/has been labeled bad by Ann \(Newer\) in the meantime/).waitFor();
    await good.click();
    await panel.getByText("Saved: good.").waitFor();
    await page.goto(`${demo.url}/#runs/run_labeled?task=run_labeled/${task_id}/1`);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Good", pressed: true }).waitFor();
    expect((await demo.ask("GET", "/api/traces?q=label:good")).body.total_count).toBe(1);
  });

  it("sorts runs by their score with failed tasks as wrong, and shows both figures", async () => {
    // 1.000 and 0.500 over the completed tasks, but 0.250 and 0.500 with the failed ones.
    const scores = { run_fragile: [1, null, null, null], run_solid: [0.5, 0.5, 0.5, 0.5] };
    for (const [id, tasks] of Object.entries(scores)) {
      saveRun(demo.db, id);
      setRunName(demo.db, id, id);
      addRunTags(demo.db, id, ["sorted"]);
      for (const [i, score] of tasks.entries()) {
        const { trace, result } = finished(id, i + 1, score);
        const scores: Record<string, number> = score === null ? {} : { semanticScore: score };
        openRowWriter(demo.db)(toResultRow(trace, { ...result, scores }));
      }
    }
    const page = await open("runs?q=tag:sorted");
    await page.getByText("2 of 2").waitFor();
    await page.getByRole("button", { name: /^Score/ }).click();
    const rows = page.getByRole("row").filter({ hasText: "run_" });
    const order = async () => (await rows.allTextContents()).map((row) => /run_(fragile|solid)/.exec(row)?.[1]);
    const score = page.getByRole("columnheader", { name: "Score" });
    const orders: Readonly<Record<string, readonly string[]>> = {
      ascending: ["fragile", "solid"],
      descending: ["solid", "fragile"],
    };
    const seen = new Set<string>();
    for (let click = 1; click <= 2; click++) {
      const before = await score.getAttribute("aria-sort");
      await score.getByRole("button").click();
      await expect.poll(() => score.getAttribute("aria-sort")).not.toBe(before);
      const sort = (await score.getAttribute("aria-sort")) ?? "";
      await expect.poll(order, { timeout: 20_000 }).toEqual(orders[sort]);
      seen.add(sort);
    }
    expect([...seen].sort()).toEqual(["ascending", "descending"]);
    expect(await rows.filter({ hasText: "run_fragile" }).textContent()).toContain("; 0.250 with 3 failed as wrong");
  });

  it("shows the failures of a run with their most frequent error", async () => {
    const change = (trace: QuestionTrace): QuestionTrace => {
      return { ...trace, ending: "model_error", error: "The program does not exist.", answer: null };
    };
    saveSynthetic(demo.db, { id: "run_second", tasks: 3, agentId: "pair", change });
    const page = await open("runs?q=agent:pair");
    await page.getByText("1 of 1").waitFor();
    const failed = page.getByRole("row").filter({ hasText: "run_second" });
    expect(await failed.textContent()).toMatch(/3 of 33 failed/);
    expect(await failed.getByText("3", { exact: true }).getAttribute("title")).toBe("The program does not exist.");
    await page.locator("summary", { hasText: "Columns" }).click();
    await page.getByLabel("Error").check();
    await failed.getByText("The program does not exist.").waitFor();
  });

  it("collapses an email's many addresses, and wraps words without spaces", async () => {
    const { id } = demo.db
      .prepare("SELECT message_id AS id FROM emails ORDER BY json_array_length(recipients) DESC LIMIT 1")
      .get() as { id: string };
    const page = await open(`mail/${encodeURIComponent(id)}`);
    const { to } = (await demo.ask("GET", `/api/mails/${encodeURIComponent(id)}`)).body;
    await page.getByText(`and ${to.length - 6} more`).click();
    await page.getByText(to.at(-1), { exact: false }).waitFor();

    saveSynthetic(demo.db, { id: "run_wide", tasks: 1, change: (trace) => ({ ...trace, answer: "x".repeat(300) }) });
    await page.goto(`${demo.url}/#runs/run_wide`);
    const results = page.locator(".scroller", { hasText: "xxx" });
    await results.waitFor();
    expect(await results.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
  });

  it("filters a run's traces by ending with only the keyboard", async () => {
    const page = await open("runs/run_7", 390);
    await page.getByRole("link", { name: "Traces of this run" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Traces" }).waitFor();
    await page.getByText("2 of 2").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.press("End");
    await page.keyboard.type(" ending:model_error");
    await page.getByText("1 of 1").waitFor();
    expect(await page.getByRole("searchbox").inputValue()).toBe("run:run_7 ending:model_error");
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  });

  it("lists chats, and continues one in another tab, with its mailbox", async () => {
    const first = await open("chat");
    await first.getByLabel("Agent").selectOption("baseline");
    await first.getByLabel("Mailbox").fill(MARCUS);
    await first.getByLabel("Date").fill("2001-12-31");
    await ask(first, "How much are the softball dues?");

    const page = await open("chats");
    const row = page.getByRole("row").filter({ hasText: "How much are the softball dues?" });
    expect(await row.textContent()).toContain(MARCUS);
    await row.getByRole("link").click();
    await page.getByRole("link", { name: "Open the trace" }).waitFor();
    expect(await page.getByLabel("Mailbox").inputValue()).toBe(MARCUS);
    expect(await page.getByLabel("Date").inputValue()).toBe("2001-12-31");
    await ask(page, "And who takes them?");
    await page.reload();
    await page.getByRole("link", { name: "Open the trace" }).nth(1).waitFor();
    expect((await demo.ask("GET", "/api/sessions")).body.sessions).toMatchObject([
      { chats: 2, inbox_address: MARCUS, question: "How much are the softball dues?" },
    ]);

    // Found and cited emails can be opened from the answer.
    const log = page.getByRole("log", { name: "Conversation" });
    const source = log.getByText("Sources:").first().getByRole("link");
    const [subject = "", sender] = ((await source.textContent()) ?? "").split(", ");
    expect(sender).toBe(MARCUS);
    await source.click();
    await page.getByRole("heading", { name: "Mail", exact: true }).waitFor();
    expect(await page.getByRole("article").getByRole("heading").textContent()).toBe(subject);
    expect(await page.getByRole("article").textContent()).toContain("umpire fee");
    await page.goBack();
    await log.locator(".hits > summary").first().click();
    await log.getByRole("button", { name: "Open the email" }).first().click();
    await log.locator(".hits .mail-text").waitFor();
  });

  it("shows a retried call with the reason, even after a reload", async () => {
    const page = await open("chat");
    provider.push(
      { fail: "status", status: 429, message: "not so <fast>", headers: { "retry-after": "1" } },
      { toolCalls: [{ name: "return_final_answer", arguments: { answer: "Forty.", sources: [] } }] },
    );
    await page.getByLabel("Agent", { exact: true }).selectOption("email-search");
    await page.getByLabel("Model").fill("openai/test");
    await page.getByRole("textbox", { name: "Question" }).fill("How much?");
    await page.keyboard.press("Enter");
    await page.getByText(/Retrying: attempt 2 after/).waitFor();
    const retried = page.getByText(/The model call failed; retrying \(attempt 2 after .*not so <fast>/);
    await retried.waitFor();
    await page.getByRole("link", { name: "Open the trace" }).waitFor();
    expect(await retried.count()).toBe(1);
    await page.reload();
    await retried.waitFor();
    await page.getByRole("link", { name: "Open the trace" }).click();
    await page.getByRole("heading", { name: "Trace", exact: true }).waitFor();
    expect(await page.locator("dl.facts").textContent()).toMatch(/Retries1, after pauses of .*not so <fast>/);
  });

  it("reports errors in its own words", async () => {
    const page = await open("chat");
    for (const [agent, model, words] of [
      ["email-search", "gpt", "The provider of this model is unclear"],
      ["email-search", "nobody/model", "The provider of this model is unknown"],
      ["email-search", "anthropic/claude", "The server has no key for this provider"],
    ] as const) {
      await page.getByLabel("Agent", { exact: true }).selectOption(agent);
      await page.getByLabel("Model").fill(model === "gpt" ? "some-model" : model);
      await page.getByRole("textbox", { name: "Question" }).fill("?");
      await page.getByRole("button", { name: "Ask", exact: true }).click();
      const alert = page.getByRole("alert").filter({ hasText: words });
      await alert.waitFor();
      expect(await alert.textContent()).not.toMatch(/--|art-e /);
    }
    for (const hash of [
      "trace/nothing",
      "runs/nothing",
      "mail/nothing",
      "agents/nothing",
      "tools/x",
      "chats/nothing",
    ]) {
      await page.goto(`${demo.url}/#${hash}`);
      const alert = page.getByRole("main").getByRole("alert");
      await alert.getByText(/Unknown|was not imported|no longer exists/).waitFor();
      expect(await alert.textContent()).not.toMatch(/--|art-e |\.db/);
    }
  });
});
