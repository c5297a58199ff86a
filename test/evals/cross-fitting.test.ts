import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { BY_PERSON, BY_TEMPLATES, type EvalDraft } from "../../src/evals/definition.js";
import { FEATURES } from "../../src/evals/features.js";
import { saveLabels } from "../../src/evals/labels.js";
import { dealByHash } from "../../src/evals/split-questions.js";
import { latestTest, saveDraft } from "../../src/evals/store.js";
import { evalSuggester } from "../../src/evals/suggest.js";
import { TEMPLATES, templateEval } from "../../src/evals/templates.js";
import { testEval, testEvals } from "../../src/evals/test-eval.js";
import { watchEvals } from "../../src/evals/watch-evals.js";
import type { AppSettings } from "../../src/platform/app-context.js";
import { type Db, openStore } from "../../src/store/open-store.js";
import { trace } from "../scoring/trace.js";
import { saveRun } from "../traces/saved-runs.js";

const folder = mkdtempSync(join(tmpdir(), "art-e-cross-fitting-"));
afterAll(() => rmSync(folder, { recursive: true }));

const MODE = "uncited";

/** A label for a trace, and whether the trace's answer cites a source. */
interface Planted {
  readonly label: "good" | "bad";
  readonly cites: boolean;
  readonly source?: "person" | "judge";
}

const times = (count: number, one: Planted) => Array.from({ length: count }, () => one);

function openPlanted(name: string, planted: readonly Planted[]) {
  const path = join(folder, `${name}.db`);
  const db = openStore(path, { mustExist: false });
  addPlanted(db, planted);
  return { db, settings: { db: path, cacheDir: folder, agentStderr: null, env: {} } };
}

/** Saves traces of chats, each with a question of its own, and their labels. */
function addPlanted(db: Db, planted: readonly Planted[]): string[] {
  const before = db.prepare("SELECT count(*) FROM traces").pluck().get() as number;
  const add = db.prepare(
    "INSERT INTO traces (id, agent_id, session_id, started_at, ending, trace) VALUES (?, 'a', 's', '2026-01-01', 'answered', ?)",
  );
  return planted.map(({ label, cites, source = "person" }, i) => {
    const traceId = `t${String(before + i).padStart(3, "0")}`;
    const question = { question: `Question ${before + i}?`, answer: `Gold ${before + i}`, message_ids: [] };
    const sources = cites ? ["<gold@x>"] : [];
    add.run(traceId, JSON.stringify({ ...trace({ traceId, sources }, question), scores: {} }));
    giveLabel(db, traceId, label, source);
    return traceId;
  });
}

function giveLabel(
  db: Db,
  traceId: string,
  label: "good" | "bad",
  source: "person" | "judge" = "person",
  criterion = MODE,
): void {
  const given = { criterion, note: null, annotator: null, isRepeat: false, drawnFrom: null, probability: null };
  saveLabels(db, [{ ...given, traceId, label, source, drawn: "unknown", createdAt: new Date().toISOString() }]);
}

const contextOf = (settings: AppSettings) => ({
  settings,
  signal: new AbortController().signal,
  progress: () => ({ update() {}, stop() {} }),
});

const test = (name: string, { settings }: Pick<ReturnType<typeof openPlanted>, "settings">) =>
  testEval({ name, criterion: MODE, thresholds: "usable" }, contextOf(settings));

it("tests a template on all labels, and another eval with the same rule on the held-out half", async () => {
  const planted = [...times(11, { label: "bad", cites: false }), ...times(39, { label: "good", cites: true })];
  const { db, settings } = openPlanted("all", planted);
  const { good, bad, evals } = evalSuggester(db, 1)(MODE);
  expect([good, bad, evals.map(({ stored }) => stored.definition.name)]).toEqual([39, 11, ["has_source"]]);
  const chosen = await test("has_source", { settings });
  expect(chosen.test).toMatchObject({
    crossFitted: "both",
    rejections: [],
    agreement: { good: 39, bad: 11, confusion: { goodPassed: 39, goodFailed: 0, badPassed: 0, badFailed: 11 } },
  });
  const template = TEMPLATES.find(({ name }) => name === "has_source");
  if (template === undefined) throw new Error("unknown template");
  const rule = templateEval(template, 0, BY_TEMPLATES);
  for (const draft of [
    { ...rule, name: "by_hand", origin: BY_PERSON },
    { ...rule, name: "given" },
  ] satisfies EvalDraft[]) {
    saveDraft(db, draft, new Date().toISOString());
    const given = await test(draft.name, { settings });
    expect(given.test).not.toHaveProperty("crossFitted");
    expect([given.test.agreement.bad, given.test.agreement.good < 39]).toEqual([7, true]);
  }
  saveRun(db, "run_1");
  db.exec("DELETE FROM eval_labels");
  await expect(watchEvals({ names: ["by_hand@1"], run: "run_1" }, contextOf(settings))).rejects.toThrow(
    "Cannot watch by_hand@1: it failed on all anchors: no anchor is left.",
  );
  db.close();
});

