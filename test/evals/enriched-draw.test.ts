import { describe, expect, it } from "vitest";
import type { EvalDraft } from "../../src/evals/definition.js";
import { drawEnriched, drawInOrder, drawWeights } from "../../src/evals/labeling/enriched-draw.js";
import { activateEval, saveDraft } from "../../src/evals/store.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { openEmpty } from "../runs/demo-setup.js";
import { judged } from "../scoring/judged-trace.js";
import { finished, saveRun } from "../traces/saved-runs.js";

const QUIET = { doubt: 0, failsActive: false, failed: [], words: 10, amounts: {} };

describe("drawWeights", () => {
  it("returns the values computed by hand, up to 3 for the score, and up to 3 for an active eval or a rare failure", () => {
    const signals = Array.from({ length: 20 }, (_, i) => ({ ...QUIET, traceId: `t${i}`, failed: [] as string[] }));
    Object.assign(signals[0] ?? {}, { doubt: 1 });
    Object.assign(signals[1] ?? {}, { doubt: 0.5, failsActive: true });
    Object.assign(signals[2] ?? {}, { failed: ["rare"] });
    Object.assign(signals[3] ?? {}, { failed: ["less_rare"] });
    Object.assign(signals[4] ?? {}, { failed: ["less_rare"] });
    const weights = drawWeights(signals);
    expect(["t0", "t1", "t2", "t3", "t5"].map((id) => weights.get(id))).toEqual([
      4,
      5.5,
      4,
      // The odds of a failure are 1 to 9, compared with 1 to 19 for a template that 5% of the traces fail.
      expect.closeTo(1 + (3 * 9) / 19, 12),
      1,
    ]);
  });

  it("raises the weight of the shortest answers, and of unusually large amounts", () => {
    const signals = Array.from({ length: 20 }, (_, i) => ({
      ...QUIET,
      traceId: `t${i}`,
      words: i,
      amounts: { few_turns: i, low_cost: null, low_latency: 1 },
    }));
    const weights = drawWeights(signals);
    expect([...weights].flatMap(([id, weight]) => (weight > 1 ? [id] : []))).toEqual(["t0", "t18", "t19"]);
  });

  it("does not treat failed tasks as short answers", () => {
    const signals = Array.from({ length: 20 }, (_, i) => ({ ...QUIET, traceId: `t${i}`, words: i < 4 ? null : i }));
    const weights = drawWeights(signals);
    expect([...weights].flatMap(([id, weight]) => (weight > 1 ? [id] : []))).toEqual(["t4"]);
  });

  it("ignores a template that every trace fails", () => {
    const signals = Array.from({ length: 5 }, (_, i) => ({ ...QUIET, traceId: `t${i}`, failed: ["every"] }));
    expect([...drawWeights(signals).values()]).toEqual([1, 1, 1, 1, 1]);
  });
});

describe("drawEnriched", () => {
  it("draws a trace more often if an active eval fails it, or another eval failed it when it was saved", async () => {
    const { db } = openEmpty();
    saveRun(db, "run_a");
    const save = openRowWriter(db);
    const changes = { t1: {}, t2: { answer: "Perhaps 5" }, t3: { scores: { "eval:old": { value: 0 } } } };
    for (const [i, [id, change]] of Object.entries(changes).entries()) {
      const { trace, result } = finished("run_a", i + 1, 1, id);
      save(toResultRow({ ...trace, answer: "About 5", ...change }, result));
    }
    const sure = { name: "sure", kind: "assertions", answer: { all: [{ lacks: "Perhaps" }] } };
    const origin = { by: "person", seed: null, labels: null };
    const draft = { reference: false, criterion: "It is sure.", origin, ...sure } as EvalDraft;
    activateEval(db, saveDraft(db, draft, "2026-01-01T00:00:00.000Z").stored, null);
    for (let seed = 1; seed <= 10; seed++) {
      const [first] = await drawEnriched(db, ["t1", "t2", "t3"], { score: null, seed: String(seed) });
      expect(first?.probability).toBeCloseTo(first?.traceId === "t1" ? 1 / 9 : 4 / 9, 12);
    }
    db.close();
  });
});

it.each(["judge", "score"])(
  "drawEnriched adds up to 3 to the weight for doubts of the %s, but not for failed tasks",
  async (by) => {
    const { db } = openEmpty();
    saveRun(db, "run_a");
    const save = openRowWriter(db);
    const graded = [
      ["wrong", 0.2, 4],
      ["partly", 0.6, 2.5],
      ["correct", 0.9, 1],
      ["wrong", null, 1],
    ] as const;
    for (const [i, [verdict, score]] of graded.entries()) {
      const { trace, result } = finished("run_a", i + 1, score, `t${i}`);
      const judge = by === "judge" ? judged(verdict) : null;
      save(toResultRow({ ...trace, judge }, result));
    }
    const ids = graded.map((_, i) => `t${i}`);
    const seen = new Map<string, number>();
    for (let seed = 1; seed <= 40; seed++) {
      const [first] = await drawEnriched(db, ids, {
        score: by === "judge" ? null : "semanticScore",
        seed: String(seed),
      });
      seen.set(first?.traceId ?? "", first?.probability ?? 0);
    }
    // Three of four traces fail the same template, which adds a little to their weights.
    const added = 3 * (0.05 / 0.75) * (0.25 / 0.95);
    for (const [i, [, score, doubt]] of graded.entries()) {
      const weight = doubt + (score === null ? 0 : added);
      expect(seen.get(`t${i}`)).toBeCloseTo(weight / (8.5 + 3 * added), 12);
    }
    db.close();
  },
);

describe("drawInOrder", () => {
  const weights = new Map([
    ["a", 6],
    ["b", 3],
    ["c", 1],
  ]);

  it("reports the probability of each draw among the traces that were not drawn before", () => {
    for (const seed of ["1", "2", "3"]) {
      const drawn = drawInOrder(weights, seed);
      expect(drawn.map(({ drawnFrom }) => drawnFrom)).toEqual([3, 2, 1]);
      const [first, second, third] = drawn.map(({ traceId }) => weights.get(traceId) ?? 0);
      expect(drawn.map(({ probability }) => probability)).toEqual([
        expect.closeTo((first ?? 0) / 10, 12),
        expect.closeTo((second ?? 0) / ((second ?? 0) + (third ?? 0)), 12),
        1,
      ]);
    }
  });

  it("draws in the order of the first 48 bits of a hash", () => {
    // -log((int.from_bytes(hashlib.sha256(b"1 a").digest()[:6], "big") + 0.5) / 2**48) / 6 in Python, and so on.
    const orders = ["1", "2", "3", "6", "8"].map((seed) => drawInOrder(weights, seed).map(({ traceId }) => traceId));
    expect(orders.map((order) => order.join(""))).toEqual(["abc", "bac", "abc", "bac", "acb"]);
  });

  it("draws each trace first as often as its weight requires", () => {
    const firsts = Array.from({ length: 4_000 }, (_, seed) => drawInOrder(weights, String(seed))[0]?.traceId);
    const share = (id: string) => firsts.filter((first) => first === id).length / firsts.length;
    // Three standard errors are 0.023.
    expect(Math.abs(share("a") - 0.6)).toBeLessThan(0.023);
    expect(Math.abs(share("b") - 0.3)).toBeLessThan(0.023);
    expect(share("c")).toBeGreaterThan(0.08);
  });
});
