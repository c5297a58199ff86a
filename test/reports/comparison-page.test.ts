import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { setRunName } from "../../src/traces/runs-store.js";
import type { QuestionTrace, Turn } from "../../src/traces/trace.js";
import { type Opened, TestBrowser } from "../browser.js";
import { writeReport } from "../cli/reports/report-file.js";
import { needs } from "../machine-requirements.js";
import { saveSynthetic } from "./synthetic-run.js";

/** The report of several runs in a browser. */

const HOSTILE = '</script><img src=x onerror="window.taken=1"> <b>bold</b> \u202eevil';

/** The first call waited for a slot, failed once, and paused. */
const busy = (trace: QuestionTrace): QuestionTrace => ({
  ...trace,
  turns: trace.turns.map((turn, i) => (i > 0 ? turn : { ...turn, ...WAITED })),
});

const WAITED: Partial<Turn> = {
  waitedMs: 500,
  waits: [
    { kind: "slot", durationMs: 250 },
    { kind: "failed_attempt", durationMs: 150 },
    { kind: "pause", durationMs: 100 },
  ],
  retries: [{ attempt: 1, reason: "503 <b>busy</b>", waitedMs: 100 }],
};

const SAME = { semanticScore: { value: 0.5 }, exactMatch: { value: 0 } };

interface FocusedControl {
  /** Position of the element. */
  readonly key: string;
  readonly isNamed: boolean;
  readonly isSeen: boolean;
  /** Nothing has the focus. */
  readonly isOfBody: boolean;
}

const FOCUSED_CONTROL = `(() => {
  const element = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const name = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent ?? "";
  const { x, y } = element.getBoundingClientRect();
  return {
    key: element.tagName + Math.round(x + scrollX) + " " + Math.round(y + scrollY),
    isNamed: name.trim() !== "" || element.hasAttribute("aria-labelledby"),
    isSeen: outlineStyle !== "none" && outlineWidth !== "0px",
    isOfBody: element === document.body,
  };
})()`;

const counted = (page: Page) => page.locator(".count").textContent();
const numberIn = (text: string | null) => Number(/[\d,]+/.exec(text ?? "")?.[0].replaceAll(",", ""));

