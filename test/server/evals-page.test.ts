import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EvalDraft } from "../../src/evals/definition.js";
import { hashHeldOut } from "../../src/evals/effective-labels.js";
import { saveDraft, saveEvalTest } from "../../src/evals/store.js";
import { measureAgreement } from "../../src/evals/test-eval/agreement.js";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

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
      labelsHash: hashHeldOut(db, "overall"),
      latencyMs: { p50: 1, p95: 1 },
      costUsdPerTrace: 0,
      thresholds: "usable",
      rejections,
      warnings: [],
      agreement: measureAgreement(tested),
    } as const;
    saveEvalTest(db, saveDraft(db, draft, NOW).stored.id, report, [], NOW);
  }

  beforeAll(async () => {
    demo = await startDemoServer();
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
});
