import { describe, expect, it } from "vitest";
import { FEATURES, viewOf } from "../../src/evals/features.js";
import type { JsonObject, JsonValue } from "../../src/platform/json.js";
import type { QuestionTrace, SuiteTrace, ToolCallRecord, Turn } from "../../src/traces/trace.js";
import { called, trace } from "../scoring/trace.js";

const mail = (id: string, subject: string, date: string, body: string) => ({
  message_id: id,
  subject,
  sender: "a@x",
  date,
  body,
});

const search = (...mails: readonly { message_id: string }[]) => called("email_search", { emails: mails } as JsonValue);
const open = (one: { message_id: string }) => called("email_get", one as JsonValue);

const turn = (changes: Partial<Turn> = {}): Turn => ({
  startedAt: "2026-01-01T00:00:00.000Z",
  latencyMs: 1,
  finishReason: "stop",
  rawFinishReason: "stop",
  usage: null,
  costUsd: 0.01,
  retries: [],
  cached: false,
  ...changes,
});

function measure(feature: string, changes: Partial<QuestionTrace>, question = "How much are the dues?") {
  const made = { ...trace({ turns: [turn()], ...changes }, { question }), scores: {} };
  return FEATURES[feature]?.of(viewOf(made)) ?? { value: null };
}

const DUES = mail(
  "<1@x>",
  "Dues",
  "2001-05-04T10:00:00Z",
  "The dues are $1,500,000 by May 14, 2001, at 9:30 am. Call 713-555-0199.",
);

describe("mails_after_cutoff", () => {
  it.each([
    ["2002-01-31T00:00:00Z", 0],
    ["2002-02-01T23:59:59Z", 0],
    ["2002-02-02T00:00:00Z", 1],
    ["some day", null],
  ])("counts an email dated %s as %s", (date, value) => {
    const made = trace({ toolCalls: [open(mail("<1@x>", "Dues", date, ""))] }, { query_date: "2002-02-01" });
    expect(FEATURES.mails_after_cutoff?.of(viewOf({ ...made, scores: {} })).value).toBe(value);
  });
});

describe("features of an external agent", () => {
  const answer = "The dues are 1.5 million.";

  it("have no value if they are about its turns or tool calls", () => {
    const changes = { model: "endpoint/acme", turns: [turn()], toolCalls: [], answer, sources: ["<1@x>"] };
    for (const name of ["turns", "answer_complete", "sources_read", "numbers_in_mail", "failed_calls"]) {
      expect(measure(name, changes).value, name).toBeNull();
    }
    expect(measure("sources", changes).value).toBe(1);
    expect(measure("answer_words", changes).value).toBe(5);
  });

  it("have a value from its tool calls if it used art-e's tools", () => {
    const changes = { model: "command/agent.py", turns: [turn()], toolCalls: [search(DUES)], answer };
    expect(measure("failed_calls", changes).value).toBe(0);
    expect(measure("turns", changes).value).toBeNull();
  });
});

describe("numbers_in_mail", () => {
  const of = (answer: string, toolCalls: readonly ToolCallRecord[] = [search(DUES), open(DUES)]) =>
    measure("numbers_in_mail", { answer, toolCalls: [...toolCalls] });

  it.each([
    ["The dues are $1,500,000.", 1],
    ["They are 1.5 million.", 1],
    ["$1.5MM, due 5/14/01", 1],
    ["Due on 2001-05-14 at 0930.", 1],
    ["They are $1,600,000.", 0, "1,600,000"],
    ["They are 1.6 million, due May 14.", 0.5, "1.6 million"],
    ["Due on May 15, 2001, at 9:30.", 0.5, "2001-5-15"],
    ["Due on May 15.", 0, "5-15"],
    ["By 10:05 pm.", 0, "22:05"],
    ["Of 1,500,000 they want 12.", 0.5, "12"],
    ["11, 12, 13", 0, "11, 12, 13"],
    ["11, 12, 13, 16", 0, "11, 12, 13 and 1 more"],
    ["7", 0, "7"],
    ["See EB3801 and Q3.", null],
    ["It is not said.", null],
  ])("scores %j as %s, without %s", (answer, value, missing = undefined) => {
    const { value: share, detail } = of(answer);
    expect([share, detail]).toEqual([value, missing]);
  });

  it.each([
    ["14 of them?", "All 14 paid.", 1],
    ["Is it at 2305?", "At 11:05 pm.", 1],
    ["Is it at 2306?", "At 11:05 pm.", 0],
    // Parts of dates and times.
    ["Is it May 14, 2001?", "In 05, on the 014.", 1],
    ["Is it at 11:05 pm?", "At 23, or 005.", 1],
  ])("treats numbers in the question %j as found in the answer %j (%d)", (question, answer, value) =>
    expect(measure("numbers_in_mail", { answer }, question).value).toBe(value),
  );

  it("reads results that are JSON as text, as in other programs' traces", () => {
    const ofResult = (result: string) => of("It is 1,500,000.", [called("email_get", result)]).value;
    expect([JSON.stringify(DUES), JSON.stringify(DUES).slice(1), "[1,500,000"].map(ofResult)).toEqual([1, 0, 0]);
  });

  it("ignores an email that was only listed, not read", () =>
    expect(of("It is 1,500,000.", [search(DUES)]).value).toBe(0));
  it("ignores listed emails, which numbers_in_results includes", () =>
    expect(measure("numbers_in_results", { answer: "It is 1,500,000.", toolCalls: [search(DUES)] }).value).toBe(1));
  it("gives no value to an abstention", () =>
    expect(measure("numbers_in_mail", { answer: "I don't know.", ending: "dont_know" }).value).toBeNull());
});

