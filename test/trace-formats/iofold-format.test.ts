import { describe, expect, it } from "vitest";
import { iofoldSteps } from "../../src/trace-formats/formats.js";
import { stepSchema } from "./step-schema.js";
import { ANSWERED, FAILED } from "./traces.js";

const stepsOf = (trace: typeof ANSWERED) => iofoldSteps(trace).map((line) => stepSchema.parse(JSON.parse(line)));

describe("a trace as iofold's steps", () => {
  it("has a step for every model call and, after it, one for every tool call it made", () => {
    expect(
      stepsOf(ANSWERED).map(({ step_id, metadata }) => [step_id, metadata.parent_span_id, metadata.span_name]),
    ).toEqual([
      ["trace_1_turn1", null, "acme/best"],
      ["trace_1_turn1_tool1", "trace_1_turn1", "email_search"],
      ["trace_1_turn1_tool2", "trace_1_turn1", "email_get"],
      ["trace_1_turn2", null, "acme/best"],
    ]);
  });

  it("adds prompt and question with the first model call, and each message once", () => {
    const added = stepsOf(ANSWERED).flatMap((step) => step.messages_added);
    expect(added.map(({ role, content }) => [role, content])).toEqual([
      ["system", "You search."],
      ["user", "When is the call?"],
      ["assistant", "Let me look."],
      ["tool", '{"total":1}'],
      ["tool", "not JSON"],
      ["assistant", "On Friday."],
    ]);
  });

  it("tells what the model was given, what it said, and how long it took for how many tokens", () => {
    const [first, , , last] = stepsOf(ANSWERED);
    expect(first).toMatchObject({
      timestamp: "2026-01-02T03:04:05.100Z",
      input: "When is the call?",
      output: "Let me look.",
      metadata: { latency_ms: 800, tokens_input: 100, tokens_output: 20 },
      error: null,
    });
    expect(last).toMatchObject({ output: "On Friday.", metadata: { tokens_input: null, tokens_output: null } });
  });

  it("keeps the calls of a reply with their results, the refused and the never made with their errors", () => {
    expect(stepsOf(ANSWERED)[0]?.tool_calls).toEqual([
      { tool_name: "email_search", arguments: { query: "call" }, result: { total: 1 }, error: null },
      { tool_name: "email_get", arguments: {}, result: null, error: "not JSON" },
      { tool_name: "email_get", arguments: { message_id: "<1@x>" }, result: null, error: "not called" },
    ]);
    expect(stepsOf(ANSWERED)[2]).toMatchObject({ input: {}, output: null, error: "not JSON" });
  });

  it("of a task that failed before any reply is one step with its error", () => {
    const steps = stepsOf(FAILED);
    expect(steps).toMatchObject([{ step_id: "trace_2_turn1", output: null, error: "401 no", tool_calls: [] }]);
    expect(steps[0]?.messages_added).toHaveLength(2);
  });

  it("of a task that failed later holds the error in its last model step alone", () => {
    const steps = stepsOf({ ...ANSWERED, ending: "timeout", error: "too late" });
    expect(steps.map((step) => step.error)).toEqual([null, null, "not JSON", "too late"]);
  });
});
