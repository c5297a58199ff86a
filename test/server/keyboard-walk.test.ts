import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { saveCurrentVersion } from "../../src/agents/registry-store.js";
import { setRunName } from "../../src/traces/runs-store.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { saveSynthetic } from "../reports/synthetic-run.js";
import { MARCUS } from "../runs/demo-setup.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

/** The pages without a mouse: what a person presses, and what is shown and focused after each key. */

const QUESTION = "How much are the softball dues?";

describe("the pages by keyboard alone", { ...needs("browser"), timeout: 120_000 }, () => {
  const browser = new TestBrowser();
  let provider: FakeProvider;
  let demo: DemoServer;
  let subject: string;

  beforeAll(async () => {
    provider = await startFakeProvider();
    demo = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });
    const { db } = demo;
    saveCurrentVersion(db, "email-search");
    const gold = db
      .prepare("SELECT message_id AS id, subject FROM emails WHERE subject <> '' ORDER BY message_id LIMIT 1")
      .get() as { readonly id: string; readonly subject: string };
    ({ subject } = gold);
    for (const name of ["older", "newer"]) {
      // Only the second of three tasks has a wrong answer. It comes first in the table.
      const change = (trace: QuestionTrace): QuestionTrace => ({
        ...trace,
        ending: "answered",
        error: null,
        answer: trace.taskId === 2 ? `twenty dollars, says ${name}` : "forty dollars",
        scores: { semanticScore: { value: trace.taskId === 2 ? 0.25 : 1 } },
        task: {
          ...trace.task,
          question: trace.taskId === 2 ? QUESTION : `${QUESTION} (${trace.taskId})`,
          answer: "forty dollars",
          inbox_address: MARCUS,
          message_ids: [gold.id],
        },
      });
      saveSynthetic(db, { id: `run_${name}`, tasks: 3, model: "openai/old", change });
      setRunName(db, `run_${name}`, name);
    }
    db.prepare(
      `UPDATE runs SET settings = json_set(settings, '$.model', 'openai/old', '$.baseUrl', ?, '$.wireApi', 'chat')`,
    ).run(provider.baseUrl("openai-chat"));
  });
  afterAll(async () => {
    await demo?.close();
    await provider?.close();
  });

  const hasFocus = (element: Locator) => element.and(element.page().locator(":focus")).count();

  /** Waits until the element has the focus. */
  const expectFocus = (element: Locator) => expect.poll(() => hasFocus(element)).toBe(1);

  /** Presses Tab until the element has the focus. */
  async function tabTo(page: Page, element: Locator): Promise<void> {
    for (let tab = 0; tab < 40; tab++) {
      await page.keyboard.press("Tab");
      if ((await hasFocus(element)) === 1) return;
    }
    throw new Error("Tab does not reach the element.");
  }

  it("lead from the runs to a wrong answer, its email, its label, another run, the playground and back", async () => {
    const { page, wrong } = await browser.openServed(`${demo.url}/#runs`);
    const { keyboard } = page;
    const dialog = page.locator("dialog.task");
    const heading = dialog.getByRole("heading", { level: 2 });
    const answer = dialog.locator(".answers .text").first();
    const expectAnswer = (run: string) => expect.poll(() => answer.textContent()).toBe(`twenty dollars, says ${run}`);

    // The list of runs.
    const run = page.getByRole("link", { name: "newer", exact: true });
    await run.waitFor();
    await keyboard.press("j");
    await expectFocus(run);
    await keyboard.press("Enter");

    // The run.
    await page.getByRole("heading", { level: 2, name: "newer" }).waitFor();
    const row = page.locator("tr[data-index]").first();
    await row.waitFor();
    await keyboard.press("j");
    await expectFocus(row);
    await keyboard.press("Enter");

    // The wrong answer.
    await expectFocus(heading);
    await expectAnswer("newer");
    await keyboard.press("j");
    await dialog.getByText("2 of 3").waitFor();
    await keyboard.press("k");
    await dialog.getByText("1 of 3").waitFor();

    // The email with the answer, and one that the agent found.
    const mail = dialog.locator(".beside summary").first();
    await mail.waitFor();
    await keyboard.press("e");
    await expectFocus(mail);
    expect(await mail.textContent()).toContain(subject);
    await heading.focus();
    const found = dialog.locator(".hits").first();
    await tabTo(page, found.locator("> summary"));
    await keyboard.press("Enter");
    await tabTo(page, found.getByRole("button", { name: "Open the email" }));
    await keyboard.press("Enter");
    await expectFocus(found.locator("details.mail > summary"));

    // The label. Letters are text while the reason is written.
    await keyboard.press("w");
    await expectFocus(dialog.getByLabel("Reason for the label"));
    await keyboard.type("bogus ] sum");
    await keyboard.press("Escape");
    await keyboard.press("b");
    await dialog.getByText("Saved: bad.").waitFor();
    expect(demo.db.prepare("SELECT trace_id AS trace, label, note FROM eval_labels").all()).toEqual([
      { trace: "trace_run_newer_2", label: "bad", note: "bogus ] sum" },
    ]);

    // The same task in the other run, whose start time is the same.
    const [newer, older] = ["newer", "older"].map((name) =>
      dialog.getByRole("button", { name: `Answer of the next ${name} run` }),
    );
    await keyboard.press("]");
    await page.waitForURL(/run_older\/2\/1/);
    await expectFocus(heading);
    await expectAnswer("older");
    const areEnabled = async () => [await newer?.isEnabled(), await older?.isEnabled()];
    await expect.poll(areEnabled).toEqual([true, false]);
    await keyboard.press("[");
    await page.waitForURL(/run_newer\/2\/1/);
    await expect.poll(areEnabled).toEqual([false, true]);

    // The playground. The new answer stands next to the recorded one.
    provider.push({
      toolCalls: [{ name: "return_final_answer", arguments: { answer: "forty dollars", sources: [] } }],
    });
    await keyboard.press("p");
    const question = page.getByRole("textbox", { name: "Question" });
    await expectFocus(question);
    expect(await question.inputValue()).toBe(QUESTION);
    await keyboard.press("Enter");
    const compared = page.getByRole("table", { name: "Recorded and new answer" });
    await compared.getByText("twenty dollars, says newer").waitFor();
    await compared.getByText("forty dollars").waitFor();
    await expectFocus(question);

    // Back to the task, its row, its run, and the list at the same place.
    await page.goBack();
    await expectFocus(heading);
    await dialog.locator(".chip.bad", { hasText: "bogus ] sum" }).waitFor();
    await keyboard.press("Escape");
    await expectFocus(row);
    for (const name of ["older", "newer"]) {
      await page.goBack();
      await answer.filter({ hasText: name }).waitFor();
      await expectFocus(heading);
    }
    await page.goBack();
    await page.waitForURL(/#runs\/run_newer$/);
    await expectFocus(row);
    await page.goBack();
    await expectFocus(run);
    expect(wrong()).toEqual([]);
  });

  it("list the keys of a task, and keep working after its focused button is gone", async () => {
    const { page } = await browser.openServed(`${demo.url}/#runs/run_newer?task=run_newer/2/1`);
    const dialog = page.locator("dialog.task");
    await dialog.getByRole("button", { name: "Answer of the next older run" }).waitFor();
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keys" });
    const keys = await help.locator("dt").allTextContents();
    expect(keys.slice(0, 10)).toEqual(["kArrowLeft", "jArrowRight", "Escape", "p", "g", "b", "w", "[", "]", "e"]);
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    await dialog.locator("details.menu > summary").focus();
    await page.evaluate("document.activeElement.remove()");
    await page.keyboard.press("j");
    await dialog.getByText("2 of 3").waitFor();
  });

  it("say why a task cannot be repeated in the playground, and offer a new question", async () => {
    saveSynthetic(demo.db, { id: "run_gone", tasks: 1 });
    demo.db.exec("UPDATE runs SET settings = json_set(settings, '$.agentVersion', 9) WHERE id = 'run_gone'");
    const { page } = await browser.openServed(`${demo.url}/#trace/trace_run_gone_1`);
    await page.getByRole("link", { name: "Open in playground" }).waitFor();
    await page.keyboard.press("p");
    await page
      .getByRole("alert")
      .getByText(/^This task cannot be repeated. .*does not have a version 9/)
      .waitFor();
    await expectFocus(page.getByRole("textbox", { name: "Question" }));
  });
});