describe("source features", () => {
  const other = mail("<2@x>", "Re: Dues", "2001-06-01T10:00:00Z", "");
  const undated = { message_id: "<3@x>", subject: "Dues" };
  const toolCalls = [search(DUES, other, undated, { message_id: "<4@x>" }), open(DUES)];

  it.each([
    ["sources_read", ["<1@x>"], 1],
    ["sources_read", ["<1@x>", "<2@x>"], 0.5],
    ["sources_read", [], null],
    ["sources_returned", ["<1@x>", "<2@x>"], 1],
    ["sources_returned", ["<9@x>"], 0],
    ["sources", ["<1@x>", "<2@x>"], 2],
    ["sources", [], 0],
    ["newer_in_thread", ["<1@x>"], 1],
    ["newer_in_thread", ["<2@x>"], 0],
    ["newer_in_thread", ["<1@x>", "<2@x>"], 0],
    ["newer_in_thread", ["<3@x>"], null],
    ["newer_in_thread", ["<9@x>"], null],
  ])("measure %s of %j as %s", (feature, sources, value) =>
    expect(measure(feature, { sources: [...sources], toolCalls }).value).toBe(value),
  );

  it("give no value to an abstention", () =>
    expect(measure("sources", { answer: "I don't know.", ending: "dont_know" }).value).toBeNull());

  it("find an abstention without an opened email only if searches returned emails", () => {
    const gaveUp = { answer: "I don't know.", ending: "dont_know" } as const;
    const listed = [search(DUES, other)];
    expect(measure("gave_up_unread", { ...gaveUp, toolCalls: listed }).value).toBe(1);
    expect(measure("gave_up_unread", { ...gaveUp, toolCalls: [search(DUES)] }).value).toBe(1);
    expect(measure("gave_up_unread", { ...gaveUp, toolCalls }).value).toBe(0);
    expect(measure("gave_up_unread", { ...gaveUp, toolCalls: [search(DUES, other), open(DUES)] }).value).toBe(0);
    expect(
      measure("gave_up_unread", { ...gaveUp, toolCalls: [search(DUES), open(mail("<3@x>", "", "", ""))] }).value,
    ).toBe(0);
    expect(measure("gave_up_unread", { ...gaveUp, toolCalls: [search()] }).value).toBe(0);
    expect(measure("gave_up_unread", { toolCalls: listed }).value).toBe(0);
  });
});

describe("features of arguments and addresses", () => {
  const calls = (...args: readonly JsonObject[]) => args.map((one) => ({ ...search(), arguments: one }));

  it("count the calls for another mailbox", () => {
    const [own, other] = ["ANN@X.example ", "bob@x.example"];
    const toolCalls = calls({ inbox_id: own }, { mailbox: other }, { query: other }, { account: 5 }, { inbox: " " });
    const made = trace({ toolCalls }, { inbox_address: "ann@x.example" });
    const measured = FEATURES.other_mailbox_calls?.of(viewOf({ ...made, scores: {} }));
    expect(measured).toEqual({ value: 1, detail: other });
    const unknown = { ...trace({ toolCalls }, { inbox_address: undefined as never }), scores: {} };
    expect(FEATURES.other_mailbox_calls?.of(viewOf(unknown)).value).toBeNull();
  });

  it.each([
    ["Ask a@x.example or B@X.example.", 0.5, "b@x.example"],
    ["a@x.example knows.", 1, undefined],
    ["Ask Ann.", null, undefined],
  ])("find the addresses of the answer %j in the question (%s)", (answer, value, detail) => {
    const measured = measure("addresses_in_results", { answer, toolCalls: calls({}) }, "Who is a@x.example?");
    expect([measured.value, measured.detail]).toEqual([value, detail]);
  });
});

