import { describe, expect, test } from "vitest";
import type { Message } from "../../src/models/model.js";
import { artReward, artRewardOf, artRubric } from "../../src/scoring/art-rubric.js";
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

/** All four partial rewards: p = 0.4. */
const RIGHT = { toolCalls: [found, read], sources: ["<gold@x>"], turns: turns(3), judge: judged("correct") };

describe("ART's reward", () => {
  test.each<[string, Partial<Unscored>, number | null]>([
    ["correct, one right source, 3 of 10 turns", RIGHT, 1 + 0.3 + 0.1 + 0.1 * 0.7],
    ["correct, two sources", { ...RIGHT, sources: ["<gold@x>", "<b@x>"] }, 1 + 0.3 + 0.05 + 0.07],
    ["correct without a source", { ...RIGHT, sources: [] }, 1 + 0.07],
    ["correct with a wrong source", { ...RIGHT, sources: ["<b@x>"] }, 1 + 0.1 + 0.07],
    ["correct in the last turn", { ...RIGHT, turns: turns(10) }, 1 + 0.3 + 0.1],
    ["attempted and wrong", { ...RIGHT, judge: judged("wrong") }, -1 + 0.4],
    ["attempted and partly right", { ...RIGHT, judge: judged("partly") }, -1 + 0.4],
    ["wrong, nothing found", { turns: turns(1), judge: judged("wrong") }, -1 + 0.1],
    ["I don't know, after finding and reading it", { ...RIGHT, answer: "I don't know", sources: [] }, 0.3],
    ["I don't know, citing gold mail", { ...RIGHT, answer: "I don't know", judge: judged("abstained") }, 0.3],
    [
      "said in other words, which is an attempt",
      { ...RIGHT, answer: "I could not find it.", ending: "dont_know", sources: [], judge: judged("abstained") },
      -1 + 0.3,
    ],
    ["an empty answer, which is an attempt", { ...RIGHT, answer: "", judge: judged("abstained") }, -1 + 0.4],
    ["a right answer in plain text", { ...PLAIN, turns: turns(1), judge: judged("correct") }, -1.8 + 0.1],
    [
      "a right answer in plain text, of an agent that has no other way",
      { ...PLAIN, model: "endpoint/acme", turns: turns(1), judge: judged("correct") },
      1 + 0.1 * 0.9,
    ],
    ["out of turns", { ...RIGHT, answer: null, ending: "out_of_turns", sources: [] }, 0.3],
    ["out of budget", { ...RIGHT, answer: null, ending: "out_of_budget", sources: [] }, 0.3],
    [
      "an invalid id read",
      { ...RIGHT, toolCalls: [found, read, failed("invalid_email")], judge: judged("wrong") },
      -0.7,
    ],
    ["arguments that cannot be parsed", { ...RIGHT, toolCalls: [found, read, failed("unparsable_call")] }, -1.8 + 0.3],
    ["an unknown tool", { ...RIGHT, toolCalls: [found, failed("unknown_tool"), read] }, -1.9 + 0.2],
    ["bad arguments", { ...RIGHT, toolCalls: [failed("bad_arguments"), found, read] }, -1.8 + 0.1],
    [
      "the first of several: there it ends",
      { ...RIGHT, toolCalls: [failed("bad_arguments"), failed("unknown_tool"), failed("invalid_email")] },
      -1.8 + 0.1,
    ],
    ["unscored without a judge", { ...RIGHT, judge: null }, null],
    ["unscored where the judge failed", { ...RIGHT, judge: judged(null) }, null],
  ])("%s", (_, changes, value) => {
    const score = artReward.score(trace(changes), itself);
    if (value === null) expect(score).toMatchObject({ value, explanation: expect.stringContaining("no judge") });
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

  test("rests on ART's record of the rollout, field by field, up to where ART's would have ended", () => {
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

  test("counts the tokens of the turns whose model told them", () => {
    const [first, ...others] = turns(3);
    const untold = { ...(first as Turn), usage: null };
    expect(artRubric(trace({ ...RIGHT, turns: [untold, ...others] }), itself)).toMatchObject({
      prompt_tokens: 200,
      completion_tokens: 20,
    });
  });

  test("has a penalty of its own for a call that cannot be parsed, which none of our agents' rubrics has", () => {
    const rubric = { ...artRubric(trace(RIGHT), itself), cant_parse_tool_call: true };
    expect(artRewardOf(rubric, 10)).toEqual({ value: -1.6, explanation: "a tool call could not be parsed" });
  });

  test("counts the turn that there was no more of", () => {
    const none = { ...RIGHT, turns: turns(10), answer: null, ending: "out_of_turns", sources: [] } as const;
    expect(artRubric(trace({ ...none, sources: [] }), itself)).toMatchObject({ num_turns: 11, ran_out_of_turns: true });
  });

  test("reads arguments before it looks at the name of a tool", () => {
    const toolCalls = [call(0, { errorKind: "unknown_tool" })];
    const traceWith = (invalid?: string) => trace({ ...RIGHT, toolCalls, messages: [reply(0, invalid)] });
    expect(artRubric(traceWith("{"), itself)).toMatchObject({ bad_tool_call_args: true, bad_tool_call_name: false });
    expect(artRubric(traceWith(), itself)).toMatchObject({ bad_tool_call_args: false, bad_tool_call_name: true });
  });

  test("ends at a reply that calls nothing, though the agent was told and answered in the end", () => {
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