describe("a report of several runs", { ...needs("browser"), timeout: 180_000 }, () => {
  const browser = new TestBrowser();
  let report: Awaited<ReturnType<typeof writeReport>>;
  let opened: Opened;
  let page: Page;

  beforeAll(async () => {
    report = await writeReport(
      (db) => {
        saveSynthetic(db, {
          id: "run_a",
          tasks: 80,
          model: "acme/best",
          skill: 0.95,
          price: 0.004,
          change: busy,
        });
        saveSynthetic(db, { id: "run_b", tasks: 80, model: "acme/weak", skill: 0.1, price: 0.009 });
        saveSynthetic(db, {
          id: "run_c",
          tasks: 80,
          model: "acme/hostile",
          skill: 0.9,
          price: 0.001,
          change: (trace) => (trace.answer === null ? trace : { ...trace, answer: `${HOSTILE} ${trace.answer}` }),
        });
        saveSynthetic(db, { id: "run_d", tasks: 30, model: "acme/other" });
      },
      { runs: ["run_a", "run_b", "run_c", "run_d"] },
    );
    opened = await browser.openReport(report.file);
    page = opened.page;
  }, 180_000);

  // A URL without a fragment opens the page in its initial state.
  beforeEach(async () => {
    await page.setViewportSize({ width: 1_280, height: 900 });
    await page.emulateMedia({ colorScheme: "light" });
    await page.evaluate('location.hash = ""');
    await expect.poll(() => counted(page)).toBe("270 tasks");
  });

  afterEach(() => {
    expect(opened.complaints.splice(0)).toEqual([]);
    expect(opened.requests.splice(0)).toEqual([]);
  });

  afterAll(() => report?.close());

  /** Reloads the page at another width. */
  async function reloadAt(width: number, reloaded: Page = page): Promise<void> {
    await reloaded.setViewportSize({ width, height: 844 });
    await reloaded.reload();
    await reloaded.locator("tr[data-index]").first().waitFor();
  }

  it("states which run is better, and does not compare different questions", async () => {
    const findings = await page.locator(".finding").allTextContents();
    expect(findings).toHaveLength(3);
    expect(findings[0]).toMatch(
      /^Sources correct is worse: 0\.\d{3} against 0\.\d{3}, a difference of -0\.\d{3} \[-0\.\d{3}, -0\.\d{3}\] with p 0\.\d{3}, over 80 questions\.$/,
    );
    expect(findings[2]).toMatch(/^The runs cannot be compared because they differ in the dataset: synthetic\.jsonl/);
    expect(await page.locator("table.compared").count()).toBe(2);
  });

  it("prints no run label over another one or beyond the chart, on wide and narrow screens", async () => {
    const name = (end: string) => `a run with quite a long name ${end}`;
    const same = await writeReport(
      (db) => {
        // With the same questions and answers, all points coincide.
        const random = { tasks: 20, skill: 0, price: 0.01, model: "acme/same", agentId: "email-search" };
        for (const id of ["run_1", "run_2", "run_3", "run_4"]) {
          saveSynthetic(db, { ...random, id, change: (trace) => ({ ...trace, durationMs: 2_000, scores: SAME }) });
          setRunName(db, id, name(id));
        }
      },
      { runs: ["run_1", "run_2", "run_3", "run_4"] },
    );
    const other = await browser.openReport(same.file);
    for (const width of [1_280, 390]) {
      await reloadAt(width, other.page);
      const chart = other.page.getByRole("group", { name: /^Word overlap against cost/ });
      await chart.waitFor();
      const labels = await chart.locator("text").evaluateAll((all) =>
        all
          .filter((each) => /…|run_\d/.test(each.textContent ?? ""))
          .map((each) => each.getBoundingClientRect())
          .map(({ top, bottom, left, right }) => ({ top, bottom, left, right })),
      );
      const frame = await chart.evaluate((svg) => svg.getBoundingClientRect().toJSON());
      expect(labels).toHaveLength(4);
      for (const [i, label] of labels.entries()) {
        expect(label.left).toBeGreaterThanOrEqual(frame.left);
        expect(label.right).toBeLessThanOrEqual(frame.right);
        for (const next of labels.slice(i + 1)) {
          expect(label.bottom <= next.top + 1 || next.bottom <= label.top + 1).toBe(true);
        }
      }
    }
    expect([other.complaints, other.requests]).toEqual([[], []]);
    same.close();
  });

  it("shows each score's position between the ends of its axis, even on a phone", async () => {
    await reloadAt(390);
    const score = page.locator("table.scores tbody").first();
    expect(await score.locator(".axis").textContent()).toBe("01");
    const tracks = await score
      .locator(".track")
      .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().toJSON()));
    expect(tracks).toHaveLength(4);
    for (const { left, right, width } of tracks) {
      expect(left).toBeGreaterThanOrEqual(0);
      expect(right).toBeLessThanOrEqual(390);
      expect(width).toBeGreaterThan(200);
    }
  });

  it("works with only the keyboard, even on a phone, with a name and a visible focus for every control", {
    tags: ["slow"],
  }, async () => {
    await page.emulateMedia({ colorScheme: "dark" });
    await reloadAt(390);
    const controls = await page
      .locator("a[href], button, select, input, summary")
      .evaluateAll(
        (all) => all.filter((each) => each.checkVisibility() && each.closest("table.tasks") === null).length,
      );
    const reached = new Set<string>();
    let unnamed = 0;
    let unseen = 0;
    for (let presses = 0; presses < controls + 40; presses++) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate<FocusedControl>(FOCUSED_CONTROL);
      if (at.isOfBody) break;
      reached.add(at.key);
      if (!at.isNamed) unnamed++;
      if (!at.isSeen) unseen++;
    }
    expect({ unnamed, unseen }).toEqual({ unnamed: 0, unseen: 0 });
    expect(reached.size).toBeGreaterThanOrEqual(controls * 0.9);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });

  it("links the numbers of won, lost and tied tasks to as many tasks per run", async () => {
    const row = page
      .locator("table.compared")
      .first()
      .getByRole("row", { name: /^Sources correct/ });
    for (const outcome of ["won", "lost", "tied"]) {
      const link = row.getByRole("link", { name: new RegExp(`${outcome}, Sources correct`) });
      const tasks = numberIn(await link.textContent());
      await link.click();
      // One row per run.
      await expect.poll(() => counted(page)).toBe(`${tasks * 2} of 270 tasks`);
      expect(await page.locator(".chip").textContent()).toMatch(`Compared: ${outcome} by email-search · acme/weak`);
    }
    expect(page.url()).toContain("compared=tied/run_b/sourcesCorrect");
  });

  it("filters the tasks whose scores differ", async () => {
    const list = page.getByRole("combobox", { name: "Compared" });
    expect((await list.locator("option").allTextContents()).slice(0, 3)).toEqual([
      "Compared: all",
      "where any of them disagree (Sources correct)",
      "won by email-search · acme/weak (Sources correct)",
    ]);
    await list.selectOption("differs/any/sourcesCorrect");
    await expect.poll(() => counted(page)).toMatch(/^\d+ of 270 tasks$/);
    const rows = page.locator("tr[data-index]");
    expect(await rows.first().locator(".id").textContent()).toBe(await rows.nth(1).locator(".id").textContent());
    await page.goto(`${page.url().replace(/#.*/, "")}#compared=nonsense`);
    await expect.poll(() => counted(page)).toBe("0 of 270 tasks");
  });

  it("shows answers side by side, marks the words that differ, and names the run of a conversation", async () => {
    const shown = page
      .locator(".matrix tbody tr")
      .filter({ has: page.locator("td:nth-of-type(2) mark") })
      .first();
    // The fourth run has this question too, but from another dataset, so it has no outcome.
    expect(await shown.locator("td.outcome-edge").count()).toBe(4);
    expect(await shown.locator("td").last().locator(".badge").count()).toBe(0);
    expect(await shown.locator("mark").first().textContent()).not.toBe("");
    expect(await shown.locator("td").first().textContent()).toContain("as far as I can see");
    expect(await shown.locator("mark").allTextContents()).not.toContain("as far as I can see");
    await shown.getByRole("link", { name: "acme/weak" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.locator(".conversation").waitFor();
    expect(await dialog.locator(".eyebrow").textContent()).toMatch(/^email-search · acme\/weak · Task \d+/);
    expect(await dialog.getByRole("heading", { name: /^Conversation/ }).textContent()).toBe(
      "Conversation of email-search · acme/weak",
    );
    // The fourth run has this question too, but from another dataset. The last column is the gold answer.
    expect(await dialog.locator(".answers section").count()).toBe(5);
    await dialog.getByRole("link", { name: "email-search · acme/best" }).focus();
    await page.keyboard.press("Enter");
    await expect
      .poll(() => dialog.getByRole("heading", { name: /^Conversation/ }).textContent())
      .toBe("Conversation of email-search · acme/best");
  });

  it("shows a task's timeline with the kinds of time", async () => {
    await page.evaluate('location.hash = "#task=run_a/1/1"');
    const time = page.getByRole("dialog").locator(".timeline");
    await time.waitFor();
    expect(await time.locator(".legend li").allTextContents()).toEqual([
      expect.stringMatching(/^model \d/),
      expect.stringMatching(/^tools \d/),
      expect.stringMatching(/^waiting for a slot 250 ms$/),
      expect.stringMatching(/^failed attempts 150 ms$/),
      expect.stringMatching(/^pauses before retries 100 ms$/),
      ...((await time.locator(".time-other").count()) > 0 ? [expect.stringMatching(/^other \d/)] : []),
    ]);
    const failed = time.locator(".line .time-failed_attempt");
    expect(await failed.getAttribute("title")).toBe("turn 1, failed attempts: 503 <b>busy</b>, 150 ms");
    const [line, first] = [
      await time.locator(".line").boundingBox(),
      await time.locator(".time-slot").first().boundingBox(),
    ];
    expect(first?.x).toBeCloseTo(line?.x ?? -1, 0);
    expect(await page.getByRole("dialog").locator(".who .meta").first().textContent()).toContain("waited 500 ms");
  });

  it("marks dominated runs, by cost and by time", async () => {
    const figures = page.locator("figure.chart").filter({ hasText: "against cost" });
    await figures.locator("svg").first().waitFor();
    await figures.locator("summary").click();
    const rows = await figures.locator("tbody tr").allTextContents();
    expect(rows[1]).toMatch(/acme\/weak.+email-search · acme\/(best|hostile)$/);
    expect(rows.filter((row) => row.endsWith("–")).length).toBeGreaterThan(0);
    const rings = await figures.locator('circle[fill="var(--paper)"]').count();
    expect(rings).toBe(rows.filter((row) => !row.endsWith("–")).length);
  });

  it("shows hostile answers as text, with or without marked differences", async () => {
    const block = page.locator(".matrix");
    expect(await block.textContent()).toContain("<b>bold</b>");
    expect(await block.locator("b, img").count()).toBe(0);
    expect(await page.evaluate('"taken" in window')).toBe(false);
    expect(await block.textContent()).not.toContain("\u202e");
  });

  it.each([390, 1280])("fits a width of %i pixels, even in dark mode", async (width) => {
    await page.emulateMedia({ colorScheme: "dark" });
    await reloadAt(width);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    const verdict = page.locator("table.compared .figure").last();
    const box = await verdict.boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
    // A phone shows the run of each row too.
    expect(await page.locator("tr[data-index] td.run").first().isVisible()).toBe(true);
  });
});
