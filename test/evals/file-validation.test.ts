import { describe, expect, it } from "vitest";
import type { EvalTest } from "../../src/evals/definition.js";
import { fromFileValidation, toFileValidation } from "../../src/evals/store/file-validation.js";
import { measureAgreement } from "../../src/evals/test-eval/agreement.js";

const RULES = { kind: "rules" } as const;

/** A test on 40 good traces, of which `passed` pass, and 40 bad ones, of which 38 fail. */
function testOf(passed: number, changes: Partial<EvalTest> = {}): EvalTest {
  const tested = Array.from({ length: 80 }, (_, i) => {
    const bad = i >= 40;
    return {
      question: String(i),
      bad,
      source: "person" as const,
      weight: 1,
      score: (bad ? i < 42 : i < passed) ? 1 : 0,
      error: null,
    };
  });
  return {
    criterion: "overall",
    agents: [],
    labelsHash: "sha256:1",
    agreement: measureAgreement(tested),
    heldOutReads: 1,
    readsByThisEval: 1,
    latencyMs: { p50: 1, p95: 2 },
    costUsdPerTrace: 0,
    thresholds: "usable",
    rejections: [],
    warnings: [],
    ...changes,
  };
}

/** Returns a test as an export writes it and another database reads it. */
function transferred(test: EvalTest) {
  const written = toFileValidation(test, "sha256:2", "2026-01-01T00:00:00.000Z");
  return { written, read: fromFileValidation(written, RULES) };
}

describe("an eval file's test", () => {
  it("stays the same after an export and an import", () => {
    const test = testOf(36);
    expect(transferred(test).read).toEqual({ ...test, isImported: true });
  });

  it("fails to import if a figure or its hash is missing or was changed", () => {
    const { written } = transferred(testOf(36));
    const { figuresHash: _, ...unhashed } = written;
    for (const changed of [unhashed, { ...written, heldOutReads: 2 }, { ...written, warnings: ["all is well"] }]) {
      expect(fromFileValidation(changed, RULES)).toBeNull();
    }
  });

  it("fails to import if its rates contradict its counts, even with a new hash", () => {
    const test = testOf(20);
    const { agreement } = test;
    for (const forged of [
      { ...agreement, truePositiveRate: testOf(40).agreement.truePositiveRate },
      { ...agreement, trueNegativeRate: { ...agreement.trueNegativeRate, low: 0.99 } },
      { ...agreement, confusion: { ...agreement.confusion, goodPassed: 40 } },
      { ...agreement, good: 400 },
    ]) {
      expect(transferred({ ...test, agreement: forged }).read).toBeNull();
    }
  });

  it("contains weighted rates that follow from its weights", () => {
    const tested = Array.from({ length: 80 }, (_, i) => ({
      question: String(i),
      bad: i >= 40,
      source: "person" as const,
      weight: i % 2 === 0 ? 0.5 : 1.5,
      score: i < 39 || i > 77 ? 1 : 0,
      error: null,
    }));
    const agreement = measureAgreement(tested);
    expect(agreement.truePositiveRate.value).toBeCloseTo(1 - 1.5 / 40, 12);
    expect(transferred(testOf(36, { agreement })).read?.agreement).toEqual(agreement);
    const { weighted } = agreement;
    if (weighted === undefined) throw new Error("expected weights");
    const { squares } = weighted;
    for (const changes of [
      { goodFailed: 0 },
      { squares: { ...squares, badPassed: 0.1 } },
      { next: { passed: 0, failed: 0 } },
    ]) {
      const forged = { ...agreement, weighted: { ...weighted, ...changes } };
      expect(transferred(testOf(36, { agreement: forged })).read).toBeNull();
    }
  });

  it("contains the rejections that follow from its figures, even with a new hash", () => {
    expect(transferred(testOf(20)).read?.rejections).toEqual([
      "true positive rate is 0.500 (minimum 0.8)",
      expect.stringContaining("the true positive rate might be as low as 0."),
    ]);
    expect(transferred(testOf(36, { rejections: ["it was too bad"] })).read?.rejections).toEqual([]);
  });
});
