import { describe, expect, test } from "vitest";
import type { Message } from "../../src/models/model.js";
import { artReward, artRewardOf, artRubric } from "../../src/scoring/judge/art-rubric.js";
import type { ToolErrorKind } from "../../src/tools/tool.js";
import type { ToolCallRecord, Turn } from "../../src/traces/trace.js";
import { judged } from "./judged-trace.js";
import { called, itself, trace, type Unscored } from "./trace.js";

const found = called("search_emails", [{ message_id: "<gold@x>", snippet: "" }]);
const read = called("read_email", { message_id: "<gold@x>", body: "$40" });
const failed = (errorKind: ToolErrorKind): ToolCallRecord => ({ ...called("x", null), errorKind });

const turns = (count: number): Turn[] =>
  Array.from({ length: count }, () => ({
    startedAt: "2026-01-01T00:00:00.000Z",
    latencyMs: 1,
    finishReason: "tool_calls",
    rawFinishReason: "tool_use",
    usage: { inputTokens: 100, outputTokens: 10, cachedInputTokens: 0 },
    costUsd: null,
    retries: [],
    cached: false,
  }));

const PLAIN: Partial<Unscored> = { messages: [{ role: "assistant", content: "$40", toolCalls: [] }] };

/** Earns all four partial rewards, 0.4 in total. */
const RIGHT = { toolCalls: [found, read], sources: ["<gold@x>"], turns: turns(3), judge: judged("correct") };

