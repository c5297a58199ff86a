import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { judgeDraft } from "../../src/evals/add-eval/judge-draft.js";
import type { LabelSource } from "../../src/evals/definition.js";
import { iterateLabeled } from "../../src/evals/effective-labels.js";
import { saveLabels, type TraceLabel } from "../../src/evals/labels.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { trace } from "../scoring/trace.js";

const JUDGE = { model: "acme/judge", baseUrl: null, protocol: "verdict", version: 1, votes: 1 } as const;

const LABEL: Omit<TraceLabel, "traceId" | "label" | "source"> = {
  criterion: "overall",
  note: null,
  annotator: null,
  isRepeat: false,
  createdAt: "2026-01-01",
  drawn: "unknown",
  drawnFrom: null,
  probability: null,
};

/** Saves answers with labels, alternately good and bad, each to its own question. */
function saveLabeled(db: TestDb["db"], from: number, answers: readonly (string | null)[], source: LabelSource): void {
  const add = db.prepare(
    "INSERT INTO traces (id, agent_id, session_id, started_at, ending, trace) VALUES (?, 'a', 's', '2026-01-01', 'answered', ?)",
  );
  const labels = answers.map((answer, i): TraceLabel => {
    const traceId = `t${from + i}`;
    const task = { question: `Question ${from + i}?`, answer: `Gold ${from + i}`, message_ids: [`<${from + i}@x>`] };
    add.run(traceId, JSON.stringify({ ...trace({ traceId, answer }, task), scores: {} }));
    return { ...LABEL, traceId, source, label: i % 2 === 0 ? "good" : "bad" };
  });
  saveLabels(db, labels);
}

const answers = (count: number, text: (i: number) => string | null) => Array.from({ length: count }, (_, i) => text(i));

describe("judgeDraft", () => {
  let demo: TestDb;
  beforeAll(() => {
    demo = openEmpty();
    saveLabeled(
      demo.db,
      0,
      answers(60, (i) => `shown ${i} ${"x".repeat(2_000)}`),
      "person",
    );
    saveLabeled(
      demo.db,
      100,
      answers(20, () => null),
      "person",
    );
    saveLabeled(
      demo.db,
      200,
      answers(20, () => "I don't know."),
      "person",
    );
    saveLabeled(
      demo.db,
      300,
      answers(20, (i) => `imported ${i}`),
      "import",
    );
  });
  afterAll(() => demo.close());

  const draft = (examples: number, seed = 1) => {
    const made = judgeDraft(demo.db, { name: "strict", judge: JUDGE, examples, criterion: "overall", seed });
    return { origin: made.origin, examples: made.kind === "judge" ? (made.judge.examples ?? []) : [] };
  };

  it("shows people's labels of given answers of the training half, alternately good and bad", () => {
    const { examples } = draft(7);
    expect(examples.map(({ label }) => label)).toEqual(["good", "bad", "good", "bad", "good", "bad", "good"]);
    expect(draft(1).examples.map(({ label }) => label)).toEqual(["good"]);
    const training = new Set(
      [...iterateLabeled(demo.db, "overall", "training")].map(({ trace: one }) => `Question ${one.traceId.slice(1)}?`),
    );
    for (const { question, answer, gold } of examples) {
      expect(answer).toMatch(/^shown /);
      expect(answer).toHaveLength(1_000);
      expect(gold).toBe(question.replace("Question", "Gold").replace("?", ""));
      expect([...training]).toContain(question);
    }
  });

  it("draws the same examples for the same seed", () => {
    expect(draft(6).examples).toEqual(draft(6).examples);
    expect(draft(6, 2).examples).not.toEqual(draft(6).examples);
  });

  it("records the labels of its examples, and none without examples", () => {
    expect(draft(6, 3).origin).toEqual({ by: "person", seed: 3, labels: expect.stringMatching(/^sha256:|^[0-9a-f]/) });
    expect(draft(0)).toEqual({ origin: { by: "person", seed: null, labels: null }, examples: [] });
  });

  it("rejects more examples than labels", () => {
    expect(() => draft(100)).toThrow(/Too few labels for 100 examples: people labeled \d+ good and \d+ bad answers/);
  });
});
