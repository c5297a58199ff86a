import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Opened, TestBrowser } from "../browser.js";
import { writeReport } from "../cli/reports/report-file.js";
import { needs } from "../machine-requirements.js";
import { saveSynthetic } from "./synthetic-run.js";

const TASKS = 2_000;

const rowsOf = (page: Page) => page.locator("tr[data-index]");
const count = (page: Page) => page.locator(".count").textContent();
const cell = (page: Page, row: number, className: string) =>
  rowsOf(page).nth(row).locator(`.${className}`).textContent();

const browser = new TestBrowser();

describe("a report of a run with 2,000 tasks", { ...needs("browser"), timeout: 180_000 }, () => {
  let report: Awaited<ReturnType<typeof writeReport>>;
  let opened: Opened;
  let page: Page;

  beforeAll(async () => {
    report = await writeReport((db) => saveSynthetic(db, { id: "run_large", tasks: TASKS }), { traces: "folder" });
    opened = await browser.openReport(report.file);
    page = opened.page;
  }, 180_000);

  // A URL without a fragment opens the page in its initial state.
  beforeEach(async () => {
    await page.evaluate('location.hash = ""');
    await expect.poll(() => count(page)).toBe("2,000 tasks");
    await page.locator(".scroller").evaluate((scroller) => scroller.scrollTo(0, 0));
    await expect.poll(() => rowsOf(page).first().getAttribute("aria-rowindex")).toBe("2");
  });

  afterEach(() => {
    expect(opened.complaints.splice(0)).toEqual([]);
    const requests = opened.requests.splice(0);
    expect(requests.filter((url) => !/^file:.*\/report-traces\/0-\d+-1\.js$/.test(url))).toEqual([]);
  });

  afterAll(() => report?.close());

  it("describes the run, and every score with its interval and number of tasks", async () => {
    expect(await page.locator("h1").textContent()).toBe("email-search with synthetic/model");
    const scores = await page.locator("table.scores tbody tr").allTextContents();
    expect(scores).toHaveLength(5);
    for (const line of scores) expect(line).toMatch(/\d\.\d{3}\d\.\d{3} to \d\.\d{3}011,\d{3}0\.\d{3}$/);
    // The same score with failed tasks as wrong.
    expect(await page.locator(".tiles").textContent()).toMatch(/n \d,\d{3}; 0\.\d{3} with failed tasks as wrong/);
    expect(await page.locator(".tiles").textContent()).toMatch(/Failed\d+of 2,000 tasks/);
  });

  it("draws its charts, each with a name and a table of its figures", async () => {
    await expect.poll(() => page.locator("figure.chart svg[aria-label]").count()).toBe(6);
    const figures = page.locator("figure.chart");
    expect(await figures.count()).toBe(6);
    for (const figure of await figures.all()) {
      expect(await figure.locator("svg").first().getAttribute("aria-label")).not.toBe("");
      expect(await figure.locator("details tbody tr").count()).toBeGreaterThan(0);
    }
  });

  it("renders only the visible rows, whatever the scroll position", async () => {
    expect(await count(page)).toBe("2,000 tasks");
    expect(await page.getByRole("grid", { name: "Tasks" }).getAttribute("aria-rowcount")).toBe("2001");
    expect(await rowsOf(page).count()).toBeLessThan(60);
    await page.locator(".scroller").evaluate((scroller) => scroller.scrollTo(0, scroller.scrollHeight));
    await expect.poll(() => rowsOf(page).last().getAttribute("aria-rowindex")).toBe("2001");
    expect(await rowsOf(page).count()).toBeLessThan(60);
    await page.locator(".scroller").evaluate((scroller) => scroller.scrollTo(0, 0));
    await expect.poll(() => rowsOf(page).first().getAttribute("aria-rowindex")).toBe("2");
  });

  it("sorts by a column in both directions, and indicates the order", async () => {
    const time = page.getByRole("columnheader", { name: "Turns" });
    await time.getByRole("button").click();
    expect(await time.getAttribute("aria-sort")).toBe("ascending");
    expect(await cell(page, 0, "turns")).toBe("1");
    await time.getByRole("button").click();
    expect(await time.getAttribute("aria-sort")).toBe("descending");
    expect(await cell(page, 0, "turns")).toBe("9");
    await page.getByRole("columnheader", { name: "Task" }).getByRole("button").click();
    expect(await cell(page, 0, "id")).toBe("1");
  });

  it("searches questions and answers for all the words, and stores the search in the URL", async () => {
    await page.getByRole("searchbox", { name: "Search tasks" }).fill("AGREE 1321?");
    await expect.poll(() => count(page)).toBe("1 of 2,000 tasks");
    expect(await rowsOf(page).first().textContent()).toContain("1321");
    expect(page.url()).toContain("#search=AGREE+1321%3F");
    await page.getByRole("searchbox").fill("nothing like this");
    await expect.poll(() => count(page)).toBe("0 of 2,000 tasks");
    await page.getByRole("searchbox").fill("");
    await expect.poll(() => count(page)).toBe("2,000 tasks");
  });

  it("filters with lists, shows the active filters, and removes them", async () => {
    await page.getByRole("combobox", { name: "Ending" }).selectOption("out_of_turns");
    await expect.poll(() => count(page)).toMatch(/^\d{2,3} of 2,000 tasks$/);
    expect(new Set(await page.locator("tr[data-index] .ending").allTextContents())).toEqual(new Set(["out of turns"]));
    await page.getByRole("button", { name: "Ending: out of turns" }).click();
    await expect.poll(() => count(page)).toBe("2,000 tasks");
  });

  it("links a bar of lost tasks, or a bar in a chart, to the tasks", async () => {
    const missed = page.getByRole("link", { name: "Never found one; Low, below 0.5" });
    const tasks = /: ([\d,]+) tasks/.exec((await missed.getAttribute("aria-label")) ?? "")?.[1];
    await missed.click();
    await expect.poll(() => count(page)).toBe(`${tasks} of 2,000 tasks`);
    await page.goBack();
    await expect.poll(() => count(page)).toBe("2,000 tasks");
    await page.getByRole("link", { name: /^2001, email-search/ }).click();
    await expect.poll(() => count(page)).toMatch(/^[67]\d\d of 2,000 tasks$/);
    await page.goBack();
  });

  it("opens a task from the keyboard, loads its conversation from the folder, and returns to its row", async () => {
    await rowsOf(page).first().focus();
    for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("heading", { level: 2 }).waitFor();
    expect(page.url()).toContain("#task=run_large/3/1");
    await dialog.locator(".conversation .call").first().waitFor();
    expect(opened.requests).toHaveLength(1);
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => dialog.locator(".eyebrow").textContent()).toMatch(/^Task 4 /);
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => dialog.locator(".eyebrow").textContent()).toMatch(/^Task 3 /);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    await expect.poll(() => page.evaluate<string>('document.activeElement.getAttribute("data-index")')).toBe("2");
    expect(page.url()).not.toContain("task=");
  });

  it("supports the keys End, Home and Page in its table", async () => {
    await rowsOf(page).first().focus();
    await page.keyboard.press("End");
    await expect.poll(() => page.evaluate<string>('document.activeElement.getAttribute("aria-rowindex")')).toBe("2001");
    await page.keyboard.press("PageUp");
    const index = () => page.evaluate<number>('Number(document.activeElement.getAttribute("aria-rowindex"))');
    await expect.poll(index).toBeLessThan(2_000);
    await page.keyboard.press("Home");
    await expect.poll(index).toBe(2);
  });

  it("opens and closes a task with the mouse", async () => {
    await rowsOf(page).nth(1).click();
    await page.getByRole("dialog").locator(".conversation").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
  });

  // Prints from the browser with only the visible rows. The unlimited height of print would show all tasks together.
  it("prints the first tasks, and no controls", async () => {
    await page.evaluate('dispatchEvent(new Event("beforeprint"))');
    await page.emulateMedia({ media: "print" });
    expect(await rowsOf(page).count()).toBe(200);
    expect(await page.locator(".controls").isVisible()).toBe(false);
    expect(await page.locator(".canvas svg").first().isVisible()).toBe(true);
    await page.emulateMedia({ media: "screen" });
    await page.evaluate('dispatchEvent(new Event("afterprint"))');
    await expect.poll(() => rowsOf(page).count()).toBeLessThan(60);
  });

  it("provides names for screen readers", async () => {
    const names = await page.locator("#report").ariaSnapshot();
    for (const name of [
      '- heading "email-search with synthetic/model" [level=1]',
      '- search "Tasks"',
      '- searchbox "Search tasks"',
      '- combobox "Score"',
      '- grid "Tasks"',
      '- columnheader "Question and answer"',
      '- table "Scores with 95% intervals, over the completed tasks"',
      '- button "Switch to dark colors"',
    ]) {
      expect(names).toContain(name);
    }
    expect(names).not.toMatch(/- (button|link|combobox|searchbox|table|img|grid)(:| \[|$)/m);
  });
});

