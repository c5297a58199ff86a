import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { deleteNote, listNotes, openCoding, saveNote } from "../../src/error-analysis/coding.js";
import { changeModes, readTaxonomy } from "../../src/error-analysis/modes.js";
import { effectiveLabels } from "../../src/evals/effective-labels.js";
import { labelPairs } from "../../src/evals/label-agreement.js";
import { saveGivenLabel } from "../../src/evals/labeling.js";
import { allLabels, unconfirmedTraces } from "../../src/evals/labels.js";
import { taxonomyText } from "../../src/reports/mode-text.js";
import { type Db, openStore } from "../../src/store/open-store.js";
import { saveRun, saveTask } from "../traces/saved-runs.js";

const TRACES = 30;

describe("a coding pass", () => {
  let folder: string;
  let db: Db;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "art-e-"));
    db = openStore(join(folder, "notes.db"), { mustExist: false });
    saveRun(db, "run_a");
    for (let task = 1; task <= TRACES; task++) saveTask(db, "run_a", task, 0.5);
  });
  afterEach(() => {
    db.close();
    rmSync(folder, { recursive: true });
  });

  const open = (limit = TRACES) => openCoding(db, { run: "run_a", limit, seed: 1, enriched: false });
  const draw = { drawnFrom: TRACES, probability: null, annotator: "ann" };
  const save = (traceId: string, note: string | null, isRepeat = false) => {
    const seen = db
      .prepare("SELECT created_at FROM coding_notes WHERE trace_id = ? AND is_repeat = ?")
      .pluck()
      .get(traceId, Number(isRepeat)) as string | undefined;
    saveNote(db, { ...draw, traceId, note, isRepeat }, seen);
  };
  const labelOf = (traceId: string, mode: string) =>
    effectiveLabels(db, mode).find((label) => label.traceId === traceId)?.label;

  it("shows one trace again after every nine, as soon as it is nine traces back", async () => {
    const { queue } = await open();
    const repeats = queue.flatMap(({ isRepeat }, i) => (isRepeat ? i : []));
    // 30 traces: a repetition after 18 and after 27.
    expect(repeats).toEqual([18, 28]);
    for (const i of repeats) {
      const first = queue.findIndex(({ traceId }) => traceId === queue[i]?.traceId);
      expect(i - first).toBeGreaterThanOrEqual(9);
    }
    expect(new Set(queue.map(({ traceId }) => traceId)).size).toBe(TRACES);
  });

  it("shows a trace of an earlier part again, but none for a third time", async () => {
    const ids = (await open()).queue.flatMap(({ traceId, isRepeat }) => (isRepeat ? [] : traceId));
    for (const id of ids.slice(0, 2)) save(id, null);
    save(ids[0] ?? "", null, true);
    const { queue } = await open();
    expect(queue.findIndex(({ isRepeat }) => isRepeat)).toBe(9);
    expect(queue.filter(({ isRepeat }) => isRepeat).map(({ traceId }) => traceId)).toContain(ids[1]);
    expect(queue.map(({ traceId }) => traceId)).not.toContain(ids[0]);
  });

  it("compares the modes of both notes about a trace, and counts the newer note", () => {
    const notes = [
      ["wrong year", "Wrong YEAR"],
      [null, "another year"],
      ["wrong year", null],
      ["wrong year", "rude"],
      [null, null],
      ["wrong year", "hm"],
    ] as const;
    const ids = notes.map((_, i) => `trace_run_a_${i + 1}`);
    for (const [i, [first]] of notes.entries()) save(ids[i] ?? "", first);
    for (const [i, [, second]] of notes.entries()) save(ids[i] ?? "", second, true);
    changeModes(db, { action: "assign", mode: "year", notes: ["year"] });
    changeModes(db, { action: "assign", mode: "rude", notes: ["rude"] });
    // The note "hm" is in no mode, so its trace has one label only. Of the others, two are alike for year, four for rude.
    expect(labelPairs(db, "year")).toEqual({ alike: 3, n: 5 });
    expect(labelPairs(db, "rude")).toEqual({ alike: 3, n: 5 });
    expect(labelPairs(db, "overall")).toBeNull();
    expect(ids.map((id) => labelOf(id, "year"))).toEqual(["bad", "bad", "good", "good", "good", "bad"]);
    expect(ids.map((id) => labelOf(id, "rude"))).toEqual(["good", "good", "good", "bad", "good", "good"]);
    // Only the trace without a second label is unconfirmed.
    expect(unconfirmedTraces(db, "year").map(({ traceId }) => traceId)).toEqual(ids.slice(5));
    const { coded, nothingWrong, ungrouped, modes } = readTaxonomy(db, "run_a");
    expect({ coded, nothingWrong, ungrouped }).toEqual({
      coded: 6,
      nothingWrong: 2,
      ungrouped: [{ note: "hm", traces: 1 }],
    });
    expect(modes.find(({ name }) => name === "year")?.notes).toEqual([
      { note: "wrong year", traces: 4 },
      { note: "another year", traces: 1 },
    ]);
  });

  it("records which part of the labels of each kind a second look has replaced", () => {
    const idOf = (task: number) => `trace_run_a_${task}`;
    for (const task of [1, 2, 3, 4, 5]) for (const isRepeat of [false, true]) save(idOf(task), null, isRepeat);
    for (const task of [6, 7, 8, 9]) save(idOf(task), "late");
    changeModes(db, { action: "assign", mode: "slow", notes: ["late"] });
    expect(labelPairs(db, "slow")).toEqual({ alike: 5, n: 5 });
    for (const [task, label] of [
      [6, "bad"],
      [7, "good"],
    ] as const) {
      const again = { criterion: "slow", label, note: null, annotator: null, isRepeat: false };
      saveGivenLabel(db, { ...again, traceId: idOf(task), drawn: "random", drawnFrom: TRACES, probability: null });
    }
    expect(labelPairs(db, "slow")).toEqual({ alike: 5, n: 5, again: { good: 0, bad: 0.5 } });
  });

  it("does not estimate errors from fewer than five repeated traces", () => {
    for (let task = 1; task <= 5; task++) save(`trace_run_a_${task}`, "late");
    changeModes(db, { action: "assign", mode: "slow", notes: ["late"] });
    for (let task = 1; task <= 4; task++) save(`trace_run_a_${task}`, "late", true);
    expect(labelPairs(db, "slow")).toBeNull();
    expect(readTaxonomy(db, "run_a").modes[0]?.rate.value).toBe(1);
    save("trace_run_a_5", null, true);
    expect(labelPairs(db, "slow")).toEqual({ alike: 4, n: 5 });
    // Four of five alike: 11.3% of the labels are wrong, and (0.8 - 0.113) / (1 - 0.226) are bad.
    expect(readTaxonomy(db, "run_a").modes[0]?.rate.value).toBeCloseTo(0.887, 3);
  });

  it("keeps the order of both labels if only the first note changes its mode", () => {
    save("trace_run_a_1", "late");
    save("trace_run_a_1", null, true);
    changeModes(db, { action: "assign", mode: "slow", notes: ["late"] });
    changeModes(db, { action: "rename", mode: "slow", name: "tardy" });
    save("trace_run_a_1", "tardy too");
    changeModes(db, { action: "assign", mode: "tardy", notes: ["tardy too"] });
    expect(allLabels(db, "tardy")).toMatchObject([
      { label: "bad", note: "tardy too", isRepeat: false },
      { label: "good", note: null, isRepeat: true },
    ]);
    expect(labelOf("trace_run_a_1", "tardy")).toBe("good");
  });

  it("becomes saturated after 40 traces without a new mode, and no longer after another one", () => {
    for (let task = TRACES + 1; task <= 42; task++) saveTask(db, "run_a", task, 0.5);
    const said = () => taxonomyText(readTaxonomy(db, "run_a")).includes("The last 40 traces gave no new mode");
    save("trace_run_a_1", "late");
    for (let task = 2; task <= 40; task++) save(`trace_run_a_${task}`, task % 3 === 0 ? "late" : null);
    expect(said()).toBe(false);
    save("trace_run_a_41", null);
    expect(said()).toBe(true);
    save("trace_run_a_42", "rude");
    expect(said()).toBe(false);
  });

  it("deletes the second note before the first one", () => {
    save("trace_run_a_1", "late");
    save("trace_run_a_1", "rude", true);
    deleteNote(db, "trace_run_a_1");
    expect(listNotes(db)).toEqual([{ note: "late", traces: 1 }]);
    deleteNote(db, "trace_run_a_1");
    expect(listNotes(db)).toEqual([]);
    expect(() => save("trace_run_a_1", "rude", true)).toThrow("trace_run_a_1 does not have a first one");
  });
});
