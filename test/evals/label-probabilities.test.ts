import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { BY_PERSON, BY_TEMPLATES } from "../../src/evals/definition.js";
import {
  effectiveLabels,
  hashTested,
  heldOutTraceIds,
  iterateLabeled,
  sampledUnseenLabels,
} from "../../src/evals/effective-labels.js";
import { labelPairs, listDisagreements, summarizeLabels } from "../../src/evals/label-agreement.js";
import { openLabeling, saveGivenLabel } from "../../src/evals/labeling.js";
import {
  drawnFromSchema,
  LABEL_DRAWS,
  probabilitySchema,
  saveLabels,
  type TraceDraw,
  type TraceLabel,
  withValidDraw,
} from "../../src/evals/labels.js";
import { type Db, openStore } from "../../src/store/open-store.js";
import { saveSynthetic } from "../reports/synthetic-run.js";
import { trace } from "../scoring/trace.js";

const folder = mkdtempSync(join(tmpdir(), "art-e-probabilities-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Saves traces of chats, each with a separate question. */
function saveTraces(db: Db, count: number, prefix = "t"): string[] {
  const add = db.prepare(
    "INSERT INTO traces (id, agent_id, session_id, started_at, ending, trace) VALUES (?, 'a', 's', '2026-01-01', 'answered', ?)",
  );
  return Array.from({ length: count }, (_, i) => {
    const traceId = `${prefix}${String(i).padStart(3, "0")}`;
    const question = { question: `Question ${i}?`, answer: `Gold ${i}`, message_ids: [`<${i}@x>`] };
    add.run(traceId, JSON.stringify({ ...trace({ traceId }, question), scores: {} }));
    return traceId;
  });
}

const GIVEN: Omit<TraceLabel, "traceId" | "label" | keyof TraceDraw> = {
  criterion: "overall",
  source: "person",
  note: null,
  annotator: null,
  isRepeat: false,
  createdAt: "2026-01-01",
};
const RANDOM = { drawn: "random", drawnFrom: 10, probability: null } as const;

describe("label weights", () => {
  it("follow from the probabilities of the draws and the traces left, and equal 1 for other draws", () => {
    const db = openStore(join(folder, "weights.db"), { mustExist: false });
    const [first = "", second = "", third = "", fourth = ""] = saveTraces(db, 10);
    saveLabels(db, [
      { ...GIVEN, traceId: first, label: "bad", drawn: "enriched", drawnFrom: 10, probability: 0.4 },
      { ...GIVEN, traceId: second, label: "skip", drawn: "enriched", drawnFrom: 9, probability: 0.5 },
      { ...GIVEN, traceId: third, label: "good", drawn: "random", drawnFrom: 8, probability: null },
      { ...GIVEN, traceId: fourth, label: "good", drawn: "unknown", drawnFrom: null, probability: null },
    ]);
    const weights = new Map(effectiveLabels(db, "overall").map(({ traceId, weight }) => [traceId, weight]));
    // Three draws left 7 traces: 1 + 7 / 9 (1 / (10 * 0.4) - 1), and 1 + 7 / 8 (1 / (9 * 0.5) - 1).
    expect(weights.get(first)).toBeCloseTo(1 + (7 / 9) * (1 / 4 - 1), 12);
    expect(weights.get(second)).toBeCloseTo(1 + (7 / 8) * (1 / 4.5 - 1), 12);
    expect([weights.get(third), weights.get(fourth)]).toEqual([1, 1]);
    // Another label shrinks the rest.
    saveLabels(db, [{ ...GIVEN, traceId: "t009", label: "good", drawn: "enriched", drawnFrom: 7, probability: 1 / 7 }]);
    const later = effectiveLabels(db, "overall").find(({ traceId }) => traceId === first);
    expect(later?.weight).toBeCloseTo(1 + (6 / 9) * (1 / 4 - 1), 12);
    db.close();
  });

  it("count the held-out labels that represent a run, or all for a template, without chosen traces", () => {
    const db = openStore(join(folder, "sample.db"), { mustExist: false });
    const ids = saveTraces(db, 60);
    const draws = ["random", "enriched", "unknown", "unknown"] as const;
    saveLabels(
      db,
      ids.map((traceId, i) => {
        const drawn = draws[i % 4] ?? "random";
        const probability = drawn === "enriched" ? 0.5 : null;
        return { ...GIVEN, traceId, label: i % 3 === 0 ? "bad" : "good", drawn, drawnFrom: 60 - i, probability };
      }),
    );
    expect([...iterateLabeled(db, "overall", null)]).toHaveLength(60);
    const sample = sampledUnseenLabels(db, "overall", { createdAt: "2026-01-02", definition: { origin: BY_PERSON } });
    expect(sample.size).toBeGreaterThan(10);
    const fromTemplate = sampledUnseenLabels(db, "overall", {
      createdAt: "2026-01-02",
      definition: { origin: BY_TEMPLATES },
    });
    expect(fromTemplate.size).toBe(30);
    for (const [traceId, { isGood, weight }] of fromTemplate) {
      const i = Number(traceId.slice(1));
      expect(i % 4).toBeLessThan(2);
      expect([isGood, weight < 1]).toEqual([i % 3 !== 0, i % 4 === 1]);
    }
    db.close();
  });
});

describe("labels as evidence", () => {
  it("count a trace with four annotators once, with the fraction of their pairs that agree", () => {
    const db = openStore(join(folder, "pairs.db"), { mustExist: false });
    const ids = saveTraces(db, 6);
    const given = { ...GIVEN, ...RANDOM };
    const by = (traceId: string, annotator: string, label: "good" | "bad") => ({ ...given, traceId, annotator, label });
    const [first = "", ...others] = ids;
    saveLabels(db, [
      by(first, "ann", "good"),
      by(first, "ben", "good"),
      by(first, "cy", "good"),
      by(first, "di", "bad"),
    ]);
    // Six pairs of labels, but one trace.
    expect(labelPairs(db, "overall")).toBeNull();
    expect(summarizeLabels(db, "overall").betweenAnnotators).toMatchObject({ value: 0.5, n: 1 });
    for (const id of others.slice(0, 4)) saveLabels(db, [by(id, "ann", "good"), by(id, "ben", "good")]);
    saveLabels(db, [{ ...by(first, "ann", "good"), isRepeat: true }]);
    // The first trace has seven pairs now, four of them alike.
    expect(labelPairs(db, "overall")).toEqual({ alike: expect.closeTo(4 + 4 / 7, 12), n: 5 });
    db.close();
  });

  it("count how many notes a direct label has replaced, by kind", () => {
    const db = openStore(join(folder, "notes.db"), { mustExist: false });
    const labels = saveTraces(db, 6).map((traceId, i) => ({
      ...{ ...GIVEN, ...RANDOM, traceId, label: i % 2 ? "good" : "bad" },
    })) as TraceLabel[];
    saveLabels(
      db,
      labels.map((one) => ({ ...one, annotator: "cy", basis: "coded" })),
    );
    saveLabels(
      db,
      labels.slice(0, 5).map((one) => ({ ...one, annotator: "ann" })),
    );
    expect(labelPairs(db, "overall")).toEqual({ alike: 5, n: 5, again: { good: 2 / 3, bad: 1 } });
    saveLabels(
      db,
      labels.map((one) => ({ ...one, annotator: "ben" })),
    );
    expect(labelPairs(db, "overall")).toEqual({ alike: 6, n: 6, again: { good: 1, bad: 1 } });
    db.close();
  });

  it.each(["judge", "score", "import"] as const)("omit labels from the source %s", (source) => {
    const db = openStore(join(folder, `${source}.db`), { mustExist: false });
    const ids = saveTraces(db, 40);
    saveLabels(
      db,
      ids.map((traceId, i) => ({ ...GIVEN, ...RANDOM, source, traceId, label: i % 2 ? "good" : "bad" })),
    );
    expect([...iterateLabeled(db, "overall", null)]).toHaveLength(40);
    const before = hashTested(db, "overall", "heldout");
    expect(heldOutTraceIds(db, "overall")).toEqual([]);
    expect(
      sampledUnseenLabels(db, "overall", { createdAt: "2025-12-31", definition: { origin: BY_PERSON } }).size,
    ).toBe(0);
    expect(summarizeLabels(db, "overall")).toMatchObject({
      labels: { good: 20, bad: 20, neutral: 0, skip: 0 },
      sources: { person: 0, import: 0, judge: 0, score: 0, [source]: 40 },
      drawn: { random: 40, enriched: 0, all: 0, unknown: 0 },
    });
    // A person's label takes precedence.
    saveLabels(
      db,
      ids.map((traceId) => ({ ...GIVEN, ...RANDOM, traceId, label: "good" })),
    );
    expect(heldOutTraceIds(db, "overall").length).toBeGreaterThan(10);
    expect(
      sampledUnseenLabels(db, "overall", { createdAt: "2025-12-31", definition: { origin: BY_PERSON } }).size,
    ).toBe(40);
    expect(hashTested(db, "overall", "heldout")).not.toBe(before);
    expect(summarizeLabels(db, "overall").sources).toMatchObject({ person: 40, [source]: 0 });
    db.close();
  });
});

describe("withValidDraw", () => {
  const schema = withValidDraw(
    z.object({ drawn: z.enum(LABEL_DRAWS), drawn_from: drawnFromSchema, probability: probabilitySchema }),
  );

  it.each([
    [5e-324, 10, false],
    [1e-9, 10, false],
    [1 / 18_000, 1_000, true],
    [0.018, 1_000, true],
    [1, 2_000, false],
    [1, 1, true],
    [1.1, 1, false],
    [1e-9, 1_000_000_000, true],
    [1e-9, 1_000_000_001, false],
  ])("bounds the weights of labels (probability %d of %d traces)", (probability, drawn_from, isValid) =>
    expect(schema.safeParse({ drawn: "enriched", drawn_from, probability }).success).toBe(isValid),
  );
});

describe("openLabeling", () => {
  const db = openStore(join(folder, "queues.db"), { mustExist: false });
  afterAll(() => db.close());
  saveSynthetic(db, { id: "run_a", tasks: 2 });
  const [disputed = "", adjudicated = "", agreed = ""] = saveTraces(db, 3);
  const ofRun = "trace_run_a_1";
  const queueOf = async (run: string | null, mode: "adjudicate" | "confirm") => {
    const options = { run, criterion: "overall", seed: 1, annotator: null, enriched: false, [mode]: true };
    const { waiting, queue } = await openLabeling(db, options);
    expect([...queue]).toHaveLength(waiting);
    return [...queue];
  };

  it("queues the disagreements on the selected traces that nobody has adjudicated", async () => {
    const given = { ...GIVEN, ...RANDOM };
    saveLabels(
      db,
      [disputed, adjudicated, agreed, ofRun].flatMap((traceId) => [
        { ...given, traceId, annotator: "ann", label: "good" as const },
        { ...given, traceId, annotator: "ben", label: traceId === agreed ? ("good" as const) : ("bad" as const) },
      ]),
    );
    saveGivenLabel(db, { ...given, traceId: adjudicated, label: "bad", basis: "adjudicated" });
    const labels = [
      { annotator: "ann", label: "good", note: null },
      { annotator: "ben", label: "bad", note: null },
    ];
    const draw = { drawn: "unknown", drawnFrom: null, probability: null };
    expect(await queueOf(null, "adjudicate")).toEqual([{ traceId: disputed, isRepeat: false, ...draw, labels }]);
    expect(await queueOf("run_a", "adjudicate")).toEqual([{ traceId: ofRun, isRepeat: false, ...draw, labels }]);
  });

  it("queues the selected traces that a coding note calls bad, with their draws", async () => {
    const coded = { ...GIVEN, ...RANDOM, basis: "coded", label: "bad" } as const;
    const [noted = ""] = saveTraces(db, 1, "noted");
    saveLabels(db, [
      { ...coded, traceId: noted },
      { ...coded, traceId: "trace_run_a_2" },
    ]);
    expect(await queueOf(null, "confirm")).toEqual([{ traceId: noted, isRepeat: false, ...RANDOM }]);
    expect(await queueOf("run_a", "confirm")).toEqual([{ traceId: "trace_run_a_2", isRepeat: false, ...RANDOM }]);
  });
});

describe("saveGivenLabel", () => {
  it("adjudicates only a trace that annotators disagree on", () => {
    const db = openStore(join(folder, "adjudicated.db"), { mustExist: false });
    const [disputed = "", agreed = "", open = "", single = ""] = saveTraces(db, 4);
    const given = { ...GIVEN, ...RANDOM };
    saveLabels(db, [
      { ...given, traceId: disputed, annotator: "ann", label: "good" },
      { ...given, traceId: disputed, annotator: "ben", label: "bad" },
      { ...given, traceId: agreed, annotator: "ann", label: "good" },
      { ...given, traceId: agreed, annotator: "ben", label: "good" },
      { ...given, traceId: open, annotator: "ann", label: "good" },
      { ...given, traceId: open, annotator: "ben", label: "bad" },
      { ...given, traceId: single, annotator: "ann", label: "good" },
    ]);
    const adjudicate = (traceId: string) =>
      saveGivenLabel(db, { ...given, traceId, label: "bad", basis: "adjudicated" });
    expect(() => adjudicate(agreed)).toThrow(`Cannot adjudicate ${agreed}: no two annotators disagree`);
    expect(summarizeLabels(db, "overall").resolved).toBe(0);
    adjudicate(disputed);
    expect(listDisagreements(db, "overall")).toMatchObject([
      { traceId: disputed, adjudicated: "bad" },
      { traceId: open, adjudicated: null },
    ]);
    // Three of the four traces have labels by two people. One of their two disagreements is adjudicated.
    expect(summarizeLabels(db, "overall").resolved).toBe(3 / 8);
    db.close();
  });
});
