import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FEATURE_LIBRARY, pythonPattern } from "../../src/evals/as-python/feature-library.js";
import { evalFiles } from "../../src/evals/as-python.js";
import type { Assertion, EvalDefinition, EvaluatedTrace } from "../../src/evals/definition.js";
import { FEATURES, viewOf } from "../../src/evals/run-evals/features.js";
import { containsTerm, runAssertions } from "../../src/evals/run-evals/run-rules.js";
import { chooseSandbox } from "../../src/sandbox/choose-sandbox.js";
import { isDontKnow } from "../../src/text/abstention.js";
import type { ChatTrace, QuestionTrace, SuiteTrace } from "../../src/traces/trace.js";
import { demoQuestions, MAIL, QUESTIONS, workFolder } from "../cli/art-e.js";
import { ENRON, needs } from "../machine-requirements.js";

const { artE, read } = workFolder({ mail: MAIL });
const FOLDER = mkdtempSync(join(tmpdir(), "art-e-"));
writeFileSync(join(FOLDER, "trace_features.py"), FEATURE_LIBRARY);
afterAll(() => rmSync(FOLDER, { recursive: true }));
const choice = await chooseSandbox();
const hasPython = spawnSync("python3", ["--version"]).status === 0;

/** Evaluates a Python expression with each line of stdin as `line`. */
function python(expression: string, lines: readonly unknown[]): unknown[] {
  const code = [
    "import json, sys",
    `sys.path.insert(0, ${JSON.stringify(FOLDER)})`,
    "sys.dont_write_bytecode = True",
    "import trace_features as features",
    "for text in sys.stdin:",
    "    line = json.loads(text)",
    `    print(json.dumps(${expression}))`,
  ].join("\n");
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const { stdout, stderr, status } = spawnSync("python3", ["-c", code], {
    input,
    maxBuffer: 2 ** 28,
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Answers with dates, numbers and abstentions in many forms. */
const ANSWERS = [
  "On May 5, 2001 at 9:30 am, for $1.5 million (1,500,000).",
  "5/14/01 or 14/5/2001; 2001-05-14; the 3rd of June; March 2000; noon until 2 p.m.",
  "0930 hours, 12:00 noon, midnight, 3-5 pm, from 8 to 10:30 am",
  "Twenty-five percent, 25%, one hundred and twenty-five thousand, a dozen, 5mm, 3.5k, 2bn, -4.5, (713) 853-1575",
  "Volumes decreased 12,500 MMBtu; they may 12,500 more, or maybe 4.5 in march 12.5",
  "It may be so, perhaps by late May",
  "I don't know.",
  "I could not find any information about it in the mailbox.",
  "Unfortunately, the emails do not mention it. However, it is probably 42.",
  "No emails were found about that",
  "It is as the mail\u00a0says:\u2003see below tomorrow",
  "",
  "x",
  "Ask nobody@nowhere.example, or Marcus.Hale@kestrelplains.example.",
];

/** Demo traces, unchanged and with other answers, sources and endings. */
function variants(trace: QuestionTrace, i: number): (QuestionTrace | SuiteTrace)[] {
  const answer = ANSWERS[i % ANSWERS.length] ?? "";
  const [call] = trace.toolCalls;
  const calls = call === undefined ? [] : [...trace.toolCalls, call, { ...call, result: null, error: "it broke" }];
  const { task, ...rest } = trace;
  const shell = { command: "pytest -q", code: 1 };
  const suite = { id: "a", suite: "s", dialect: "flowbook", tool: "t", instruction: "Do it.", snapshot: "x" } as const;
  return [
    trace,
    { ...trace, answer, sources: [...trace.sources, "<unknown@x>"] },
    { ...trace, answer: task.answer, ending: "dont_know", toolCalls: calls },
    { ...trace, answer: null, ending: "out_of_turns", sources: [] },
    {
      ...rest,
      kind: "suite",
      task: { ...suite, tags: [], relatedApps: [], actionNumber: null, counterpart: null },
      grade: { score: 1, state: "success", reason: "" },
      toolCalls: calls.map((one, n) => ({
        ...one,
        name: n % 2 === 0 ? "run_shell" : one.name,
        arguments: shell,
        result: { exit_code: n % 3, timed_out: n === 4 },
      })),
    },
  ];
}

/** A follow-up question in a chat, after one in which the agent made the same calls. */
function followUp(trace: QuestionTrace): ChatTrace {
  const { task, ...rest } = trace;
  const question = "And where did you read that?";
  const [system, ...history] = trace.messages;
  return {
    ...rest,
    kind: "chat",
    agentVersion: 1,
    question,
    inbox: task.inbox_address,
    queryDate: task.query_date,
    messages: [...(system === undefined ? [] : [system]), ...history, { role: "user", content: question }],
    historyLength: history.length,
    // The agent searches again, and opens nothing.
    toolCalls: trace.toolCalls.filter(({ name }) => name === "email_search"),
  } as ChatTrace;
}

/** Returns the value and detail per feature as measured by art-e. */
function measuredHere(trace: EvaluatedTrace, names: readonly string[]): [number | null, string][] {
  const view = viewOf(trace);
  return names.map((name) => {
    const { value, detail = "" } = FEATURES[name]?.of(view) ?? { value: null };
    return [value, detail];
  });
}

describe("features in Python", needs("sandbox", choice.ok && hasPython), () => {
  let traces: (QuestionTrace | SuiteTrace)[] = [];
  let chats: ChatTrace[] = [];
  beforeAll(async () => {
    expect(await artE(`run -a baseline --dataset ${QUESTIONS} -l 0 --quiet`)).toMatchObject({ code: 0 });
    expect(await artE("export-traces --run latest -o traces.jsonl --quiet")).toMatchObject({ code: 0 });
    traces = read("traces.jsonl")
      .trimEnd()
      .split("\n")
      .flatMap((line, i) => variants(JSON.parse(line), i));
    chats = read("traces.jsonl")
      .trimEnd()
      .split("\n")
      .flatMap((line) => {
        const chat = followUp(JSON.parse(line));
        return [chat, { ...chat, answer: "I don't know.", ending: "dont_know", sources: [] } as ChatTrace];
      });
  });

  it("see the calls of earlier questions in a chat, like art-e's features", () => {
    const names = Object.keys(FEATURES);
    const measured = python(`[getattr(features, name)(line) for name in ${JSON.stringify(names)}]`, chats);
    for (const [i, chat] of chats.entries()) expect(measured[i]).toEqual(measuredHere(chat, names));
    const values = (name: string) => chats.map((chat) => FEATURES[name]?.of(viewOf(chat)).value);
    // The sources were opened one question earlier, and the search is the same as then.
    expect(values("sources_read").filter((value) => value === 1).length).toBeGreaterThan(20);
    expect(Math.max(...values("repeated_calls").map((value) => value ?? 0))).toBeGreaterThanOrEqual(1);
    expect(new Set(values("gave_up_unread"))).toContain(0);
  });

  it("are complete and measure the same as art-e's features", () => {
    const names = Object.keys(FEATURES);
    const measured = python(`[getattr(features, name)(line) for name in ${JSON.stringify(names)}]`, traces);
    expect(measured).toHaveLength(traces.length);
    const applied = new Set<string>();
    for (const [i, trace] of traces.entries()) {
      const expected = measuredHere(trace, names);
      for (const [n, [value]] of expected.entries()) if (value !== null) applied.add(names[n] ?? "");
      const named = (all: unknown) => (all as unknown[]).map((one, n) => [names[n], one]);
      expect({ answer: trace.answer, found: named(measured[i]) }).toEqual({
        answer: trace.answer,
        found: named(expected),
      });
    }
    expect([...applied].sort()).toEqual([...names].sort());
  });

  it("find the same values in a text as art-e's features", () => {
    const texts = [...ANSWERS, ...demoQuestions.map(({ answer }) => answer)];
    const pairs = texts.flatMap((text, i) => {
      const terms = [
        "May 5",
        "9:30",
        "1,500,000",
        "25%",
        "mail",
        "noon",
        ...(texts[i + 1]?.split(" ").slice(0, 4) ?? []),
      ];
      return terms.filter((term) => term !== "").map((term) => [text, term] as const);
    });
    const found = python("features.contains_term(line[0], line[1])", pairs);
    for (const [i, [text, term]] of pairs.entries())
      expect({ text, term, found: found[i] }).toEqual({ text, term, found: containsTerm(text, term) });
    const denied = python("features.is_dont_know(line)", texts);
    expect(denied).toEqual(texts.map(isDontKnow));
  });

  it("evaluate assertions like art-e", () => {
    const said: readonly Assertion[] = [
      { contains: "MAY 5,  2001" },
      { lacks: "mailbox" },
      { matches: "^(?<first>\\w)\\w* .*\\k<first>" },
      { matches: "(?i)unfortunately|\\bseconds?\\b" },
      { matches: "[\u00a0\u2003]says|^x$" },
      { json: [] },
      { json: ["total", "of"] },
    ];
    const texts = [
      ...ANSWERS,
      "1",
      "null",
      "[1]",
      " {} ",
      '{"total": 1, "of": [2]}',
      '{"total": 1}',
      "{total: 1}",
      "NaN",
    ];
    const cases = said.flatMap((assertion) => texts.map((answer) => ({ assertion, answer })));
    const codeOf = (assertion: Assertion) => {
      const origin = { by: "person", seed: null, labels: null } as const;
      const common = { name: "said", version: 1, reference: false, criterion: "It is so.", origin };
      const definition: EvalDefinition = { ...common, kind: "assertions", answer: { all: [assertion] } };
      return evalFiles([{ definition, validation: null }], "python").get("said.py");
    };
    const found = python(
      "(lambda names: (exec(line[0], names), names['eval_function']({}, {}, {'answer': line[1]}, None)[0])[1])({})",
      cases.map(({ assertion, answer }) => [codeOf(assertion), answer]),
    );
    for (const [i, { assertion, answer }] of cases.entries()) {
      const { score } = runAssertions({ answer: { all: [assertion] } }, { answer });
      expect({ assertion, answer, found: found[i] }).toEqual({ assertion, answer, found: score });
    }
    expect(new Set(found)).toEqual(new Set([0, 1]));
  });

  it("read the answers to real questions like art-e", needs("real-mail"), () => {
    const answers = readFileSync(join(ENRON, "questions.jsonl"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { question: string; answer: string });
    const traces = answers.map(({ question, answer }) => ({
      user_message: question,
      answer,
      ending: "answered",
      sources: [],
      toolCalls: [],
      turns: [],
      durationMs: 0,
    }));
    const names = ["date_given", "number_given", "answer_words", "numbers_in_mail"];
    const measured = python(`[getattr(features, name)(line) for name in ${JSON.stringify(names)}]`, traces);
    for (const [i, { user_message: question, ...trace }] of traces.entries()) {
      const expected = measuredHere({ ...trace, kind: "chat", messages: [], question } as never, names);
      expect({ answer: trace.answer, found: measured[i] }).toEqual({ answer: trace.answer, found: expected });
    }
  });
});

describe("pythonPattern", () => {
  it.each([
    [/^a\s+[\s-]b$/, "^a~+[~-]b\\Z"],
    [/[.$]\/\$/, "[.$]/\\$"],
    [/\\s[^\]$]x/, "\\\\s[^\\]$]x"],
  ])("converts %s", (pattern, converted) => expect(pythonPattern(pattern.source)).toBe(converted));

  it.each([[/~/], [/[a\s]/]])("refuses %s, which `regex` would misread", (pattern) => {
    expect(() => pythonPattern(pattern.source)).toThrow("the pattern");
  });
});
