import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EvalDraft } from "../../src/evals/definition.js";
import { hashLabels } from "../../src/evals/effective-labels.js";
import { saveDraft, saveEvalTest } from "../../src/evals/store.js";
import { measureAgreement } from "../../src/evals/test-eval/agreement.js";
import { agentOfRun } from "../../src/evals/validated-agents.js";
import type { Db } from "../../src/store/open-store.js";
import { getRun } from "../../src/traces/runs-store.js";
import type { QuestionTrace as Trace } from "../../src/traces/trace.js";
import { TestBrowser } from "../browser.js";
import { writeReport } from "../cli/reports/report-file.js";
import { needs } from "../machine-requirements.js";
import { saveSynthetic } from "./synthetic-run.js";

/** Evals in a report's page. */

const TASKS = 200;
const NOW = "2026-01-01T00:00:00.000Z";
const HOSTILE = `</script><img src=x onerror="document.title='stolen'">`;

/** A quarter of the answers pass `quarter`, and answers to questions with odd numbers pass `odd`. */
const change = (trace: Trace): Trace => ({
  ...trace,
  scores: {
    ...trace.scores,
    "eval:quarter": { value: Number(trace.taskId) % 4 === 0 ? 1 : 0.4 },
    "eval:odd": { value: Number(trace.taskId) % 2 },
  },
});

function saveEval(db: Db, name: string): number {
  const draft: EvalDraft = {
    name,
    kind: "rules",
    reference: false,
    criterion: `${name}: ${HOSTILE}`,
    pass: { all: [{ feature: "sources", at_least: 1 }] },
    origin: { by: "person", seed: null, labels: null },
  };
  return saveDraft(db, draft, NOW).stored.id;
}

/** A test over 40 good traces, with 36 passes, and 40 bad ones, with 38 failures. */
function saveTest(db: Db, evalId: number): void {
  const tested = Array.from({ length: 80 }, (_, i) => {
    const bad = i >= 40;
    return {
      question: String(i),
      bad,
      source: "person" as const,
      weight: 1,
      score: (bad ? i < 42 : i < 36) ? 1 : 0,
      error: null,
    };
  });
  const agreement = measureAgreement(tested);
  const rest = {
    criterion: "overall",
    agents: [agentOfRun(getRun(db, "run_evals"))],
    labelsHash: hashLabels([]),
    latencyMs: { p50: 1, p95: 1 },
    costUsdPerTrace: 0,
  };
  const found = { thresholds: "usable", rejections: ["it was too bad"], warnings: [] } as const;
  saveEvalTest(db, evalId, { ...rest, ...found, agreement }, [], NOW);
}

describe("a report of a run with evals", { ...needs("browser"), timeout: 60_000 }, () => {
  const browser = new TestBrowser();
  let report: Awaited<ReturnType<typeof writeReport>>;

  beforeAll(async () => {
    report = await writeReport((db) => {
      saveSynthetic(db, { id: "run_evals", tasks: TASKS, change });
      saveTest(db, saveEval(db, "quarter"));
      saveEval(db, "odd");
    });
  }, 60_000);
  afterAll(() => report?.close());

  it("corrects pass rates based on the newest test, and marks evals that have no test or are below their thresholds", async () => {
    const { page, complaints } = await browser.openReport(report.file);
    const rows = page.locator("table.evals tbody tr");
    expect(await rows.count()).toBe(2);
    const cells = (row: number) => rows.nth(row).locator("th, td").allTextContents();
    const [odd, oddTasks, oddRate, ...untested] = await cells(0);
    expect([odd, oddTasks]).toEqual(["odd @1", String(TASKS)]);
    expect(oddRate).toMatch(/^0\.500 0\.43\d to 0\.5\d\d$/);
    expect(untested).toEqual(["not tested", "not tested", "–"]);
    const [, , rate, corrected, falseFailureRate, test] = await cells(1);
    expect(rate).toMatch(/^0\.250 0\.19\d to 0\.3\d\d$/);
    // (0.25 + 0.95 - 1) / (0.9 + 0.95 - 1)
    expect(corrected).toMatch(/^0\.235 0\.1\d\d to 0\.3\d\d$/);
    expect(falseFailureRate).toMatch(/^0\.100 0\.04\d to 0\.2\d\d$/);
    expect(test).toBe('40 good, 40 badmissed "usable"');
    expect(await page.locator("table.scores").textContent()).toContain(`odd: ${HOSTILE}`);
    expect(await page.title()).not.toBe("stolen");
    expect(complaints).toEqual([]);
  });

  it("lists each task's failed evals in the task table, and links an eval to its failing tasks", async () => {
    const { page, complaints } = await browser.openReport(report.file);
    const failed = (row: number) => page.locator("tr[data-index]").nth(row).locator(".evals span").allTextContents();
    expect(await Promise.all([0, 1, 3].map(failed))).toEqual([["quarter"], ["odd", "quarter"], ["odd"]]);
    await page.getByRole("columnheader", { name: "Evals failed" }).getByRole("button").click();
    await page.getByRole("columnheader", { name: "Evals failed" }).getByRole("button").click();
    expect(await failed(0)).toEqual(["odd", "quarter"]);
    await page.getByRole("link", { name: "quarter" }).click();
    await page.getByText(`${(TASKS * 3) / 4} of ${TASKS} tasks`).waitFor();
    expect(await page.getByRole("combobox", { name: "Fails" }).inputValue()).toBe("quarter");
    expect(complaints).toEqual([]);
  });

  it("fits a narrow screen", async () => {
    const { page } = await browser.openReport(report.file, { viewport: { width: 390, height: 800 } });
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    expect(await page.locator("table.evals td").first().getAttribute("data-label")).toBe("Tasks");
  });

  it("shows no section or column for evals if the run has none", async () => {
    const plain = await writeReport((db) => saveSynthetic(db, { id: "run_plain", tasks: 5 }));
    const { page } = await browser.openReport(plain.file);
    expect(await page.getByRole("heading", { name: "Evals" }).count()).toBe(0);
    expect(await page.getByRole("columnheader", { name: "Evals failed" }).count()).toBe(0);
    expect(await page.getByRole("columnheader", { name: "Ending" }).count()).toBe(1);
    plain.close();
  });
});
