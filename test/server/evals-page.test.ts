import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EvalDraft } from "../../src/evals/definition.js";
import { hashTested } from "../../src/evals/effective-labels.js";
import { saveLabels } from "../../src/evals/labels.js";
import { saveDraft, saveEvalTest } from "../../src/evals/store.js";
import { measureAgreement } from "../../src/evals/test-eval/agreement.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { saveSynthetic } from "../reports/synthetic-run.js";
import { type DemoServer, eventsOf, startDemoServer } from "./demo-server.js";

const NOW = "2026-01-01T00:00:00.000Z";

describe("the page of evals", { ...needs("browser"), timeout: 120_000 }, () => {
  const browser = new TestBrowser();
  let demo: DemoServer;

  /** A test over 40 good traces, with 36 passes, and 40 bad ones, with 38 failures. */
  function saveTested(name: string, rejections: readonly string[]): void {
    const { db } = demo;
    const pass = { all: [{ feature: "sources", at_least: 1 }] };
    const origin = { by: "person", seed: null, labels: null } as const;
    const draft: EvalDraft = { name, kind: "rules", reference: false, criterion: `<b>${name}</b>`, pass, origin };
    const tested = Array.from({ length: 80 }, (_, i) => {
      const bad = i >= 40;
      const score = (bad ? i < 42 : i < 36) ? 1 : 0;
      return { question: String(i), bad, source: "person" as const, weight: 1, score, error: null };
    });
    const report = {
      criterion: "overall",
      agents: [],
      labelsHash: hashTested(db, "overall", "heldout"),
      latencyMs: { p50: 1, p95: 1 },
      costUsdPerTrace: 0,
      thresholds: "usable",
      rejections,
      warnings: [],
      agreement: measureAgreement(tested),
    } as const;
    saveEvalTest(db, saveDraft(db, draft, NOW).stored.id, report, [], NOW);
  }

  /** Labels a run whose bad answers cite nothing. Two labels disagree with that, and a second mode has one label. */
  function saveLabeledRun(): void {
    const { db } = demo;
    const cites = (task: number) => task % 3 !== 0;
    const change = (trace: QuestionTrace) => ({ ...trace, sources: cites(Number(trace.task.id)) ? ["<a@b>"] : [] });
    saveSynthetic(db, { id: "run_a", tasks: 120, skill: 1, change });
    const draw = { source: "person", annotator: null, isRepeat: false, drawn: "random", drawnFrom: 120 } as const;
    const label = (task: number, criterion: string, isBad: boolean) => ({
      ...draw,
      traceId: `trace_run_a_${task}`,
      criterion,
      label: isBad ? ("bad" as const) : ("good" as const),
      note: isBad ? `<i>note ${task}</i>` : null,
      probability: null,
      createdAt: NOW,
    });
    const tasks = Array.from({ length: 120 }, (_, i) => i + 1);
    saveLabels(db, [
      ...tasks.map((task) => label(task, "overall", !cites(task) || task === 1 || task === 2)),
      label(1, "wrong_year", true),
    ]);
  }

  beforeAll(async () => {
    demo = await startDemoServer();
    saveLabeledRun();
    saveTested("cites", []);
    saveTested("weak", ["TNR is too low"]);
  });
  afterAll(() => demo?.close());

  it("shows measured rates, labels and disagreements, and activates only an eval that passed", async () => {
    const { page, wrong } = await browser.openServed(`${demo.url}/#evals`);
    const row = (name: string) => page.locator("main tbody tr", { hasText: name });
    await row("cites@1").waitFor();
    const text = await row("cites@1").textContent();
    const { body } = await demo.ask("GET", "/api/evals");
    const { low, high } = body.evals[0].test.true_positive_rate;
    expect(text).toContain(`0.900${low.toFixed(3)} to ${high.toFixed(3)}, n 40`);
    expect(text).toContain("0.950");
    expect(text).toContain("80 by person");
    expect(text).toContain("4 good failed, 2 bad passed");
    expect(text).toContain("<b>cites</b>");
    expect(await row("weak@1").textContent()).toContain("TNR is too low");
    expect(await row("weak@1").getByRole("button").count()).toBe(0);
    await row("cites@1").getByRole("button", { name: "Activate cites@1" }).click();
    await page.getByText("cites@1 is active.").waitFor();
    expect((await demo.ask("GET", "/api/evals")).body.evals[0]).toMatchObject({ id: "cites@1", status: "active" });
    expect(await demo.ask("POST", "/api/evals/use", { name: "weak@1" })).toMatchObject({ status: 400 });
    expect(await demo.ask("POST", "/api/evals/use", { name: "none@1" })).toMatchObject({ status: 404 });
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(wrong()).toEqual([]);
  });

  it("suggests an eval for a failure mode, tests it, and links to the traces on which a label disagrees", async () => {
    const { page, wrong } = await browser.openServed(`${demo.url}/#evals`);
    await page.getByLabel("Failure mode").selectOption("overall");
    await page.getByRole("button", { name: "Suggest evals" }).click();
    const suggested = page.getByRole("region", { name: "Suggested evals for overall" });
    await suggested.getByText(/\d+ good and \d+ bad traces were read\./).waitFor();
    await suggested.getByRole("link", { name: "has_source@1" }).click();
    await page.getByRole("heading", { name: "has_source@1" }).waitFor();
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.getByText("Passed for overall.").waitFor();
    expect((await demo.ask("GET", "/api/evals/versions/has_source")).body).toMatchObject({
      eval: { id: "has_source@1", validation: "passed", test: { mode: "overall" } },
      history: [{}, {}],
    });
    await page.getByRole("button", { name: "Show disagreements" }).click();
    await page.getByRole("heading", { name: /Disagreements/ }).waitFor();
    const rows = page.getByRole("region", { name: "Disagreements" }).locator("tbody tr");
    for (const text of await rows.allTextContents()) expect(text).toMatch(/trace_run_a_[12]bad<i>note/);
    await rows.first().getByRole("link").click();
    await page.locator(".conversation").waitFor();
    expect(wrong()).toEqual([]);
  });

  it("says how many labels a failure mode lacks, as the command line does", async () => {
    const { page } = await browser.openServed(`${demo.url}/#evals`);
    await page.getByLabel("Failure mode").selectOption("wrong_year");
    await page.getByRole("button", { name: "Suggest evals" }).click();
    const message = await page.getByText("Too few labels to choose and test evals").textContent();
    expect(message).toMatch(
      /good and \d bad traces for wrong_year.*art-e evals label run_a --enriched --mode wrong_year/,
    );
  });

  it("reports an unknown eval, and stops at an unknown action", async () => {
    const ask = async (body: object) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${demo.url}/api/evals/jobs`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      return { status: response.status, events: response.ok ? await eventsOf(response) : [] };
    };
    expect(await ask({ action: "test", name: "none" })).toMatchObject({
      status: 200,
      events: [{ type: "error", message: expect.stringMatching(/^Unknown eval "none"/) }, "[DONE]"],
    });
    expect(await ask({ action: "guess", name: "none" })).toEqual({ status: 400, events: [] });
    expect(demo.faults).toEqual([]);
  });
});
