import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BandArtifacts, makeBandArtifacts } from "../../src/evals/band-artifacts.js";
import { missingFrom } from "../../src/evals/band-rules.js";
import { saveLabels } from "../../src/evals/labels.js";
import type { AppSettings } from "../../src/platform/app-context.js";
import type { Question } from "../../src/tasks/question.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { called } from "../scoring/trace.js";
import { finished, saveRun, saveTask } from "../traces/saved-runs.js";

const [search, open] = [called("email_search", {}), called("email_get", {})];

/** The word overlap, the trace and the question of each task. The other gold answers are "$40". */
const TASKS: readonly (readonly [number | null, Partial<QuestionTrace>, Partial<Question>?])[] = [
  [
    0.9,
    { sources: ["<gold@x>"], answer: "The dues are $40, said Ann.", toolCalls: [open, search, search] },
    { answer: "Dues of $40, says Bob" },
  ],
  [0.85, { answer: "Nothing", toolCalls: [search] }],
  [0.6, { sources: ["<gold@x>"], answer: "$40" }, { answer: "$40 dues" }],
  [0.7, { answer: "$40" }],
  [0.654321, { answer: "It is $41" }],
  [0.1, { answer: "None" }],
  [0.2, { answer: "$40", sources: ["<a@x>"] }, { answer: "" }],
  [null, {}],
];

it("missingFrom names each broken rule, with up to three gold emails", () => {
  const message_ids = ["<1@x>", "<2@x>", "<3@x>", "<4@x>"];
  const { trace } = finished("run_a", 1, 0.5);
  const answered = { ...trace, task: { ...trace.task, answer: "Dues of $40, says Bob", message_ids } };
  expect(missingFrom(answered)).toEqual([
    "not met: A tool returned a gold email (gold: <1@x>, <2@x>, <3@x>)",
    "not met: The agent opened a gold email (gold: <1@x>, <2@x>, <3@x>)",
    "not met: The answer cites a gold email (gold: <1@x>, <2@x>, <3@x>)",
    "not met: The answer contains the key words of the gold answer (missing: dues, bob)",
    "not met: The answer contains at least half of the gold answer's key terms (1 of 3 key terms)",
    "not met: The answer cites a source",
  ]);
});

