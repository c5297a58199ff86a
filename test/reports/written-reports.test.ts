import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failUnder, RunEvidence } from "../../src/analysis/gate.js";
import type { RunHead } from "../../src/analysis/paired-comparison.js";
import { csvHead, csvLine } from "../../src/reports/csv-report.js";
import { junit } from "../../src/reports/junit-report.js";
import { markdownReport, stepSummary } from "../../src/reports/markdown-report.js";
import type { ReportHead, ScoreMeaning } from "../../src/reports/report-data.js";
import { RunTally } from "../../src/reports/report-figures.js";
import { resultsFile } from "../../src/results/results-file.js";
import type { BenchmarkResult } from "../../src/traces/run-totals.js";
import { type TaskResult, toTaskResult } from "../../src/traces/task-result.js";
import { head, task } from "../analysis/runs.js";
import { ANSWERED, FAILED } from "../trace-formats/traces.js";
import { finished } from "../traces/saved-runs.js";
import { suiteTrace } from "./suite-run.js";

describe("a CSV report", () => {
  const MEANINGS: ScoreMeaning[] = [
    { name: "semanticScore", label: "Word overlap", kind: "mean", better: "higher", meaning: "" },
  ];

  const RUN = { runId: "run_1", agentId: "email-search", model: "acme/best", name: "nightly" };

  function rowOf(changes: Partial<TaskResult>): Record<string, string> {
    const { result } = finished("run_1", 1, 0.5);
    const text = csvHead(MEANINGS) + csvLine({ run: RUN, result: { ...result, ...changes } }, MEANINGS);
    const [row] = parse(text, { columns: true, bom: true, record_delimiter: "\r\n" }) as Record<string, string>[];
    if (row === undefined) throw new Error("there is no row");
    return row;
  }

  it("contains no NUL, which would end a cell in pandas", () => {
    expect(rowOf({ agentAnswer: "the\0 rest" })).toMatchObject({ agentAnswer: "the\ufffd rest" });
  });

  it("contains one column per field and score, and empty cells for missing values", () => {
    const row = rowOf({ scores: { semanticScore: 0.5 }, costUsd: null });
    expect(row).toMatchObject({
      runId: "run_1",
      model: "acme/best",
      runName: "nightly",
      taskId: "1",
      semanticScore: "0.5",
      costUsd: "",
    });
  });

  it("preserves commas, quotes, line ends and other scripts", () => {
    const agentAnswer = 'He said "no, never",\r\nthen left.\n\tשלום 日本';
    expect(rowOf({ agentAnswer }).agentAnswer).toBe(agentAnswer);
  });

  it.each(["=1+1", "+49 30", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", '  =HYPERLINK("x")', "＝1"])(
    "prevents a spreadsheet from computing %j",
    (agentAnswer) => expect(rowOf({ agentAnswer }).agentAnswer).toBe(`'${agentAnswer}`),
  );

  it("does not change numbers, including negative ones", () => {
    expect(rowOf({ scores: { semanticScore: -1.8 } }).semanticScore).toBe("-1.8");
  });
});

const EXACT_MATCH = { scorer: "exactMatch", better: "higher" } as const;

const xml = (...results: TaskResult[]) => [...junit(head(), EXACT_MATCH, [], () => results, true)].join("");

/** Gates on half of the answers: one passes, the other does not. */
function twoGates(run: RunHead, results: readonly TaskResult[]) {
  const evidence = RunEvidence.of(run, results);
  const rules = { evidence, failedTasks: "exclude", least: 0 } as const;
  return [0.4, 0.6].map((limit) => failUnder({ metric: "exactMatch", scorer: "exactMatch", limit }, run, rules));
}

const HALF_RIGHT = head({ scores: { exactMatch: { ...head().scores.exactMatch, value: 0.5, n: 2 } } as never });

const FOUR = [
  task(1, { exactMatch: 1 }, { question: "Who?", executionTimeMs: 1_500, inbox: "ann@x.example" }),
  task(2, { exactMatch: 0 }, { question: "When?", agentAnswer: "May", groundTruth: "June", epoch: 2 }),
  task(3, {}, { question: "Why?", ending: "timeout", error: "600 s are over" }),
  task(4, { exactMatch: null }, { question: "How?" }),
];

describe("a JUnit XML report", () => {
  it("contains one test case per task, on request a failure if wrong, an error if failed, and skipped if the score is missing", () => {
    const text = xml(...FOUR);
    expect(text).toMatch(
      /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites name="art-e" tests="4" failures="1" errors="1" skipped="1" time="1\.538">/,
    );
    expect(text).toContain('<testsuite name="art-e (acme/best), exactMatch" id="run_a" tests="4"');
    expect(text).toContain('<testcase classname="ann@x.example" name="1 Who?" time="1.500"/>');
    expect(text).toMatch(
      /name="2\/2 When\?".+>\n +<failure type="exactMatch" message="exactMatch 0">[^<]+Answer: {3}May\nGold: {5}June\n/,
    );
    expect(text).toMatch(/name="3 Why\?".+>\n +<error type="timeout" message="600 s are over">/);
    expect(text).toMatch(/name="4 How\?".+>\n +<skipped message="no exactMatch"\/>/);
  });

  it("contains an empty suite if the run is empty", () => expect(xml()).toContain('tests="0" failures="0"'));

  it("treats 1 as wrong if lower is better", () => {
    const score = { ...EXACT_MATCH, better: "lower" } as const;
    const text = [...junit(head(), score, [], () => FOUR.slice(0, 2), true)].join("");
    expect(text).toMatch(/name="1 Who\?".+>\n +<failure/);
  });

  it("passes a gold rank of 1, the best value of its scale", () => {
    const score = { scorer: "goldRank", better: "lower", scale: { min: 1 } } as const;
    const tasks = [task(1, { goldRank: 1 }), task(2, { goldRank: 2 })];
    expect([...junit(head(), score, [], () => tasks, true)].join("")).toContain('tests="2" failures="1"');
  });

  it("contains one test case per gate, and only missed gates are failures by default", () => {
    const text = [...junit(head(), EXACT_MATCH, twoGates(HALF_RIGHT, FOUR), () => FOUR, false)].join("");
    expect(text).toContain('<testsuites name="art-e" tests="6" failures="1" errors="0" skipped="3"');
    expect(text).toContain('<skipped message="wrong: exactMatch 0">');
    expect(text).toContain('<skipped message="failed (timeout): 600 s are over">');
    expect(text).toMatch(/<testcase classname="gates" name="exactMatch" time="0\.000"\/>/);
    expect(text).toMatch(/<failure type="gate" message="missed {2}exactMatch .+"\/>/);
    checkWellFormed(text);
  });

  it("groups suite tasks by suite and folder", () => {
    const { suite } = toTaskResult(suiteTrace(1));
    expect(xml(task(1, { exactMatch: 1 }, { inbox: "", suite: suite as never }))).toContain(
      `classname="${suite?.name}/${suite?.tool}"`,
    );
  });

  const hostile =
    "a\u0000b\u0008\u001b[31m ]]> </failure><x y=\"1\" z='2'/> &amp; &#0; <!-- \ud800 \uffff \u202e\r\nend";

  it("stays well formed, whatever an email or answer contains", () => {
    const text = xml(task(1, { exactMatch: 0 }, { question: hostile, agentAnswer: hostile, groundTruth: hostile }));
    expect(text).not.toMatch(/<x |<!--|\]\]>/);
    expect(text).toContain("&lt;/failure&gt;&lt;x y=&quot;1&quot;");
    checkWellFormed(text);
  });

  it("stays well formed for any text", () => {
    const anything = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(anything, anything, anything, (question, answer, error) => {
        checkWellFormed(xml(task(1, { exactMatch: 0 }, { question, agentAnswer: answer, inbox: error })));
        checkWellFormed(xml(task(1, {}, { question, ending: "model_error", error })));
      }),
    );
  });
});

