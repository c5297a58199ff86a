import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EvaluatedTrace } from "../../src/evals/definition.js";
import { hashTested, iterateLabeled, labeledPages } from "../../src/evals/effective-labels.js";
import { openLabeling } from "../../src/evals/labeling.js";
import { type LabelDraw, saveLabels } from "../../src/evals/labels.js";
import { questionKeys } from "../../src/evals/split-questions.js";
import { type Db, openStore } from "../../src/store/open-store.js";
import { judged } from "../scoring/judged-trace.js";
import { trace } from "../scoring/trace.js";

const asked = (question: string, answer = "Gold", ids = ["<m@x>"]) =>
  ({ ...trace({}, { question, answer, message_ids: ids }), scores: {} }) as EvaluatedTrace;

describe("questionKeys", () => {
  const same = (a: EvaluatedTrace, b: EvaluatedTrace) => questionKeys(a).some((key) => questionKeys(b).includes(key));
  const one = asked("When is the party?", "May 5", ["<a@x>"]);
  it.each([
    ["match for the same wording under different ids", asked("when is the  party", "June", ["<b@x>"]), true],
    ["match for the same gold answer and gold emails", asked("What day is the party on?", "May 5.", ["<a@x>"]), true],
    ["do not match for the same answer from other emails", asked("What day is the fair?", "May 5", ["<c@x>"]), false],
  ])("returns keys that %s", (_, other, expected) => expect(same(one, other)).toBe(expected));
});