it("counts as passing what is failed only by a choice that has seen it, and judges later traces by the eval", async () => {
  // Four bad traces without a source are the least for the choice, so without any part of them it is not chosen.
  const planted = [
    ...times(4, { label: "bad", cites: false }),
    ...times(4, { label: "bad", cites: true }),
    ...times(60, { label: "good", cites: true }),
  ];
  const { db, settings } = openPlanted("few", planted);
  const { evals } = evalSuggester(db, 1)(MODE);
  expect(evals.map(({ stored }) => stored.definition.name)).toEqual(["has_source"]);
  const first = await test("has_source", { settings });
  expect(first.test.agreement.confusion).toEqual({ goodPassed: 60, goodFailed: 0, badPassed: 8, badFailed: 0 });

  await new Promise((resolve) => setTimeout(resolve, 5));
  addPlanted(db, [...times(6, { label: "bad", cites: false }), ...times(2, { label: "good", cites: false })]);
  const later = await test("has_source", { settings });
  expect(later.test.agreement.confusion).toEqual({ goodPassed: 60, goodFailed: 2, badPassed: 8, badFailed: 6 });
  db.close();
});

it("chooses by the labels of a judge too, but measures people's labels only", async () => {
  const planted = [
    ...times(8, { label: "bad", cites: false }),
    ...times(4, { label: "bad", cites: false, source: "judge" }),
    ...times(30, { label: "good", cites: true }),
  ];
  const { db, settings } = openPlanted("judge", planted);
  expect(evalSuggester(db, 1)(MODE)).toMatchObject({ good: 30, bad: 12 });
  const { test: measured } = await test("has_source", { settings });
  expect(measured.agreement).toMatchObject({ good: 30, bad: 8, sources: { person: 38 } });
  db.close();
});

it("counts only the held-out half once labels of the training half have changed after the first eval", async () => {
  const planted = [
    ...times(14, { label: "bad", cites: false }),
    ...times(3, { label: "bad", cites: true }),
    ...times(40, { label: "good", cites: true }),
  ];
  const { db, settings } = openPlanted("corrected", planted);
  evalSuggester(db, 1)(MODE);
  const before = await test("has_source", { settings });
  expect(before.test).toMatchObject({ crossFitted: "both", agreement: { good: 40, bad: 17 } });
  const [id = ""] = db
    .prepare(
      `SELECT trace_id FROM eval_traces JOIN traces t ON t.id = trace_id
       WHERE half = 'training' AND trace LIKE '%"sources":["<gold@x>"]%' ORDER BY 1`,
    )
    .pluck()
    .all() as string[];
  await new Promise((resolve) => setTimeout(resolve, 5));
  const { label } = db.prepare("SELECT label FROM eval_labels WHERE trace_id = ?").get(id) as { label: "good" | "bad" };
  giveLabel(db, id, label);
  expect((await test("has_source", { settings })).test.crossFitted).toBe("both");
  giveLabel(db, id, label === "good" ? "bad" : "good");
  const heldOut = db.prepare("SELECT count(*) FROM eval_traces WHERE half = 'heldout'").pluck().get();
  const { stored, test: after } = await test("has_source", { settings });
  expect(after.crossFitted).toBe("heldout");
  expect(after.agreement.good + after.agreement.bad).toBe(heldOut);
  expect(after.warnings).toContain(
    "labels that are not held out for tests were changed after the first eval for this mode, so only the held-out ones count",
  );
  expect(latestTest(db, stored)?.isStale).toBe(false);
  db.close();
});