describe("artReward", () => {
  test.each<[string, Partial<Unscored>, number | null]>([
    ["a correct answer with one correct source after 3 of 10 turns", RIGHT, 1 + 0.3 + 0.1 + 0.1 * 0.7],
    ["a correct answer with two sources", { ...RIGHT, sources: ["<gold@x>", "<b@x>"] }, 1 + 0.3 + 0.05 + 0.07],
    ["a correct answer without a source", { ...RIGHT, sources: [] }, 1 + 0.07],
    ["a correct answer with a wrong source", { ...RIGHT, sources: ["<b@x>"] }, 1 + 0.1 + 0.07],
    ["a correct answer in the last turn", { ...RIGHT, turns: turns(10) }, 1 + 0.3 + 0.1],
    ["a wrong attempt", { ...RIGHT, judge: judged("wrong") }, -1 + 0.4],
    ["a partly right attempt", { ...RIGHT, judge: judged("partly") }, -1 + 0.4],
    ["a wrong answer after a search that found nothing", { turns: turns(1), judge: judged("wrong") }, -1 + 0.1],
    ["an abstention after finding and opening the gold email", { ...RIGHT, answer: "I don't know", sources: [] }, 0.3],
    ["an abstention that cites the gold email", { ...RIGHT, answer: "I don't know", judge: judged("abstained") }, 0.3],
    [
      "an abstention in other words, as an attempt",
      { ...RIGHT, answer: "I could not find it.", ending: "dont_know", sources: [], judge: judged("abstained") },
      -1 + 0.3,
    ],
    ["an empty answer, as an attempt", { ...RIGHT, answer: "", judge: judged("abstained") }, -1 + 0.4],
    ["a correct answer in plain text", { ...PLAIN, turns: turns(1), judge: judged("correct") }, -1.8 + 0.1],
    [
      "an answer from an external agent with unknown turns, as null",
      { ...PLAIN, model: "endpoint/acme", turns: turns(1), judge: judged("correct") },
      null,
    ],
    ["running out of turns", { ...RIGHT, answer: null, ending: "out_of_turns", sources: [] }, 0.3],
    ["running out of budget", { ...RIGHT, answer: null, ending: "out_of_budget", sources: [] }, 0.3],
    [
      "an opened email with an invalid id",
      { ...RIGHT, toolCalls: [found, read, failed("invalid_email")], judge: judged("wrong") },
      -0.7,
    ],
    ["unparsable arguments", { ...RIGHT, toolCalls: [found, read, failed("unparsable_call")] }, -1.8 + 0.3],
    ["an unknown tool", { ...RIGHT, toolCalls: [found, failed("unknown_tool"), read] }, -1.9 + 0.2],
    ["bad arguments", { ...RIGHT, toolCalls: [failed("bad_arguments"), found, read] }, -1.8 + 0.1],
    [
      "the first of several invalid calls",
      { ...RIGHT, toolCalls: [failed("bad_arguments"), failed("unknown_tool"), failed("invalid_email")] },
      -1.8 + 0.1,
    ],
    ["a trace that has no judge, as null", { ...RIGHT, judge: null }, null],
    ["a trace whose judge failed, as null", { ...RIGHT, judge: judged(null) }, null],
  ])("scores %s", (_, changes, value) => {
    const score = artReward.score(trace(changes), itself);
    if (value === null)
      expect(score).toMatchObject({
        value,
        explanation: expect.stringMatching(/^no judge|turns of this agent are unknown/),
      });
    else expect(score.value).toBeCloseTo(value, 10);
  });

  const call = (turn: number, changes: Partial<ToolCallRecord> = {}) => ({
    ...found,
    id: `c${turn}`,
    turn,
    ...changes,
  });
  const reply = (turn: number, invalid?: string): Message => ({
    role: "assistant",
    content: "",
    toolCalls: [{ id: `c${turn}`, name: "x", arguments: {}, ...(invalid === undefined ? {} : { invalid }) }],
  });

  test("uses ART's record of the rollout up to the call that would have ended it", () => {
    const toolCalls = [call(0), call(1, { errorKind: "bad_arguments" }), { ...read, turn: 2 }];
    expect(artRubric(trace({ ...RIGHT, toolCalls, durationMs: 1_500 }), itself)).toEqual({
      answer_correct: false,
      sources_correct: false,
      num_turns: 2,
      attempted_answer: false,
      ever_found_right_email: true,
      ever_read_right_email: false,
      cant_parse_tool_call: false,
      bad_tool_call_name: false,
      bad_tool_call_args: true,
      ran_out_of_turns: false,
      returned_i_dont_know: false,
      num_sources: 0,
      ever_tried_to_read_invalid_email: false,
      prompt_tokens: 200,
      completion_tokens: 20,
      duration: 1.5,
    });
    expect(artRubric(trace(RIGHT), itself)).toMatchObject({
      answer_correct: true,
      sources_correct: true,
      num_turns: 3,
      attempted_answer: true,
      num_sources: 1,
      prompt_tokens: 300,
    });
  });

  test("compares the answer of the last call untrimmed, like ART", () => {
    const answered = (answer: string) =>
      trace({
        ...RIGHT,
        answer: "I don't know",
        toolCalls: [...RIGHT.toolCalls, { ...called("return_final_answer", null), arguments: { answer } }],
      });
    expect(artRubric(answered("I don't know"), itself)).toMatchObject({ returned_i_dont_know: true });
    expect(artRubric(answered("I don't know\n"), itself)).toMatchObject({ returned_i_dont_know: false });
    expect(artRubric(answered("another answer"), itself)).toMatchObject({ returned_i_dont_know: true });
  });

  test("counts the tokens of turns whose usage is reported", () => {
    const [first, ...others] = turns(3);
    const unreported = { ...(first as Turn), usage: null };
    expect(artRubric(trace({ ...RIGHT, turns: [unreported, ...others] }), itself)).toMatchObject({
      prompt_tokens: 200,
      completion_tokens: 20,
    });
  });

  test("has a separate penalty for unparsable calls, which our agents never receive", () => {
    const rubric = { ...artRubric(trace(RIGHT), itself), cant_parse_tool_call: true };
    expect(artRewardOf(rubric, 10)).toEqual({ value: -1.6, explanation: "a tool call could not be parsed" });
  });

  test("counts an additional turn if the turns are used up", () => {
    const none = { ...RIGHT, turns: turns(10), answer: null, ending: "out_of_turns", sources: [] } as const;
    expect(artRubric(trace({ ...none, sources: [] }), itself)).toMatchObject({ num_turns: 11, ran_out_of_turns: true });
  });

  test("checks the arguments before the tool name", () => {
    const toolCalls = [call(0, { errorKind: "unknown_tool" })];
    const traceWith = (invalid?: string) => trace({ ...RIGHT, toolCalls, messages: [reply(0, invalid)] });
    expect(artRubric(traceWith("{"), itself)).toMatchObject({ bad_tool_call_args: true, bad_tool_call_name: false });
    expect(artRubric(traceWith(), itself)).toMatchObject({ bad_tool_call_args: false, bad_tool_call_name: true });
  });

  test("ends at a reply that contains no call, even if the agent continues and answers", () => {
    const messages: Message[] = [reply(0), { role: "assistant", content: "", toolCalls: [] }, reply(2)];
    const toolCalls = [call(0), { ...read, turn: 2 }];
    expect(artRubric(trace({ ...RIGHT, messages, toolCalls }), itself)).toMatchObject({
      bad_tool_call_args: true,
      num_turns: 2,
      ever_found_right_email: true,
      ever_read_right_email: false,
    });
  });
});