/**
 * Checks XML 1.0: only its characters, no bare & or <, every element closed in order, attributes without line breaks.
 */
function checkWellFormed(text: string): void {
  expect(text.isWellFormed()).toBe(true);
  expect(text.match(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u)).toBeNull();
  expect(text.replaceAll(/&(amp|lt|gt|quot|#\d+);/g, "").includes("&")).toBe(false);
  const open: string[] = [];
  const rest = text.replace(/<(\?xml[^<>]*\?|\/?[a-z]+(?: [a-z]+="[^"<>\n\t]*")*\/?)>/g, (_, tag: string) => {
    const name = tag.match(/[a-z]+/)?.[0] ?? "";
    if (tag.startsWith("/")) expect(open.pop()).toBe(name);
    else if (!tag.startsWith("?") && !tag.endsWith("/")) open.push(name);
    return "";
  });
  expect(open).toEqual([]);
  expect(rest).not.toMatch(/[<>]/);
}

describe("a Markdown report", () => {
  const HOSTILE = "a|b\n<img src=x> [x](https://evil.example) @everyone **bold** `code` #1 \u202e";

  function head(label: string): ReportHead {
    const scores = [
      { name: "semanticScore", label: "Word overlap", kind: "mean", better: "higher", meaning: "" },
    ] as const;
    const tally = new RunTally(scores, "semanticScore");
    const { result } = finished("run_1", 1, null);
    tally.add({ ...result, error: HOSTILE }, FAILED);
    const run = {
      ...tally.figures(),
      runId: "run_1",
      label,
      agentId: "a",
      perturbation: null,
      model: "m",
      answeredBy: [],
      split: "test",
      status: "completed",
      hasConversations: true,
      startedAt: "2026-01-01T00:00:00Z",
      dataset: "q",
      corpusFingerprint: "f",
      changes: [],
      until: null,
      plannedTasks: 1,
      costUsd: null,
      judgeCostUsd: 0,
      totalCostUsd: null,
      retries: 0,
      tokens: { input: 0, cached: 0, output: 0 },
      name: null,
      scores: {
        semanticScore: {
          value: null,
          n: 0,
          low: null,
          high: null,
          overAll: { value: null, n: 0, low: null, high: null },
        },
      },
      slices: {},
      suite: null,
    };
    return {
      version: "1",
      createdAt: "",
      scores,
      leading: "semanticScore",
      runs: [run],
      evals: [],
      comparisons: [],
      reliability: [],
      traces: { kind: "none" },
    };
  }

  it("shows untrusted text as text, without markup, links or mentions, on one line per cell", () => {
    const text = markdownReport(head(HOSTILE));
    expect(text).not.toMatch(/<img|\]\(|@everyone|\*\*|https:\/\/|\u202e|`code`/);
    for (const line of text.split("\n").filter((each) => each.startsWith("| 1 |")))
      expect(line.split("|")).toHaveLength(4);
    expect(text).toContain("| 1 | a&#124;b &#60;img src=x&#62; &#91;x&#93;(https&#58;//evil.example) &#64;everyone ");
  });

  it("shows dashes for missing values", () => {
    const text = markdownReport(head("plain_name"));
    expect(text).toContain("## ART-E: plain_name\n");
    expect(text).toContain("| Word overlap | - |");
    expect(text).toContain("| Tasks | 1, 1 failed |");
    expect(text).not.toContain("NaN");
  });
});

describe("a step summary", () => {
  it("contains the figures with intervals, the gates, and the wrong tasks", () => {
    const run = head();
    const results = [
      task(1, { exactMatch: 1 }),
      task(2, { exactMatch: 0 }, { question: "When", agentAnswer: "May", groundTruth: "June" }),
      task(3, {}, { question: "Why", ending: "timeout", error: "over", groundTruth: "So" }),
    ];
    const text = stepSummary(run, twoGates(run, results), EXACT_MATCH, results);
    expect(text).toContain("### ART-E: art-e &#40;acme&#47;best&#41;");
    expect(text).toContain("| Exact match | 0.500 | 0.200 to 0.800 | 10 |");
    expect(text).toMatch(/- :white_check_mark: passed exactMatch/);
    expect(text).toMatch(/- :x: missed exactMatch/);
    expect(text).toContain("<details><summary>2 wrong or failed by exactMatch</summary>");
    expect(text).toContain("| 2 | When | May | June |");
    expect(text).toContain("| 3 | Why | timeout&#58; over | So |");
  });

  it("shows only twenty tasks if there are many, and their total number", () => {
    const wrong = Array.from({ length: 3_000 }, (_, i) => task(i, { exactMatch: 0 }, { question: "x".repeat(9_000) }));
    const text = stepSummary(head(), [], EXACT_MATCH, wrong);
    expect(text).toContain("3,000 wrong or failed by exactMatch, the first 20<");
    expect(text.length).toBeLessThan(100_000);
  });

  it("shows the contents of an email or answer as text", () => {
    const hostile =
      "a | b\n<script>alert(1)</script> [x](javascript:1) ![i](//e) `c` **d** @org #1 www.evil.example \u202e\u001b[2J";
    const results = [task(1, { exactMatch: 0 }, { question: hostile, agentAnswer: hostile, groundTruth: "`" })];
    const text = stepSummary(head({ model: hostile }), [], EXACT_MATCH, results);
    const [row = ""] = text.match(/^\| 1 \|.*$/m) ?? [];
    expect(row.match(/\|/g)).toHaveLength(5);
    expect(row.replaceAll(/&#\d+;/g, "")).not.toMatch(/[<>[\]()`*!@#:./\\_~]/);
    for (const raw of ["<script", "javascript:", "\u202e", "\u001b"]) expect(text).not.toContain(raw);
  });
});

describe("a results file", () => {
  const task = (taskId: number): TaskResult => ({
    taskId,
    epoch: 1,
    inbox: "ann@x.example",
    queryDate: "2001-05-05",
    howRealistic: 0.8,
    goldSources: 1,
    question: 'Who said "yes"?\n',
    groundTruth: "Kim }",
    agentAnswer: "]}\u2028",
    exactMatch: false,
    semanticScore: 0.5,
    executionTimeMs: 12,
    modelTimeMs: 11,
    toolTimeMs: 1,
    waitingTimeMs: 0,
    traceId: `trace_${taskId}`,
    ending: "answered",
    turns: 3,
    usage: { inputTokens: 1, outputTokens: 2, cachedInputTokens: 0 },
    costUsd: null,
    judgeCostUsd: 0,
    sources: ["<1@x>"],
    sourcesCorrect: true,
    foundGold: true,
    readGold: null,
    retries: 0,
    cachedReplies: 0,
    spent: { usage: { inputTokens: 1, outputTokens: 2, cachedInputTokens: 0 }, costUsd: null },
    scores: {},
  });

  const { taskResults: _, ...HEAD } = {
    runId: "run_1",
    totalTasks: 2,
    settings: { prompt: "Find {{x}}.\n}" },
    versions: {},
    taskResults: [],
  } as unknown as BenchmarkResult;

  it.each([0, 1, 3])("consists of pieces that form the complete JSON for %d tasks", (tasks) => {
    const taskResults = Array.from({ length: tasks }, (_, i) => task(i + 1));
    const text = [...resultsFile(HEAD, taskResults)].join("");
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify({ ...HEAD, taskResults })));
    expect(Object.keys(JSON.parse(text)).at(-1)).toBe("taskResults");
    expect(text.endsWith("}\n")).toBe(true);
  });

  it("contains one line per task, and reads each task only when needed", () => {
    let asked = 0;
    function* tasks() {
      for (const id of [1, 2]) {
        asked++;
        yield task(id);
      }
    }
    const pieces = resultsFile(HEAD, tasks());
    pieces.next();
    expect(asked).toBe(0);
    expect(String(pieces.next().value).trim()).toBe(JSON.stringify(task(1)));
    expect(asked).toBe(1);
  });
});

describe("a run's figures", () => {
  const MEANINGS: ScoreMeaning[] = [
    { name: "semanticScore", label: "Word overlap", kind: "mean", better: "higher", meaning: "" },
    { name: "readGold", label: "Gold mail read", kind: "rate", better: "higher", meaning: "" },
  ];

  function task(id: number, score: number, changes: Partial<TaskResult> = {}): TaskResult {
    const scores = { semanticScore: score, readGold: changes.readGold === false ? 0 : 1 };
    return { ...finished("run_1", id, score).result, foundGold: true, readGold: true, scores, ...changes };
  }

  function tallied() {
    const tally = new RunTally(MEANINGS, "semanticScore");
    tally.add(task(1, 1, { modelTimeMs: 10, toolTimeMs: 0, inbox: "b@x" }), ANSWERED);
    tally.add(
      task(2, 0.6, { modelTimeMs: 15, toolTimeMs: 5, inbox: "a@x", readGold: false, howRealistic: 0.699999988 }),
      ANSWERED,
    );
    tally.add(
      task(3, 0.2, { modelTimeMs: 60, toolTimeMs: 0, inbox: "a@x", foundGold: false, readGold: false, turns: 3 }),
      ANSWERED,
    );
    const failed = { ending: "model_error", error: "503 no", scores: {} } as const;
    tally.add(task(4, 0, { ...failed, modelTimeMs: 9_000 }), FAILED);
    return tally.figures();
  }

  it("cover the completed tasks", () => {
    const { tasks, completed, failed, latency } = tallied();
    expect({ tasks, completed, failed }).toEqual({ tasks: 4, completed: 3, failed: 1 });
    expect(latency).toEqual({ mean: 30, p50: 20, p95: 60, waiting: 0 });
  });

  it("contain the progress of each task and the score of its answer", () => {
    const { profile, endings, errors } = tallied();
    expect(profile).toEqual([
      { stage: "read", outcome: "high", tasks: 1 },
      { stage: "found", outcome: "medium", tasks: 1 },
      { stage: "missed", outcome: "low", tasks: 1 },
      { stage: "failed", outcome: "failed", tasks: 1 },
    ]);
    expect(endings).toEqual({ answered: 3, model_error: 1 });
    expect(errors).toEqual([{ message: "503 no", tasks: 1 }]);
  });

  it("count tasks by score (in steps of 0.05) and by turns, and calls by tool", () => {
    const { distribution, turns, tools } = tallied();
    expect(distribution.semanticScore?.map((tasks, bin) => [bin, tasks]).filter(([, tasks]) => tasks)).toEqual([
      [4, 1],
      [12, 1],
      [19, 1],
    ]);
    expect(turns).toEqual([0, 3, 0, 1]);
    expect(tools).toEqual([
      { name: "email_search", calls: 3, errors: 0, tasks: 3, meanMs: 12 },
      { name: "email_get", calls: 3, errors: 3, tasks: 3, meanMs: 1 },
    ]);
  });
});
