import { describe, expect, it } from "vitest";
import type { Message } from "../../src/models/model.js";
import { stripControls } from "../../src/platform/control-characters.js";
import { traceText } from "../../src/reports/trace-text.js";
import { traceView } from "../../src/reports/trace-view.js";
import type { QuestionTrace as Trace } from "../../src/traces/trace.js";
import { judged } from "../scoring/judged-trace.js";
import { called } from "../scoring/trace.js";
import { ANSWERED, FAILED } from "../trace-formats/traces.js";
import { suiteTrace, withCall } from "./suite-run.js";

describe("traceText", () => {
  it("shows the question, the conversation, the calls and the answer in order", () => {
    expect(traceText(ANSWERED)).toMatchInlineSnapshot(`
      "trace_1  email-search (acme/best)  run run_1
      task 7  kim@example.com  2001-05-14

      Question: When is the call?

      [system]
        You search.

      [user]
        When is the call?

      [assistant]
        Let me look.
        -> email_search(query: "call")
        -> email_get({broken)
        -> email_get(message_id: "<1@x>")

      [email_search]
        {"total":1}

      [email_get, error]
        not JSON

      [assistant]
        On Friday.

      Ending:   answered after 2 turns, 3.5 s
      Time:     model 1.7 s, tools 13 ms, waiting 0 ms
                MMMMMMMMMMMMMMMMMMMMMMMMMMMMM-------------------------------
                M model 1.7 s, t tools 13 ms, - other 1.8 s
      Answer:   On Friday.
      Sources:  <1@x>
      Gold:     Friday
      Emails:   <1@x>
      Scores:   exactMatch 0.000, semanticScore 0.500, readGold -"
    `);
  });

  it("shows the judge's verdict, its reason, and the agreement of its votes", () => {
    const line = (judge: Trace["judge"]) => /^Judge: .*$/m.exec(traceText({ ...ANSWERED, judge }))?.[0];
    const vote = { verdict: "correct", reason: "r", cached: false } as const;
    expect(line(null)).toBeUndefined();
    expect(line(judged("correct", { cast: [vote] }))).toBe(
      "Judge:    correct: so it is (acme/judge, verdict 1, prompt 0123456789ab)",
    );
    expect(line(judged("wrong", { cast: [vote, vote, vote], agreement: 2 / 3 }))).toBe(
      "Judge:    wrong: so it is (acme/judge, verdict 1, prompt 0123456789ab, 3 votes, agreement 0.667)",
    );
    expect(line(judged(null))).toBe(
      "Judge:    no verdict: the judge failed (acme/judge, verdict 1, prompt 0123456789ab)",
    );
  });

  it("shows the error of a failed task, and dashes if data is missing", () => {
    const foot = traceText(FAILED).split("\n").slice(-8);
    expect(foot).toEqual([
      "Ending:   model_error after 0 turns, 3.5 s",
      "Time:     model 0 ms, tools 0 ms, waiting 0 ms",
      "Error:    401 no",
      "Answer:   -",
      "Sources:  -",
      "Gold:     Friday",
      "Emails:   <1@x>",
      "Scores:   none (failed tasks are not scored)",
    ]);
  });

  it("truncates a long message, and says how much is missing", () => {
    const long = { ...ANSWERED, messages: [{ role: "user" as const, content: "x".repeat(1_600) }] };
    const text = traceText(long);
    expect(text).toContain(`  ${"x".repeat(1_500)}\n  … (100 more characters)`);
    expect(text).not.toContain("x".repeat(1_501));
  });
});

describe("stripControls", () => {
  it.each([
    ["an escape sequence", "\u001b[31mred", "␛[31mred"],
    ["a carriage return that would overwrite the line", "safe\rfake", "safe␍fake"],
    ["a NUL and a bell", "\u0000\u0007", "␀␇"],
    ["a C1 control and DEL", "\u009b\u007f", "\ufffd\ufffd"],
    ["bidi overrides and isolates", "\u202eevil\u202c\u2066x\u2069", "\ufffdevil\ufffd\ufffdx\ufffd"],
    ["bidi marks", "\u200e\u200f\u061c", "\ufffd\ufffd\ufffd"],
  ])("shows %s as a visible symbol", (_, raw, shown) => expect(stripControls(raw)).toBe(shown));

  it("does not change lines, tabs, accents, other scripts and emoji", () => {
    const text = "a\tb\nJosé café 日本語 שלום 👩‍👩‍👧 “q”";
    expect(stripControls(text)).toBe(text);
  });
});

it("traceText shows a suite task, its commands with their output, and its grade", () => {
  const call = withCall(
    "execute_python",
    { code: "import csv\nprint(3)" },
    { stdout: "3\n", stderr: "slow\n", exit_code: 2, timed_out: false, truncated: false },
  );
  const pictures = [
    { path: "/home/user/a.png", cell: null, width: 96, height: 48, data: "" },
    { path: "/home/user/b.ipynb", cell: 4, width: 8, height: 6, data: "" },
  ];
  const trace = suiteTrace(0, { counterpart: "t2" }, { ...call, left: { pictures, omitted: 2 } });
  const lines = traceText(trace).split("\n");
  expect(lines.slice(1, 6)).toEqual([
    "task t1  harbour  terminal  base",
    "cli, abstract, terminal  3 human actions",
    "counterpart t2",
    "",
    "Task: Count the boats.",
  ]);
  expect(lines.slice(lines.indexOf("[assistant]"), lines.indexOf("[assistant]") + 12)).toEqual([
    "[assistant]",
    "  -> execute_python(code: …)",
    "     code:",
    "       import csv",
    "       print(3)",
    "",
    "[execute_python]",
    "  3",
    "  stderr:",
    "  slow",
    "  exit code 2",
    "",
  ]);
  expect(lines.slice(-4)).toEqual([
    "Answer:   Done.",
    "Grade:    0  success: compare_csv gives 0",
    "Pictures: /home/user/a.png (96 x 48), /home/user/b.ipynb cell 4 (8 x 6), 2 omitted",
    "Scores:   taskScore 0.000, taskSolved 0.000",
  ]);
});

