import { describe, expect, test } from "vitest";
import type { ToolErrorKind } from "../../src/domain/tool.js";
import type { ToolCallRecord, Turn } from "../../src/domain/trace.js";
import { artReward, artRubric } from "../../src/scoring/art-rubric.js";
import { judged } from "./judged.js";
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
    ["out of turns", { ...RIGHT, answer: null, ending: "out_of_turns", sources: [] }, 0.3],
    ["out of budget", { ...RIGHT, answer: null, ending: "out_of_budget", sources: [] }, 0.3],
    [
      "an invalid id read",
      { ...RIGHT, toolCalls: [found, read, failed("invalid_email")], judge: judged("wrong") },
      -0.7,
    ],
    ["a call that could not be parsed", { ...RIGHT, toolCalls: [failed("unparsable_call"), found, read] }, -2 + 0.4],
    ["an unknown tool", { ...RIGHT, toolCalls: [failed("unknown_tool"), found, read] }, -1.9 + 0.4],
    ["bad arguments", { ...RIGHT, toolCalls: [failed("bad_arguments"), found, read] }, -1.8 + 0.4],
    [
      "the worst of several: the first rule that holds",
      { ...RIGHT, toolCalls: [failed("bad_arguments"), failed("unknown_tool"), failed("unparsable_call")] },
      -2 + 0.2,
    ],
    ["untold without a judge", { ...RIGHT, judge: null }, null],
    ["untold where the judge failed", { ...RIGHT, judge: judged(null) }, null],
  ])("%s", (_, changes, value) => {
    const score = artReward.score(trace(changes), itself);
    if (value === null) expect(score).toMatchObject({ value, explanation: expect.stringContaining("no judge") });
    else expect(score.value).toBeCloseTo(value, 10);
  });

  test("rests on ART's record of the rollout, field by field", () => {
    expect(
      artRubric(trace({ ...RIGHT, toolCalls: [found, failed("bad_arguments")], durationMs: 1_500 }), itself),
    ).toEqual({
      answer_correct: true,
      sources_correct: true,
      num_turns: 3,
      attempted_answer: true,
      ever_found_right_email: true,
      ever_read_right_email: false,
      cant_parse_tool_call: false,
      bad_tool_call_name: false,
      bad_tool_call_args: true,
      ran_out_of_turns: false,
      returned_i_dont_know: false,
      num_sources: 1,
      ever_tried_to_read_invalid_email: false,
      prompt_tokens: 300,
      completion_tokens: 30,
      duration: 1.5,
    });
  });
});