describe("a newly opened report of a run", { ...needs("browser"), timeout: 180_000 }, () => {
  let report: Awaited<ReturnType<typeof writeReport>>;
  let opened: Opened;
  let page: Page;

  beforeAll(async () => {
    report = await writeReport((db) => saveSynthetic(db, { id: "run_small", tasks: 100 }));
    opened = await browser.openReport(report.file, {
      colorScheme: "dark",
      viewport: { width: 360, height: 700 },
      hash: "#task=77",
    });
    page = opened.page;
  }, 180_000);
  afterEach(() => expect(opened.complaints.splice(0)).toEqual([]));
  afterAll(() => report?.close());

  it("fits a narrow screen, and a link leads directly to a task", async () => {
    await page.getByRole("dialog").locator(".conversation").waitFor();
    expect(await page.locator("dialog .eyebrow").textContent()).toMatch(/^Task 77 /);
    expect(await page.getByRole("dialog").evaluate((dialog) => dialog.scrollWidth)).toBeLessThanOrEqual(360);
    await page.keyboard.press("Escape");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    // No figure next to its table is out of sight.
    const cut = await page
      .locator(".sideways")
      .evaluateAll((all) => all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length);
    expect(cut).toBe(0);
  });

  it("says on a narrow screen which of a score's figures is its number of tasks", async () => {
    const words = `[...document.querySelector("table.scores tbody tr").querySelectorAll("td.figure")]
      .slice(-2).map((cell) => getComputedStyle(cell, "::after").content)`;
    expect(await page.evaluate(words)).toEqual(['" tasks"', '" with failed as wrong"']);
  });

  it("follows the system's dark mode, or the button", async () => {
    const ground = () => page.evaluate<string>("getComputedStyle(document.documentElement).backgroundColor");
    expect(await ground()).toBe("rgb(21, 23, 26)");
    await page.getByRole("button", { name: "Switch to light colors" }).click();
    expect(await ground()).toBe("rgb(250, 249, 246)");
    await page.getByRole("button", { name: "Switch to dark colors" }).click();
    expect(await ground()).toBe("rgb(21, 23, 26)");
  });

  it("reports a link to an unknown task", async () => {
    await page.evaluate('location.hash = "#task=123456"');
    await page.reload();
    const said = page.getByRole("alert");
    await expect.poll(() => said.textContent()).toBe('Unknown task "123456" in this report.');
    expect(await said.isVisible()).toBe(true);
    expect(await page.getByRole("dialog").count()).toBe(0);
    await rowsOf(page).first().click();
    await page.getByRole("dialog").waitFor();
    expect(await said.textContent()).toBe("");
  });
});

