import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeCriterion } from "../../src/evals/criteria.js";
import type { EvaluatedTrace } from "../../src/evals/definition.js";
import { hashTested, iterateLabeled, labeledPages } from "../../src/evals/effective-labels.js";
import { openLabeling } from "../../src/evals/labeling.js";
import { type LabelDraw, saveLabels } from "../../src/evals/labels.js";
import { HalfCounts, questionKeys } from "../../src/evals/split-questions.js";
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

  const chat = { ...one, kind: "chat", question: "When is the party?" } as unknown as EvaluatedTrace;
  const task = (id: string, counterpart: string | null) => {
    const suite = { kind: "suite", taskId: id, task: { id, instruction: `Do ${id}`, counterpart } };
    return { ...one, ...suite } as unknown as EvaluatedTrace;
  };

  it("returns only the key of the wording without a gold answer, gold emails or another wording", () => {
    const others = [asked("When?", " "), asked("When?", "May 5", []), chat, task("a", null)];
    expect([one, ...others, task("a", "b")].map((each) => questionKeys(each).length)).toEqual([2, 1, 1, 1, 1, 2]);
    expect(questionKeys(chat)).toEqual(questionKeys(one).slice(0, 1));
  });

  it("returns keys that match for the two wordings of a suite task", () => {
    expect(same(task("a", "b"), task("b", "a"))).toBe(true);
    expect([task("c", "d"), task("c", null)].map((other) => same(task("a", "b"), other))).toEqual([false, false]);
  });
});

describe("HalfCounts", () => {
  it.each([
    [0, 0, 0],
    [4, 0, 4],
    [4, 7, 0],
    [0, 7, -4],
    [5, 10, 0],
    [9, 7, 5],
    [4, 8, -1 / 3],
  ])("returns a surplus for %d bad training traces and %d held-out ones of %d", (training, heldout, surplus) => {
    const counts = new HalfCounts();
    counts.add("training", []);
    for (let i = 0; i < training; i++) counts.add("training", ["a", "b"]);
    for (let i = 0; i < heldout; i++) counts.add("heldout", ["a", "b"]);
    expect(counts.surplus(["a"])).toBe(21 * surplus);
    expect(counts.surplus(["a", "b", "c"])).toBe(2 * 21 * surplus);
    expect(counts.surplus([])).toBe(21);
  });
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

  it("put new questions into training if new traces of known questions made the held-out half too large", () => {
    const questions = Array.from({ length: 14 }, (_, i) => asked(`Known ${i}?`, `Known gold ${i}`, [`<k${i}@x>`]));
    const ids = save(questions, "known");
    label(ids.slice(0, 11), "known", () => true);
    const [heldout, ...others] = [...iterateLabeled(db, "known", "heldout")];
    expect(others).toHaveLength(6);
    label(save(Array(9).fill(heldout?.trace), "again"), "known", () => true);
    label(ids.slice(11), "known", () => true);
    // 16 held-out traces are nine more than the first seven, so three more are due to training.
    expect([...iterateLabeled(db, "known", "training")]).toHaveLength(7);
  });

  it("put a trace that matches questions of both halves into training", () => {
    const questions = Array.from({ length: 20 }, (_, i) => asked(`Half ${i}?`, `Half gold ${i}`, [`<h${i}@x>`]));
    const ids = save(questions, "half");
    label(ids, "half", () => true);
    expect([...iterateLabeled(db, "half", null)]).toHaveLength(20);
    const halves = halfOf();
    const [heldout, training] = (["heldout", "training"] as const).map((half) =>
      ids.findIndex((id) => halves.get(id) === half),
    );
    const both = [asked(`Half ${heldout}?`, `Half gold ${training}`, [`<h${training}@x>`])];
    const mirrored = [asked(`Half ${training}?`, `Half gold ${heldout}`, [`<h${heldout}@x>`])];
    label(save(both, "both"), "half", () => true);
    label(save(mirrored, "mirrored"), "half", () => true);
    expect([...iterateLabeled(db, "half", null)]).toHaveLength(22);
    expect([halfOf().get("both_0000"), halfOf().get("mirrored_0000")]).toEqual(["training", "training"]);
  });

  it("join two new questions if a third trace has the wording of one and the gold answer of the other", () => {
    const triples = Array.from({ length: 12 }, (_, i) => [
      asked(`First ${i}?`, `First gold ${i}`, [`<f${i}@x>`]),
      asked(`Second ${i}?`, `Second gold ${i}`, [`<g${i}@x>`]),
      asked(`First ${i}?`, `Second gold ${i}`, [`<g${i}@x>`]),
    ]);
    label(save(triples.flat(), "triple"), "triple", () => true);
    const labeled = [...iterateLabeled(db, "triple", null)];
    expect(labeled).toHaveLength(36);
    const questions = triples.map((_, i) => new Set(labeled.slice(3 * i, 3 * i + 3).map(({ question }) => question)));
    expect(questions.map(({ size }) => size)).toEqual(triples.map(() => 1));
    const bads = [...iterateLabeled(db, "triple", "heldout")].length;
    // Each question adds three traces to a half, whose share is four to seven and then one to three.
    expect([24, 27]).toContain(bads);
  });

  it("divide good traces in the same shares, although questions with bad traces come first", () => {
    for (let set = 0; set < 6; set++) {
      const same = Array.from({ length: 7 }, () => asked(`Mixed ${set}?`, `Mixed gold ${set}`, [`<m${set}@x>`]));
      const others = Array.from({ length: 23 }, (_, i) =>
        asked(`Mixed ${set}, good ${i}?`, `Good gold ${set} ${i}`, [`<m${set}.${i}@x>`]),
      );
      label(save([...same, ...others], `mixed${set}`), `mixed${set}`, (i) => i === 0);
      const good = [...iterateLabeled(db, `mixed${set}`, "training")].filter((one) => one.label.label === "good");
      // 4 of the first 11, and a quarter of the other 18.
      expect([8, 9]).toContain(good.length);
    }
  });

  it("change the held-out half's hash with the criterion's sentence, a changed label, or one used for the first time", () => {
    const ids = save(
      Array.from({ length: 40 }, (_, i) => asked(`Stale ${i}?`, `Gold stale ${i}`, [`<s${i}@x>`])),
      "stale",
    );
    label(ids.slice(0, 30), "stale", (i) => i % 2 === 0);
    expect([...iterateLabeled(db, "stale", null)]).toHaveLength(30);
    const unnamed = hashTested(db, "stale", "heldout");
    writeCriterion(db, "stale", "The answer is current.");
    const before = hashTested(db, "stale", "heldout");
    expect(before).not.toBe(unnamed);
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
