import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Opened, TestBrowser } from "../browser.js";
import { writeReport } from "../cli/reports/report-file.js";
import { needs } from "../machine-requirements.js";
import { noisyPng } from "../suites/png.js";
import { saveSuiteRun, suiteTrace, withCall } from "./suite-run.js";

/** A report of a run over a suite, in a real browser. */

/** The text of the rendered page, one line per block. */
const textOf = async (element: Locator) => (await element.allInnerTexts()).join("\n");

const HOSTILE = `"><img src=x onerror="window.taken = 1">/../</script><script>window.taken = 2</script>`;
const PICTURE = { path: `/home/user/${HOSTILE}.png`, cell: null, width: 8, height: 6 };
const VERBOSE = { tags: ["cli", "verbose"], counterpart: "a1" };

const TRACES = [
  suiteTrace(
    0,
    { id: "a1", counterpart: "v1" },
    withCall("run_shell", { command: "ls\ncat boats.csv" }, { stdout: "boats.csv\n", stderr: HOSTILE, exit_code: 1 }),
  ),
  suiteTrace(
    1,
    { id: "v1", ...VERBOSE, instruction: "Count the boats.\n1. Open boats.csv.\n2. Count." },
    {
      ...withCall("run_notebook", { path: "boats.ipynb" }, { path: "boats.ipynb", outputs: [{ cell: 2, text: "7" }] }),
      left: { pictures: [{ ...PICTURE, data: noisyPng(8, 6).toString("base64") }], omitted: 3 },
    },
  ),
  suiteTrace(0, { id: "late", tool: "excel", actionNumber: 20 }, { grade: { score: 0, state: "timeout", reason: "" } }),
  suiteTrace(null, { id: HOSTILE, tool: HOSTILE, tags: [HOSTILE, "verbose"], relatedApps: [HOSTILE] }),
];

const browser = new TestBrowser();

describe.each(["embed", "folder"])("a report of a suite run, with its conversations in the %s", (traces) => {
  let report: Awaited<ReturnType<typeof writeReport>>;

  beforeAll(async () => {
    report = await writeReport((db) => saveSuiteRun(db, "run_suite", TRACES), { traces, runs: ["run_suite"] });
  }, 120_000);
  afterAll(() => report?.close());

  it("does not use a suite's task id as the name of a file or element", () => {
    const html = readFileSync(report.file, "utf8");
    const ids = [...html.matchAll(/<script type="text\/plain" id="([^"]*)"/g)].map(([, id]) => id);
    expect(ids.every((id) => /^trace-0-[\w-]+-1$/.test(id ?? ""))).toBe(true);
    expect(ids).toHaveLength(traces === "embed" ? 4 : 0);
    expect(html).not.toContain("<img src=x");
    if (traces === "folder") expect(readdirSync(join(report.folder, "report-traces"))).toHaveLength(5);
  });

  describe("in a browser", { ...needs("browser"), timeout: 120_000 }, () => {
    let opened: Opened;
    let page: Page;
    beforeAll(async () => {
      opened = await browser.openReport(report.file);
      page = opened.page;
    }, 120_000);
    afterEach(() => expect(opened.complaints.splice(0)).toEqual([]));

    it("shows scores, states, slices and pairs, and nothing about mail", async () => {
      const text = await textOf(page.locator("main"));
      expect(text).toContain("Task score");
      expect(text).toMatch(/Graded\n3\nof 4 tasks; the others are not in any average/);
      expect(text).toContain("Abstract against verbose");
      expect(text).toMatch(/Task score\s+1\s+0\.000\s+1\.000\s+\+1\.000/);
      expect(text).toContain("Human actions");
      for (const word of ["mailbox", "gold mail", "Realism"])
        expect(text.toLowerCase()).not.toContain(word.toLowerCase());
      await page.getByRole("link", { name: "timeout", exact: true }).click();
      await expect.poll(() => page.locator("tr[data-index]").count()).toBe(1);
      expect(await textOf(page.locator("tr[data-index]"))).toContain("excel");
      expect(opened.requests).toEqual([]);
    });

    it("opens a task with any id, without executing any part of it", async () => {
      await page.evaluate('location.hash = ""');
      await page.locator("tr[data-index]", { hasText: "unsupported" }).click();
      const dialog = page.locator("dialog.task");
      await dialog.getByText("not graded, not in any average").waitFor();
      await dialog.getByText("The agent did not start").waitFor();
      expect(await page.evaluate("window.taken")).toBeUndefined();
    });

    it("shows a task with its grade, its commands with their output, and its counterpart", async () => {
      await page.evaluate('location.hash = "#task=run_suite/a1/1"');
      await page.reload();
      const dialog = page.locator("dialog.task");
      await dialog.locator(".output").waitFor();
      const text = await textOf(dialog);
      expect(text).toContain("compare_csv gives 0");
      expect(text).toContain("ls\ncat boats.csv");
      expect(text).toMatch(/boats\.csv\n[\s\S]*onerror[\s\S]*exit code 1/);
      await dialog.getByRole("link", { name: "v1" }).click();
      const picture = dialog.locator(".picture img");
      await picture.waitFor();
      expect(
        await picture.evaluate((image: { complete?: boolean; naturalWidth?: number }) => [
          image.complete,
          image.naturalWidth,
        ]),
      ).toEqual([true, 8]);
      const shown = await textOf(dialog);
      expect(shown).toContain("1. Open boats.csv.");
      expect(shown).toContain("Left out because they are too many or too large: 3");
      expect(shown).toMatch(/cell 2\s+7/);
    });
  });
});
