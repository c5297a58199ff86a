import { describe, expect, it } from "vitest";
import type { Message } from "../../src/models/model.js";
import { traceView } from "../../src/reports/trace-view.js";
import { judged } from "../scoring/judged-trace.js";
import { called } from "../scoring/trace.js";
import { ANSWERED } from "../trace-formats/traces.js";

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

describe("a trace for the page", () => {
  it("has each call with what it gave, those that were never made too", () => {
    const { steps } = traceView(ANSWERED, source);
    expect(steps.map(({ role }) => role)).toEqual(["system", "user", "assistant", "assistant"]);
    expect(steps[2]?.calls).toEqual([
      { name: "email_search", arguments: { query: "call" }, result: { total: 1 }, error: null, durationMs: 12 },
      { name: "email_get", arguments: "{broken", result: null, error: "not JSON", durationMs: 1 },
      { name: "email_get", arguments: { message_id: "<1@x>" }, result: null, error: null, durationMs: null },
    ]);
    expect(steps[2]?.turn).toEqual({
      ...{
        latencyMs: 800,
        waitedMs: 0,
        tokens: { input: 100, output: 20 },
        costUsd: 0.001,
        finishReason: "tool_calls",
        retries: 0,
      },
    });
    expect(steps[3]?.turn?.tokens).toBeNull();
  });

  it("says of a call that was not made what the model was told of it, and gives it no result", () => {
    const content = "Not called: only the first tool call of a turn is made.";
    const told: Message = { role: "tool", toolCallId: "c3", name: "email_get", content, isError: true };
    const { steps } = traceView({ ...ANSWERED, messages: [...ANSWERED.messages, told] }, source);
    expect(steps[2]?.calls[2]).toMatchObject({ result: null, error: content, durationMs: null });
    expect(steps).toHaveLength(4);
  });

  it("keeps calls apart whose ids come again in a later turn", () => {
    const asking = (name: string): Message => ({
      ...{ role: "assistant", content: "", toolCalls: [{ id: "c1", name, arguments: {} }] },
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
  ])("says of a gold mail that it was %s, by whichever copy", (reached, result) => {
    const view = traceView({ ...ANSWERED, toolCalls: [called("any", result)], sources: ["<copy@x>"] }, source);
    expect(view.gold).toEqual([{ ...MAIL, reached, cited: true }]);
    expect([...view.goldIds].sort()).toEqual(["<1@x>", "<copy@x>"]);
  });

  it("names gold mail that is not there, and has a judge's verdict where there is one", () => {
    const task = { ...ANSWERED.task, message_ids: ["<gone@x>"] };
    const graded = { ...ANSWERED, task, judge: judged("partly", { reason: "no time" }) };
    expect(traceView(graded, source)).toMatchObject({
      ...{ gold: [], goldMissing: ["<gone@x>"], judge: { verdict: "partly", reason: "no time" } },
    });
    expect(traceView(ANSWERED, source).judge).toBeNull();
  });
});
