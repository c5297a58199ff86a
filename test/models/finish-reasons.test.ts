import { describe, expect, it } from "vitest";
import { finishReasonOf } from "../../src/models/finish-reasons.js";
import { ModelError } from "../../src/models/model.js";

const thrownBy = (raw: string, calls = 0): unknown => {
  try {
    return finishReasonOf(raw, calls);
  } catch (error) {
    return error;
  }
};

describe("finishReasonOf", () => {
  it.each([
    ["stop", "stop"],
    ["end_turn", "stop"],
    ["STOP", "stop"],
    ["", "stop"],
    ["MAX_TOKENS", "length"],
    ["model_context_window_exceeded", "length"],
    ["content_filter", "refusal"],
    ["sensitive", "refusal"],
    ["SAFETY", "refusal"],
    ["MALFORMED_FUNCTION_CALL", "broken_call"],
    ["MISSING_THOUGHT_SIGNATURE", "broken_call"],
    ["endTurn", "stop"],
    ["end-of-text", "stop"],
    ["eos_token_found", "stop"],
    ["maxTokens", "length"],
    ["model context window exceeded", "length"],
    ["ContentFilter", "refusal"],
    ["content_policy", "refusal"],
    ["image_recitation", "refusal"],
    ["safety_stop", "refusal"],
    ["blacklist", "refusal"],
    ["null", "stop"],
    ["None", "stop"],
    ["succeeded", "stop"],
    ["ALTERNATIVE_STATUS_FINAL", "stop"],
  ])("maps %s to %s if there are no calls", (raw, meaning) => expect(finishReasonOf(raw, 0)).toBe(meaning));

  it.each(["stop", "", "UNEXPECTED_TOOL_CALL", "some_new_reason"])("ignores %j if the calls are complete", (raw) =>
    expect(finishReasonOf(raw, 1)).toBe("tool_calls"),
  );

  it.each(["length", "content_filter"])("keeps %s even if there are calls, because they may be incomplete", (raw) =>
    expect(finishReasonOf(raw, 1)).not.toBe("tool_calls"),
  );

  it.each([
    "error",
    "network_error",
    "insufficient_system_resource",
    "OTHER",
    "abort",
    "user_cancel",
    "not_finished",
    "finish_reason_unspecified",
  ])("throws a retryable error for %s, whatever the reply contains", (raw) => {
    for (const calls of [0, 1]) expect(thrownBy(raw, calls)).toMatchObject({ kind: "server", retryable: true });
  });

  it.each(["some_new_reason", "abnormal", "IMAGE_OTHER"])("throws an error that names the unknown reason %s", (raw) => {
    const error = thrownBy(raw);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({
      kind: "protocol",
      retryable: false,
      message: expect.stringContaining(raw),
    });
  });
});