it("compares the eval as chosen with the labels of now, if some or all were reversed after the choice", async () => {
  const planted = [...times(14, { label: "bad", cites: false }), ...times(40, { label: "good", cites: true })];
  const { db, settings } = openPlanted("reversed", planted);
  evalSuggester(db, 1)(MODE);
  const reverse = async (half: string) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const labels = db
      .prepare("SELECT trace_id, label FROM eval_labels JOIN eval_traces USING (trace_id) WHERE half = ?")
      .raw()
      .all(half) as [string, "good" | "bad"][];
    for (const [id, label] of labels) giveLabel(db, id, label === "good" ? "bad" : "good");
    const counts = { good: 0, bad: 0 };
    for (const [, label] of labels) counts[label]++;
    return counts;
  };
  const heldOut = await reverse("heldout");
  const { test: some } = await test("has_source", { settings });
  expect(some.crossFitted).toBe("both");
  expect(some.agreement.confusion).toEqual({
    goodPassed: 40 - heldOut.good,
    goodFailed: heldOut.bad,
    badPassed: heldOut.good,
    badFailed: 14 - heldOut.bad,
  });
  await reverse("training");
  const { test: all } = await test("has_source", { settings });
  expect(all.crossFitted).toBe("heldout");
  expect(all.agreement.confusion).toEqual({
    goodPassed: 0,
    goodFailed: heldOut.bad,
    badPassed: heldOut.good,
    badFailed: 0,
  });
  db.close();
});

it("measures each trace once for all templates and modes", async () => {
  const planted = [...times(14, { label: "bad", cites: false }), ...times(40, { label: "good", cites: true })];
  const { db, settings } = openPlanted("once", planted);
  const labels = db.prepare("SELECT trace_id AS traceId, label FROM eval_labels").all() as {
    traceId: string;
    label: "good" | "bad";
  }[];
  for (const { traceId, label } of labels) giveLabel(db, traceId, label, "person", "other");
  const { sources } = FEATURES;
  if (sources === undefined) throw new Error("unknown feature");
  const measure = vi.spyOn(sources, "of");
  const suggest = evalSuggester(db, 1);
  expect([MODE, "other"].map((mode) => suggest(mode).evals.length)).toEqual([1, 1]);
  expect(measure).toHaveBeenCalledTimes(54);
  const tests = await testEvals({ names: [], thresholds: "usable" }, contextOf(settings));
  expect(tests.map(({ criterion, test: one }) => [criterion, one?.agreement.bad])).toEqual([
    ["other", 14],
    [MODE, 14],
  ]);
  expect(measure).toHaveBeenCalledTimes(2 * 54);
  measure.mockRestore();
  db.close();
});

it("becomes stale after any label by a person has changed, or another was added and used", async () => {
  const planted = [...times(11, { label: "bad", cites: false }), ...times(39, { label: "good", cites: true })];
  const { db, settings } = openPlanted("stale", planted);
  evalSuggester(db, 1)(MODE);
  for (const half of ["training", "heldout"]) {
    const { stored } = await test("has_source", { settings });
    expect(latestTest(db, stored)?.isStale).toBe(false);
    const [id] = db.prepare("SELECT trace_id FROM eval_traces WHERE half = ? ORDER BY 1").pluck().all(half);
    db.prepare("UPDATE eval_labels SET label = iif(label = 'good', 'bad', 'good') WHERE trace_id = ?").run(id);
    expect(latestTest(db, stored)?.isStale).toBe(true);
  }
  db.close();
});

it("requires seven labels of each kind for templates", async () => {
  const planted = [...times(6, { label: "bad", cites: false }), ...times(39, { label: "good", cites: true })];
  const { db } = openPlanted("short", planted);
  expect(() => evalSuggester(db, 1)(MODE)).toThrow(
    `Too few labels to choose and test evals: 39 good and 6 bad traces for ${MODE} (minimum 7 of each).`,
  );
  db.close();
});

it("deals as many questions of a kind to each part as possible, in another order for each seed", () => {
  const questions = Array.from({ length: 57 }, (_, i) => `q${i}`);
  const isOfKind = (question: string) => Number(question.slice(1)) < 13;
  const parts = dealByHash([...questions, ...questions], isOfKind, 5, 1);
  expect(parts.size).toBe(57);
  const sizes = (some: string[]) => [0, 1, 2, 3, 4].map((part) => some.filter((one) => parts.get(one) === part).length);
  expect(sizes(questions.filter(isOfKind))).toEqual([3, 3, 3, 2, 2]);
  expect(sizes(questions)).toEqual([12, 12, 11, 11, 11]);
  expect(dealByHash(questions, isOfKind, 5, 2)).not.toEqual(parts);
});