it("traceText marks an ungraded task", () => {
  const text = traceText(suiteTrace(null, {}, { messages: [], toolCalls: [], turns: [] }));
  expect(text).toContain("\nGrade:    not graded  unsupported: compare_csv gives 0\n");
  expect(text).not.toContain("Pictures:");
});

it.each([
  [
    "a file",
    { path: "a.txt", content: "1\tboat", first_line: 1, last_line: 1, total_lines: 3 },
    ["  1\tboat", "  (lines 1 to 1 of 3 of a.txt)"],
  ],
  ["a command without output", { stdout: "", stderr: "", exit_code: 0 }, ["  (no output)"]],
  [
    "a command that was stopped",
    { stdout: "", stderr: "", exit_code: null, stopped: "Stopped after 60 seconds." },
    ["  Stopped after 60 seconds."],
  ],
  [
    "a notebook",
    {
      path: "b.ipynb",
      outputs: [{ cell: 1, text: "7\n", error: { name: "NameError", message: "x" } }],
      stopped: "Stopped.",
    },
    ["  b.ipynb", "  cell 1:", "  7", "  NameError: x", "  Stopped."],
  ],
  ["a notebook without output", { path: "b.ipynb", outputs: [], stopped: null }, ["  b.ipynb: no output"]],
])("traceText shows %s in its own format", (_, result, expected) => {
  const lines = traceText(suiteTrace(1, {}, withCall("tool", {}, result))).split("\n");
  const from = lines.indexOf("[tool]") + 1;
  expect(lines.slice(from, from + expected.length)).toEqual(expected);
});

const MAIL = {
  messageId: "<1@x>",
  subject: "call",
  sender: "jo@x",
  recipients: ["kim@x"],
  date: null,
  body: "Friday.",
};

/** <copy@x> is a copy of <1@x>. */
const source = {
  mailOf: (id: string) => (id === "<1@x>" ? MAIL : null),
  sameMail: (id: string) => (id === "<copy@x>" ? "<1@x>" : id),
};

describe("traceView", () => {
  it("contains each call with its result, including calls that were never executed", () => {
    const { steps } = traceView(ANSWERED, source);
    expect(steps.map(({ role }) => role)).toEqual(["system", "user", "assistant", "assistant"]);
    expect(steps[2]?.calls).toEqual([
      { name: "email_search", arguments: { query: "call" }, result: { total: 1 }, error: null, durationMs: 12 },
      { name: "email_get", arguments: "{broken", result: null, error: "not JSON", durationMs: 1 },
      { name: "email_get", arguments: { message_id: "<1@x>" }, result: null, error: null, durationMs: null },
    ]);
    expect(steps[2]?.turn).toEqual({
      latencyMs: 800,
      waitedMs: 0,
      tokens: { input: 100, output: 20 },
      costUsd: 0.001,
      finishReason: "tool_calls",
      retries: 0,
    });
    expect(steps[3]?.turn?.tokens).toBeNull();
  });

  it("contains the model's message about a call that was not executed, and no result", () => {
    const content = "Not called: only the first tool call of a turn is made.";
    const told: Message = { role: "tool", toolCallId: "c3", name: "email_get", content, isError: true };
    const { steps } = traceView({ ...ANSWERED, messages: [...ANSWERED.messages, told] }, source);
    expect(steps[2]?.calls[2]).toMatchObject({ result: null, error: content, durationMs: null });
    expect(steps).toHaveLength(4);
  });

  it("separates calls whose ids occur again in a later turn", () => {
    const asking = (name: string): Message => ({
      role: "assistant",
      content: "",
      toolCalls: [{ id: "c1", name, arguments: {} }],
    });
    const toolCalls = [called("first", "one"), called("second", "two")];
    const { steps } = traceView({ ...ANSWERED, messages: [asking("first"), asking("second")], toolCalls }, source);
    expect(steps.flatMap(({ calls }) => calls.map(({ name, result }) => [name, result]))).toEqual([
      ["first", "one"],
      ["second", "two"],
    ]);
  });

  it.each([
    ["read", { message_id: "<copy@x>", body: "Friday." }],
    ["found", { emails: [{ message_id: "<copy@x>", snippet: "Fri" }], total: 1 }],
    ["missed", { emails: [], total: 0 }],
  ])("marks a gold email as %s through any of its copies", (reached, result) => {
    const view = traceView({ ...ANSWERED, toolCalls: [called("any", result)], sources: ["<copy@x>"] }, source);
    expect(view.gold).toEqual([{ ...MAIL, reached, cited: true }]);
    expect([...view.goldIds].sort()).toEqual(["<1@x>", "<copy@x>"]);
  });

  it("lists missing gold emails, and contains a judge's verdict if there is one", () => {
    const task = { ...ANSWERED.task, message_ids: ["<gone@x>"] };
    const graded = { ...ANSWERED, task, judge: judged("partly", { reason: "no time" }) };
    expect(traceView(graded, source)).toMatchObject({
      gold: [],
      goldMissing: ["<gone@x>"],
      judge: { verdict: "partly", reason: "no time" },
    });
    expect(traceView(ANSWERED, source).judge).toBeNull();
  });
});
