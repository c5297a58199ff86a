import { describe, expect, it, test } from "vitest";
import { MicroSelection } from "../../src/analysis/score-aggregate.js";
import { SCORER_NAMES, scoreTrace } from "../../src/scoring/scorers.js";
import { matchSelection } from "../../src/scoring/selection-match.js";
import { type Selection, selectionSchema } from "../../src/tasks/selection.js";
import { itself, trace } from "./trace.js";

const ONE_DAY = { kind: "needs-reply", from: "2001-05-08", reply_days: 7 };

/** A selection of these emails. Each has a copy and one later email. */
const wanted = (...names: string[]): Selection =>
  selectionSchema.parse({
    ...ONE_DAY,
    emails: names.map((name) => ({
      message_ids: [`<${name}@x>`, `<${name}-copy@x>`],
      evidence: [`<${name}-reply@x>`],
    })),
  });

function scoresOf(select: Selection, sources: string[], answer: string | null = "These.") {
  const scores = scoreTrace(trace({ answer, sources }, { select }), itself, SCORER_NAMES);
  return Object.fromEntries(Object.entries(scores).map(([name, { value }]) => [name, value]));
}

describe("the scores of a task that asks for emails", () => {
  type Values = readonly [f1: number, precision: number | null, recall: number | null, averagePrecision: number];
  test.each<[string, Selection, string[], Values]>([
    ["all", wanted("a", "b"), ["<a@x>", "<b@x>"], [1, 1, 1, 1]],
    ["one of two", wanted("a", "b"), ["<b@x>"], [2 / 3, 1, 1 / 2, 1 / 2]],
    ["the only one second", wanted("a"), ["<z@x>", "<a@x>"], [2 / 3, 1 / 2, 1, 1 / 2]],
    ["two around a wrong one", wanted("a", "b"), ["<a@x>", "<z@x>", "<b@x>"], [4 / 5, 2 / 3, 1, (1 + 2 / 3) / 2]],
    ["only wrong ones", wanted("a"), ["<y@x>", "<z@x>"], [0, 0, 0, 0]],
    ["none of one", wanted("a"), [], [0, null, 0, 0]],
    ["none where none is right", wanted(), [], [1, null, null, 1]],
    ["one where none is right", wanted(), ["<z@x>"], [0, 0, null, 0]],
    ["an email and its copy", wanted("a"), ["<a-copy@x>", "<a@x>"], [1, 1, 1, 1]],
  ])("scores an agent that selects %s", (_, select, sources, [f1, precision, recall, average]) => {
    const expected = { selectionF1: f1, selectionPrecision: precision, selectionRecall: recall };
    expect(scoresOf(select, sources)).toEqual({ ...expected, averagePrecision: average });
  });

  it("gives 0 to an agent without an answer, even if no email is right", () => {
    expect(scoresOf(wanted(), [], null)).toMatchObject({ selectionF1: 0, averagePrecision: 0 });
  });

  it("apply to no other task", () => {
    expect(Object.keys(scoreTrace(trace(), itself, SCORER_NAMES))).not.toContain("selectionF1");
  });
});

describe("matchSelection", () => {
  it("lists the emails in the agent's order, then the missed ones, with their evidence", () => {
    expect(matchSelection(wanted("a", "b", "c"), ["<z@x>", "<c@x>", "<a-copy@x>"], itself)).toEqual([
      { state: "false alarm", message_id: "<z@x>", evidence: [] },
      { state: "hit", message_id: "<c@x>", evidence: ["<c-reply@x>"] },
      { state: "hit", message_id: "<a-copy@x>", evidence: ["<a-reply@x>"] },
      { state: "miss", message_id: "<b@x>", evidence: ["<b-reply@x>"] },
    ]);
  });

  it("counts two Message-IDs of one wrong email once", () => {
    const sameMail = (id: string) => id.replace("-other", "");
    expect(matchSelection(wanted(), ["<z-other@x>", "<z@x>"], sameMail)).toHaveLength(1);
  });
});

describe("MicroSelection", () => {
  it("adds up the emails of all tasks before it divides", () => {
    const micro = new MicroSelection();
    micro.add({ inbox: "a@x", selection: { hits: 1, misses: 0, falseAlarms: 0 } });
    micro.add({ inbox: "a@x", selection: { hits: 2, misses: 3, falseAlarms: 5 } });
    micro.add({ inbox: "b@x", selection: { hits: 0, misses: 1, falseAlarms: 2 } });
    micro.add({ inbox: "b@x" });
    const { selectionF1, selectionPrecision, selectionRecall } = micro.figures();
    expect(selectionF1).toMatchObject({ value: 6 / 17, n: 17 });
    expect(selectionPrecision).toMatchObject({ value: 3 / 10, n: 10 });
    expect(selectionRecall).toMatchObject({ value: 3 / 7, n: 7 });
  });

  it("has no figures without a selection", () => {
    expect(new MicroSelection().figures()).toEqual({});
  });
});

describe("selectionSchema", () => {
  const email = { message_ids: ["<a@x>"], evidence: ["<b@x>"] };
  test.each<[string, object, string]>([
    ["an email listed twice", { emails: [email, { ...email, evidence: ["<c@x>"] }] }, "lists <a@x> twice"],
    [
      "an email that is evidence too",
      { emails: [email, { message_ids: ["<b@x>"], evidence: ["<c@x>"] }] },
      "<b@x> cannot be both a right email and later evidence",
    ],
    ["an email without evidence", { emails: [{ ...email, evidence: [] }] }, "Too small"],
    ["an unknown kind", { kind: "urgent", emails: [] }, "Invalid option"],
    ["a day that does not exist", { from: "2001-02-31", emails: [] }, "is not a calendar date"],
  ])("rejects %s", (_, fields, message) => {
    const parsed = selectionSchema.safeParse({ ...ONE_DAY, ...fields });
    expect(parsed.error?.issues.map((issue) => issue.message).join()).toContain(message);
  });
});
