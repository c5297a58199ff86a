import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DatasetReview } from "../../src/questions/dataset-review.js";
import type { HttpServer } from "../../src/server/app/http-server.js";
import { startReviewServer } from "../../src/server/review-page.js";
import { TestBrowser } from "../browser.js";
import { demoQuestions, jsonLines } from "../cli/art-e.js";
import { needs } from "../machine-requirements.js";
import { openDemo, type TestDb } from "../runs/demo-setup.js";

/** Reviewing questions in a real browser, and the contents of the files after each key. */

const HOSTILE = `</p><img src=x onerror="document.title='stolen'">`;

const [first, second, third] = demoQuestions;
if (first === undefined || second === undefined || third === undefined) throw new Error("the demo has no questions");

/** As people write them: other spaces, other fields, another order. */
const LINES = [
  JSON.stringify(first),
  `{"mine": {"answer": "no"},  "how_realistic":0.70, ${JSON.stringify(second).slice(1)}`,
  JSON.stringify({ ...third, question: HOSTILE, message_ids: ["<none@nowhere>"] }),
];

describe("the review page", { ...needs("browser"), timeout: 60_000 }, () => {
  const browser = new TestBrowser();
  let test: TestDb;
  let server: HttpServer;
  let folder: string;
  const path = (name: string) => join(folder, name);
  const read = (name: string) => readFileSync(path(name), "utf8");
  const decisions = () => jsonLines(read("my.review.jsonl"));

  beforeAll(async () => {
    test = await openDemo();
  }, 60_000);
  afterAll(() => test?.close());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "art-e-review-"));
    writeFileSync(path("my.jsonl"), `${LINES.join("\n")}\n`);
    server = await serve("my.jsonl");
  });
  afterEach(async () => {
    await server.close(0, async () => undefined);
    rmSync(folder, { recursive: true });
  });

  async function serve(name: string): Promise<HttpServer> {
    const review = await DatasetReview.open(path(name), test.db, new AbortController().signal);
    return startReviewServer(test.db, review, { version: "1.2.3", port: 0, token: null, report: () => undefined });
  }

  async function openPage() {
    const opened = await browser.openServed(`${server.url}/`);
    await opened.page.locator(".labeling, .notice").first().waitFor();
    return opened;
  }

  async function press(page: Page, key: string, saying: string): Promise<void> {
    await page.keyboard.press(key);
    await page.getByText(saying).waitFor();
    await page.locator("[aria-busy=true]").waitFor({ state: "detached" });
  }

  it("saves decisions immediately, and writes the accepted questions as a separate dataset", async () => {
    const { page, wrong } = await openPage();
    expect(await page.locator(".judged .question").textContent()).toBe(first.question);
    expect(await page.locator(".cited-mails mark").first().isVisible()).toBe(true);
    await press(page, "a", "Saved: 1 accepted.");
    expect(decisions()).toMatchObject([{ id: 1, decision: "accepted", edited: null }]);
    expect(read("my.reviewed.jsonl")).toBe(`${LINES[0]}\n`);

    await page.keyboard.press("e");
    await page.getByLabel("Answer", { exact: true }).fill("another answer");
    await press(page, "Control+Enter", "Saved: 2 edited.");
    const edited = (LINES[1] ?? "").replace(JSON.stringify(second.answer), '"another answer"');
    expect(read("my.reviewed.jsonl")).toBe(`${LINES[0]}\n${edited}\n`);

    expect(await page.locator(".judged .question").textContent()).toBe(HOSTILE);
    expect(await page.locator("main img").count()).toBe(0);
    await page.getByText("Not in the database: <none@nowhere>").waitFor();
    await page.keyboard.press("w");
    await page.keyboard.type("arrant nonsense");
    await page.keyboard.press("Enter");
    await page.keyboard.press("r");
    await page.getByText("All questions are decided.").waitFor();
    expect(decisions().at(-1)).toMatchObject({ id: 3, decision: "rejected", reason: "arrant nonsense" });
    expect(read("my.reviewed.jsonl")).toBe(`${LINES[0]}\n${edited}\n`);
    expect(read("my.jsonl")).toBe(`${LINES.join("\n")}\n`);
    await page.getByText(/^Agreement between you and the checks: 0\.667 \[0\.208, 0\.939\] n=3$/).waitFor();

    await press(page, "u", "Undone: 3.");
    expect(decisions()).toHaveLength(2);
    expect(await page.getByLabel("Reason").inputValue()).toBe("arrant nonsense");
    expect(wrong()).toEqual([]);
  });

  it("loses nothing in a reload", async () => {
    const { page } = await openPage();
    await press(page, "j", "Asked by");
    await page.keyboard.press("e");
    await page.getByLabel("Question", { exact: true }).fill("Half a ques");
    await page.getByLabel("Reason").fill("unclear");
    await page.reload();
    await page.locator(".labeling").waitFor();
    expect(await page.locator(".judged .question").textContent()).toBe(second.question);
    expect(await page.getByLabel("Question", { exact: true }).inputValue()).toBe("Half a ques");
    expect(await page.getByLabel("Reason").inputValue()).toBe("unclear");
  });

  it("does not overwrite a decision from another tab, and reports it", async () => {
    const [one, two] = [await openPage(), await openPage()];
    await press(one.page, "r", "Saved: 1 rejected.");
    await press(two.page, "a", "Question 1 was rejected at");
    expect(decisions()).toMatchObject([{ id: 1, decision: "rejected" }]);
    await two.page.locator(".decision.rejected").waitFor();
    // The decision has been shown now. Saving an unchanged wording is not an edit.
    await two.page.keyboard.press("e");
    await press(two.page, "Control+Enter", "Saved: 1 accepted.");
    expect(decisions()).toMatchObject([{ id: 1, decision: "accepted" }]);
  });

  it("continues after the last decision, and ignores decisions about other wordings", async () => {
    const { page } = await openPage();
    await press(page, "a", "Saved: 1 accepted.");
    await press(page, "a", "Saved: 2 accepted.");
    await server.close(0, async () => undefined);
    writeFileSync(
      path("my.jsonl"),
      `${JSON.stringify({ ...first, answer: "changed since" })}\n${LINES.slice(1).join("\n")}`,
    );
    await page.keyboard.press("a");
    await page.getByText("This page's server is not responding").waitFor();
    server = await serve("my.jsonl");
    const again = await openPage();
    await again.page.getByText("2 to decide. 1 accepted").waitFor();
    expect(await again.page.locator(".judged .answer").textContent()).toBe("changed since");
  });

  it("rejects decisions about a changed dataset", async () => {
    const { page } = await openPage();
    writeFileSync(path("my.jsonl"), LINES.slice(1).join("\n"));
    await press(page, "a", "changed after the review started");
  });

  it("fits wide and narrow screens, light and dark", async () => {
    const { page } = await openPage();
    const overflow = "document.documentElement.scrollWidth - innerWidth";
    const nameless = `[...document.querySelectorAll("main input, main textarea, main button")]
      .filter((one) => !one.textContent.trim() && !document.querySelector('label[for="' + one.id + '"]')).length`;
    for (const [width, colorScheme] of [
      [1280, "light"],
      [390, "dark"],
    ] as const) {
      await page.setViewportSize({ width, height: 700 });
      await page.emulateMedia({ colorScheme });
      expect([width, await page.evaluate(overflow)]).toEqual([width, 0]);
      await page.keyboard.press("e");
      await page.locator(".editor").waitFor();
      expect([width, await page.evaluate(overflow), await page.evaluate(nameless)]).toEqual([width, 0, 0]);
      await page.reload();
      await page.locator(".labeling").waitFor();
    }
  });
});