describe("a newly opened report of several runs", { ...needs("browser"), timeout: 180_000 }, () => {
  it("shows its tasks last, and its numbers, on wide and narrow screens", async () => {
    const ids = ["run_a", "run_b"];
    const report = await writeReport(
      (db) => {
        for (const id of ids) saveSynthetic(db, { id, model: `acme/${id}`, tasks: 300 });
      },
      { runs: ids },
    );
    const { page } = await browser.openReport(report.file);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await page.reload();
      await rowsOf(page).first().waitFor();
      const beyond = `document.documentElement.scrollHeight
        - Math.ceil(document.querySelector("main").getBoundingClientRect().bottom + scrollY)`;
      expect([width, await page.evaluate<number>(beyond)]).toEqual([width, expect.toSatisfy((px) => px < 100)]);
      for (const table of ["scores", "effort"]) {
        const figures = page.locator(`table.${table} tbody td.figure`);
        expect(await figures.count()).toBeGreaterThan(10);
        const outside = `[...document.querySelectorAll("table.${table} tbody td.figure")]
          .filter((cell) => cell.getBoundingClientRect().right > innerWidth).map((cell) => cell.textContent)`;
        expect([width, table, await page.evaluate(outside)]).toEqual([width, table, []]);
      }
    }
    report.close();
  });

  it("compares the runs task by task", async () => {
    const runs = [
      { id: "run_a", model: "acme/large", skill: 0.8, price: 0.01 },
      { id: "run_b", model: "acme/small", skill: 0.5, price: 0.001 },
    ];
    const report = await writeReport(
      (db) => {
        for (const run of runs) saveSynthetic(db, { ...run, tasks: 40 });
      },
      { runs: ["run_a", "run_b"] },
    );
    const { page, complaints, requests } = await browser.openReport(report.file);
    expect(await page.locator("h1").textContent()).toBe("2 runs compared");
    expect(await page.locator("table.scores tbody tr").count()).toBe(10);
    await page.locator("figcaption", { hasText: "Sources correct against cost" }).waitFor();
    await page.locator("figcaption", { hasText: "Sources correct against time" }).waitFor();
    await page.getByRole("combobox", { name: "Score against cost" }).selectOption("Word overlap");
    await page.locator("figcaption", { hasText: "Word overlap against cost" }).waitFor();
    await page.getByRole("combobox", { name: "Run" }).selectOption("email-search · acme/small");
    await expect.poll(() => count(page)).toBe("40 of 80 tasks");
    await rowsOf(page).first().click();
    const others = page.getByRole("dialog").locator(".answers a");
    expect(await others.allTextContents()).toEqual(["email-search · acme/large"]);
    await others.click();
    await expect.poll(() => page.url()).toContain("#task=run_a/1/1");
    await page.getByRole("dialog").locator(".conversation").waitFor();
    expect({ complaints, requests }).toEqual({ complaints: [], requests: [] });
    report.close();
  });
});