describe("labels in a database", () => {
  const folder = mkdtempSync(join(tmpdir(), "art-e-halves-"));
  let db: Db;
  const save = (traces: readonly EvaluatedTrace[], run: string) => {
    const add = db.prepare(
      "INSERT INTO traces (id, agent_id, session_id, started_at, ending, trace) VALUES (?, 'a', 's', '2026-01-01', 'answered', ?)",
    );
    for (const [i, one] of traces.entries()) {
      const traceId = `${run}_${String(i).padStart(4, "0")}`;
      add.run(traceId, JSON.stringify({ ...one, traceId }));
    }
    return traces.map((_, i) => `${run}_${String(i).padStart(4, "0")}`);
  };
  const label = (
    ids: readonly string[],
    criterion: string,
    isBad: (i: number) => boolean,
    drawn: LabelDraw = "random",
  ) => {
    const given = { criterion, source: "person", note: null, annotator: null, isRepeat: false } as const;
    const draw = {
      drawn,
      drawnFrom: drawn === "random" ? ids.length : null,
      probability: null,
      createdAt: "2026-01-01",
    };
    saveLabels(
      db,
      ids.map((traceId, i) => ({ ...given, ...draw, traceId, label: isBad(i) ? "bad" : "good" })),
    );
  };
  const halfOf = () =>
    new Map(
      (db.prepare("SELECT trace_id AS id, half FROM eval_traces").all() as { id: string; half: string }[]).map(
        ({ id, half }) => [id, half],
      ),
    );

  beforeAll(() => {
    db = openStore(join(folder, "evals.db"), { mustExist: false });
  });
  afterAll(() => {
    db.close();
    rmSync(folder, { recursive: true });
  });

  it("put 4 of the first 11 bad traces into training and 7 into the test, later ones mostly into the test, permanently", () => {
    for (let set = 0; set < 8; set++) {
      const ids = save(
        Array.from({ length: 120 }, (_, i) =>
          asked(`Set ${set}, question ${i}?`, `Gold ${set} ${i}`, [`<${set}.${i}@x>`]),
        ),
        `set${set}`,
      );
      const bads = () =>
        (["training", "heldout"] as const).map(
          (half) => [...iterateLabeled(db, `c${set}`, half)].filter((one) => one.label.label === "bad").length,
        );
      label(ids.slice(0, 60), `c${set}`, (i) => i < 11);
      expect([...iterateLabeled(db, `c${set}`, null)]).toHaveLength(60);
      expect(bads()).toEqual([4, 7]);
      const before = halfOf();
      label(ids.slice(60), `c${set}`, (i) => i < 12);
      expect(bads()).toEqual([7, 16]);
      const after = halfOf();
      for (const [id, half] of before) expect(after.get(id)).toBe(half);
    }
  });

  it("keep a question in its half when its id or criterion changes", () => {
    const ids = save(
      Array.from({ length: 60 }, (_, i) => asked(`Double ${i % 30}?`, `Same ${i % 30}`, [`<d${i % 30}@x>`])),
      "double",
    );
    label(ids.slice(0, 30), "double", (i) => i % 2 === 0);
    expect([...iterateLabeled(db, "double", null)]).toHaveLength(30);
    label(ids.slice(30), "other", (i) => i % 3 === 0);
    expect([...iterateLabeled(db, "other", null)]).toHaveLength(30);
    const halves = halfOf();
    for (let i = 0; i < 30; i++) expect(halves.get(ids[i] ?? "")).toBe(halves.get(ids[i + 30] ?? ""));
  });

  it("come in pages of at most the given number of traces, in the same order", () => {
    const questions = Array.from({ length: 40 }, (_, i) => asked(`Page ${i}?`, `Page gold ${i}`, [`<p${i}@x>`]));
    label(save(questions, "page"), "page", (i) => i % 2 === 0);
    const all = [...iterateLabeled(db, "page", "training")];
    expect(all.length).toBeGreaterThan(6);
    const pages = [...labeledPages(db, "page", "training", 3)];
    const lengths = Array.from({ length: Math.ceil(all.length / 3) }, (_, i) => Math.min(3, all.length - 3 * i));
    expect(pages.map(({ length }) => length)).toEqual(lengths);
    expect(pages.flat()).toEqual(all);
  });

  it("put the first question of a criterion into the half that its hash selects", () => {
    const halves = Array.from({ length: 12 }, (_, i) => {
      const own = openStore(join(folder, `tie${i}.db`), { mustExist: false });
      const outer = db;
      db = own;
      try {
        const one = asked(`Tie ${i}?`, `Tie gold ${i}`, [`<t${i}@x>`]);
        label(save([one], "tie"), "tie", () => true);
        expect([...iterateLabeled(db, "tie", null)]).toHaveLength(1);
        const isEven = Number.parseInt((questionKeys(one)[0] ?? "").slice(-2), 16) % 2 === 0;
        expect([...halfOf().values()]).toEqual([isEven ? "heldout" : "training"]);
        return isEven;
      } finally {
        db = outer;
        own.close();
      }
    });
    expect(new Set(halves).size).toBe(2);
  });

  it("put a new question with the wording of a held-out question into that half", () => {
    const [first, ...others] = Array.from({ length: 30 }, (_, i) => asked(`Old ${i}?`, `Old gold ${i}`, [`<o${i}@x>`]));
    const ids = save([first as EvaluatedTrace, ...others], "old");
    label(ids, "old", (i) => i % 2 === 0);
    expect([...iterateLabeled(db, "old", null)]).toHaveLength(30);
    const halves = halfOf();
    const held = ids.flatMap((id, i) => (halves.get(id) === "heldout" ? [i] : []));
    expect(held.length).toBeGreaterThan(5);
    const later = save(
      held.flatMap((i) => [
        asked(`New ${i}?`, `New gold ${i}`, [`<n${i}@x>`]),
        asked(`New ${i}?`, `Old gold ${i}`, [`<o${i}@x>`]),
      ]),
      "new",
    );
    label(later, "old", () => false);
    expect([...iterateLabeled(db, "old", "heldout")]).toHaveLength(3 * held.length);
  });

  it("change the held-out half's hash if a label changes, or if one is added after the half's first use", () => {
    const ids = save(
      Array.from({ length: 40 }, (_, i) => asked(`Stale ${i}?`, `Gold stale ${i}`, [`<s${i}@x>`])),
      "stale",
    );
    label(ids.slice(0, 30), "stale", (i) => i % 2 === 0);
    expect([...iterateLabeled(db, "stale", null)]).toHaveLength(30);
    const before = hashTested(db, "stale", "heldout");
    label(ids.slice(30), "stale", () => true);
    expect(hashTested(db, "stale", "heldout")).toBe(before);
    label(ids.slice(0, 30), "stale", (i) => i % 2 === 1);
    expect(hashTested(db, "stale", "heldout")).not.toBe(before);
  });

  it("come in random order, or with likely failures first more often", async () => {
    const ids = save(
      Array.from({ length: 200 }, (_, i) => ({
        ...asked(`Ask ${i}?`, `Gold ask ${i}`, [`<q${i}@x>`]),
        // The judge calls every tenth answer wrong.
        judge: judged(i % 10 === 0 ? "wrong" : "correct"),
      })),
      "ask",
    );
    const open = (enriched: boolean, seed = 1) =>
      openLabeling(db, { run: null, criterion: "asked", seed, annotator: null, enriched }).then(({ queue }) =>
        [...queue].filter(({ traceId, isRepeat }) => !isRepeat && traceId.startsWith("ask_")),
      );
    const idsOf = (queue: readonly { traceId: string }[]) => queue.map(({ traceId }) => traceId);
    const random = await open(false);
    expect(idsOf(random).toSorted()).toEqual(ids);
    expect(new Set(random.map(({ drawn, probability }) => `${drawn} ${probability}`))).toEqual(
      new Set(["random null"]),
    );
    expect(idsOf(await open(false, 2))).not.toEqual(idsOf(random));
    const enriched = await open(true);
    expect(idsOf(enriched).toSorted()).toEqual(ids);
    const isBad = ({ traceId }: { traceId: string }) => Number(traceId.slice(4)) % 10 === 0;
    const badIn = (queue: readonly { traceId: string }[]) => queue.slice(0, 40).filter(isBad).length;
    expect([badIn(random) < 8, badIn(enriched) >= 10]).toEqual([true, true]);
    for (const { drawn, probability } of enriched) {
      expect(drawn).toBe("enriched");
      expect(probability).toBeGreaterThan(0);
    }
  });
});