describe("answer features", () => {
  it.each([
    ["When is it due?", "On May 14.", "date_given", 1],
    ["When is it due?", "next week", "date_given", 1],
    ["What time is the call?", "at 9:30", "date_given", 1],
    ["When is it due?", "Soon.", "date_given", 0],
    ["Who pays?", "Soon.", "date_given", null],
    ["When is it due?", "I don't know.", "date_given", null],
    ["How many came?", "Twelve of them", "number_given", 1],
    ["How many came?", "Most of them", "number_given", 0],
    ["What is the price?", "$4.5", "number_given", 1],
    ["Why?", "Because.", "number_given", null],
    ["Why?", "As it was said.", "answer_words", 4],
  ])("measure for the question %s and the answer %s that %s equals %s", (question, answer, feature, value) =>
    expect(measure(feature, { answer }, question).value).toBe(value),
  );

  it("report a truncated last reply", () => {
    const [cut, whole] = [turn({ finishReason: "length" }), turn()];
    expect(measure("answer_complete", { turns: [cut, whole] }).value).toBe(1);
    expect(measure("answer_complete", { turns: [whole, cut] }).value).toBe(0);
    expect(measure("answer_complete", { turns: [] }).value).toBeNull();
  });

  it("report whether the agent finished", () => {
    expect(measure("ended", {}).value).toBe(1);
    expect(measure("ended", { ending: "dont_know" }).value).toBe(1);
    expect(measure("ended", { ending: "out_of_turns" })).toEqual({ value: 0, detail: "out_of_turns" });
  });
});

describe("effort features", () => {
  it("count repeated, unparsable and failed calls", () => {
    const repeated = { toolCalls: [search(), search(), open(DUES)] };
    expect(measure("repeated_calls", repeated).value).toBe(1);
    const odd: ToolCallRecord = { ...called("email_get", null), errorKind: "unparsable_call", error: "no JSON" };
    expect(measure("unparsable_calls", { toolCalls: [odd, search()] })).toEqual({ value: 1, detail: "email_get" });
    expect(measure("failed_calls", { toolCalls: [odd, search()] })).toEqual({ value: 1, detail: "email_get: no JSON" });
    const long = { ...odd, error: "x".repeat(100) };
    expect(measure("failed_calls", { toolCalls: [long] }).detail).toBe(`email_get: ${"x".repeat(89)}`);
  });

  it("sum turns, cost and time, or return null if the cost is unknown", () => {
    expect(measure("turns", { turns: [turn(), turn()] }).value).toBe(2);
    expect(measure("cost_usd", { turns: [turn()] }).value).toBe(0.01);
    expect(measure("cost_usd", { turns: [turn(), turn()] }).value).toBeCloseTo(0.02, 12);
    expect(measure("cost_usd", { turns: [turn(), turn({ costUsd: null })] }).value).toBeNull();
    expect(measure("seconds", { durationMs: 1_500 }).value).toBe(1.5);
  });
});

it("features include calls of earlier questions in the same session", () => {
  const messages: QuestionTrace["messages"] = [
    { role: "system", content: "" },
    {
      ...{ role: "assistant", content: "" },
      toolCalls: [{ id: "e1", name: "email_get", arguments: { message_id: "<gold@x>" } }],
    },
    { role: "tool", toolCallId: "e1", name: "email_get", content: JSON.stringify(DUES), isError: false },
  ];
  const toolCalls = [search(DUES, mail("<2@x>", "", "", "")), called("email_get", null)];
  const changes = { answer: "I don't know.", ending: "dont_know", messages, historyLength: 2, toolCalls } as const;
  expect(measure("gave_up_unread", changes as Partial<QuestionTrace>).value).toBe(0);
  expect(measure("repeated_calls", changes as Partial<QuestionTrace>).value).toBe(1);
});

describe("suite features", () => {
  const shell = (command: string, exitCode: number): ToolCallRecord => ({
    ...called("run_shell", { stdout: "", stderr: "", exit_code: exitCode, timed_out: false, truncated: false }),
    arguments: { command },
  });
  const suite = (toolCalls: readonly ToolCallRecord[]): SuiteTrace =>
    ({
      ...trace({ toolCalls: [...toolCalls], answer: "Done." }),
      kind: "suite",
      taskId: "t1",
      scores: {},
      task: {
        id: "t1",
        suite: "demo",
        dialect: "flowbook",
        tool: "jupyter",
        instruction: "When it is 5, write 12.",
        snapshot: "s",
        tags: [],
        relatedApps: [],
        actionNumber: null,
        counterpart: null,
      },
      grade: { score: 1, state: "success", reason: "" },
    }) as SuiteTrace;
  const of = (feature: string, calls: readonly ToolCallRecord[]) => FEATURES[feature]?.of(viewOf(suite(calls))).value;

  it("count written files, failed commands and test runs", () => {
    const calls = [shell("python -m pytest -q", 1), shell("ls", 0), called("read_file", {})];
    expect(of("files_written", calls)).toBe(2);
    expect(of("commands_failed", calls)).toBe(1);
    expect(of("commands_failed", [shell("a", 0), shell("b", 0), called("run_shell", { timed_out: true })])).toBe(1);
    expect(of("tests_run", calls)).toBe(1);
    expect(of("tests_run", [shell("ls latest", 0)])).toBe(0);
  });

  it("apply only to suite tasks, as source features apply only to questions", () => {
    for (const feature of ["sources", "date_given", "number_given", "answer_words", "gave_up_unread"])
      expect(of(feature, [search(DUES)])).toBeNull();
    for (const feature of ["files_written", "commands_failed", "tests_run"])
      expect(measure(feature, {}).value).toBeNull();
  });
});