describe("makeBandArtifacts", () => {
  let empty: TestDb;
  let made: BandArtifacts;
  const make = (by: string | null, criterion = "overall", run = "run_a") =>
    makeBandArtifacts({ run, by, criterion }, { db: empty.db.name } as AppSettings);
  const label = (trace: string, given: "good" | "bad" | "neutral" | "skip", note: string | null = null) => ({
    ...{ traceId: `trace_run_${trace}`, label: given, note, criterion: "price", source: "person" as const },
    ...{ drawn: "all" as const, drawnFrom: null, probability: null, annotator: null, isRepeat: false, createdAt: "" },
  });
  beforeAll(async () => {
    empty = openEmpty();
    saveRun(empty.db, "run_a");
    const write = openRowWriter(empty.db);
    for (const [i, [score, changes, task]] of TASKS.entries()) {
      const { trace, result } = finished("run_a", i + 1, score);
      const changed = { ...trace, ...changes, task: { ...trace.task, ...task } };
      const scores = { semanticScore: score, goldRank: 1 };
      write(toResultRow(changed, { ...result, scores, sources: changed.sources }));
    }
    made = await make("semanticScore");
  });
  afterAll(() => empty.close());

  it("sorts traces into bands by the score", () => {
    expect(made.counts).toEqual({ high: 2, medium: 3, low: 2, unscored: 1 });
    expect([made.scorer, made.labeled, made.low.unexplained]).toEqual(["semanticScore", 0, 1]);
  });

  it("lists broken rules, and the rules that at least half of a band's traces meet, the most frequent first", () => {
    const rows = (rules: BandArtifacts["high"]["patterns"]) =>
      rules.map(({ name, traces, applies, examples }) => `${name} ${traces}/${applies} ${examples.length}`);
    expect(rows(made.high.patterns)).toEqual([
      ...["own_mailbox 2/2 2", "comes_to_an_end 2/2 2", "abstains_after_reading 2/2 2", "calls_parsable 2/2 2"],
      ...["gold_cited 1/2 1", "gold_numbers 1/2 1", "half_of_terms 1/1 1", "has_source 1/2 1"],
      ...["number_where_asked 1/2 1", "no_repeated_call 1/2 1"],
    ]);
    expect(rows(made.medium.partialSuccesses)).toEqual([
      ...["comes_to_an_end 3/3 3", "number_where_asked 3/3 3", "gold_numbers 2/3 2", "half_of_terms 1/1 1"],
    ]);
    expect(rows(made.low.failureModes)).toEqual([
      ...["gold_found 1/1 1", "gold_opened 1/1 1", "gold_cited 1/1 1", "gold_numbers 1/1 1", "has_source 1/2 1"],
      "number_where_asked 1/2 1",
    ]);
    expect(made.high.tools).toEqual([
      { tool: "email_search", traces: 2 },
      { tool: "email_get", traces: 1 },
    ]);
    // High traces break both as often.
    expect(made.low.targeted).toEqual([]);
  });

  it("gives the score with three decimals as the reason for a band, and what each medium trace lacks", () => {
    const [NO_TOOL, NOT_OPENED] = ["A tool returned", "The agent opened"].map(
      (fact) => `not met: ${fact} a gold email (gold: <gold@x>)`,
    );
    const UNCITED = ["not met: The answer cites a gold email (gold: <gold@x>)", "not met: The answer cites a source"];
    const [words = "", numbers = ""] = ["key words", "numbers and dates"].map(
      (terms) => `not met: The answer contains the ${terms} of the gold answer`,
    );
    expect(made.medium.opportunities.map(({ task, basis, missing }) => [task, basis, ...missing])).toEqual([
      [3, "semanticScore 0.6", NO_TOOL, NOT_OPENED, `${words} (missing: dues)`],
      [4, "semanticScore 0.7", NO_TOOL, NOT_OPENED, ...UNCITED],
      [5, "semanticScore 0.654", NO_TOOL, NOT_OPENED, UNCITED[0], `${numbers} (missing: $40)`, UNCITED[1]],
    ]);
  });

  it("makes a case per task from the terms of its gold answer, or says why not", () => {
    const rows = [...made.high.regression, ...made.medium.edge, ...made.low.bugs].map(
      ({ task, must_contain, must_cite, from }) => [task, must_contain, must_cite, from?.missing],
    );
    expect(rows).toEqual([
      [1, ["$40", "dues"], ["<gold@x>"], []],
      [3, ["$40", "dues"], [], ["dues"]],
      [5, ["$40"], [], ["$40"]],
      [6, ["$40"], [], ["$40"]],
    ]);
    expect(made.withoutCase).toEqual({
      "nothing in common with the gold answer": 1,
      "the answer contains all key terms": 1,
      "no gold answer": 1,
    });
    expect(made.high.positive.map(({ trace }) => trace)).toEqual(["trace_run_a_1"]);
    const names = made.evals.map(({ stored: { definition } }) => definition.name);
    expect(names).toEqual(["regression_cases", "edge_cases", "bug_reproductions"]);
  });

  it("lets labels decide the band before the score, and makes only one case per task and band", async () => {
    const again = finished("run_a", 3, 0.55, "trace_again");
    openRowWriter(empty.db)(toResultRow({ ...again.trace, epoch: 2, answer: "$4" }, { ...again.result, epoch: 2 }));
    saveLabels(empty.db, [
      ...[label("a_1", "bad", "wrong name"), label("a_2", "bad"), label("a_5", "skip")],
      ...[label("a_6", "good"), label("a_8", "neutral")],
    ]);
    const { counts, labeled, high, medium, low, withoutCase, evals } = await make(null, "price");
    expect([labeled, low.unexplained, counts]).toEqual([4, 1, { high: 1, medium: 4, low: 3, unscored: 1 }]);
    expect(medium.opportunities.map(({ task, basis }) => [task, basis])).toEqual([
      ...[
        [3, "semanticScore 0.6"],
        [3, "semanticScore 0.55"],
        [4, "semanticScore 0.7"],
      ],
      [8, "labeled neutral (person)"],
    ]);
    const cases = [...high.regression, ...medium.edge, ...low.bugs];
    expect(cases.map(({ task, from }) => [task, from?.basis])).toEqual([
      [3, "semanticScore 0.6"],
      [1, "labeled bad (person): wrong name"],
      [2, "labeled bad (person)"],
    ]);
    expect(withoutCase).toEqual({
      "nothing in common with the gold answer": 1,
      "the answer contains all key terms": 2,
      "the task already has a case": 1,
      "no gold answer": 1,
    });
    const targeted = [
      "numbers_from_mail",
      "numbers_from_tools",
      "sources_exist",
      "sources_were_read",
      "no_repeated_call",
    ];
    expect(low.targeted).toEqual(targeted);
    expect(evals.map(({ stored: { definition } }) => [definition.name, definition.reference])).toEqual([
      ...[["edge_cases", true], ["bug_reproductions", true], ...targeted.map((name) => [name, false])],
    ]);
  });

  it("rejects a run whose traces have neither labels nor scores", async () => {
    saveRun(empty.db, "run_b");
    saveTask(empty.db, "run_b", 1, null);
    await expect(make(null, "price", "run_b")).rejects.toThrow("none of its traces has a label or a headline score");
    saveLabels(empty.db, [label("b_1", "bad")]);
    const { scorer, counts } = await make(null, "price", "run_b");
    expect([scorer, counts]).toEqual([null, { high: 0, medium: 0, low: 1, unscored: 0 }]);
  });

  it("rejects a score that is better if it is lower", async () => {
    await expect(make("goldRank")).rejects.toThrow(
      "--by: expected a score for which higher is better, but for goldRank",
    );
  });
});
