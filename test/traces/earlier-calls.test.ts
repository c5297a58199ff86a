import { describe, expect, it } from "vitest";
import { FEATURES, viewOf } from "../../src/evals/features.js";
import { evalArguments } from "../../src/evals/run-evals/run-python-evals.js";
import { traceDigest } from "../../src/evals/run-evals/run-rubric.js";
import type { Message } from "../../src/models/model.js";
import { stepsOf } from "../../src/reports/trace-view.js";
import { earlierCalls } from "../../src/traces/earlier-calls.js";
import type { ChatTrace } from "../../src/traces/trace.js";

const call = (id: string, name: string) => ({ id, name, arguments: { message_id: "<a@b>" } });
const asked = (id: string, name: string): Message => ({ role: "assistant", content: "", toolCalls: [call(id, name)] });
const told = (toolCallId: string, content: string, isError = false): Message => ({
  role: "tool",
  toolCallId,
  name: "email_get",
  content,
  isError,
});

const MAIL = { message_id: "<a@b>", subject: "Dues", body: "Dues are $40." };

const TURN = { latencyMs: 400, usage: null, costUsd: null, finishReason: "stop", retries: [] };

const HISTORY: Message[] = [
  { role: "user", content: "How much are the dues?" },
  asked("c1", "email_get"),
  told("c1", JSON.stringify(MAIL)),
  asked("c2", "email_get"),
  told("c2", "There is no such email.", true),
  asked("c3", "run_shell"),
  told("c3", "plain text"),
  asked("c4", "email_get"),
];

const followUp = {
  kind: "chat",
  messages: [
    { role: "system", content: "You answer." },
    ...HISTORY,
    { role: "user", content: "And where did you read that?" },
    { role: "assistant", content: "In that email: $40.", toolCalls: [] },
  ],
  historyLength: HISTORY.length,
  toolCalls: [],
  model: "acme/best",
  turns: [TURN],
  answer: "In that email: $40.",
  ending: "answered",
  sources: ["<a@b>"],
  question: "And where did you read that?",
  inbox: null,
  queryDate: null,
  durationMs: 1,
} as unknown as ChatTrace;

describe("earlierCalls", () => {
  it("returns the calls in earlier chats, and takes their results from the messages", () => {
    expect(earlierCalls(followUp)).toEqual([
      { ...call("c1", "email_get"), result: MAIL, error: null },
      { ...call("c2", "email_get"), result: null, error: "There is no such email." },
      { ...call("c3", "run_shell"), result: "plain text", error: null },
    ]);
  });

  it("returns nothing if the trace has no history", () => {
    expect(earlierCalls({ messages: followUp.messages })).toEqual([]);
  });
});

describe("the conversation of a follow-up question", () => {
  const steps = stepsOf(followUp);

  it("contains the results of earlier calls", () => {
    expect(steps.flatMap(({ calls }) => calls).map(({ result, error }) => error ?? result)).toEqual([
      MAIL,
      "There is no such email.",
      "plain text",
      null,
    ]);
  });

  it("counts only the replies of this question", () => {
    const replies = steps.filter(({ role }) => role === "assistant");
    expect(replies.map((step) => step.turn?.latencyMs ?? null)).toEqual([null, null, null, null, 400]);
  });
});

describe("an eval of a follow-up question", () => {
  it.each(["sources_read", "sources_returned", "numbers_in_mail", "numbers_in_results"])(
    "counts an email that an earlier chat opened (%s)",
    (feature) => expect(FEATURES[feature]?.of(viewOf(followUp))).toMatchObject({ value: 1 }),
  );

  const found = { emails: [{ message_id: MAIL.message_id, subject: MAIL.subject }] };
  const searched = { id: "s1", name: "email_search", arguments: { query: "dues" }, result: found, error: null };
  const gaveUp = { ...followUp, ending: "dont_know", toolCalls: [searched] } as unknown as ChatTrace;

  it("does not call an abstention unread if an earlier chat opened what the search returned", () => {
    expect(FEATURES.gave_up_unread?.of(viewOf(gaveUp))).toEqual({ value: 0 });
    expect(FEATURES.gave_up_unread?.of(viewOf({ ...gaveUp, historyLength: 0 }))).toMatchObject({ value: 1 });
  });

  it("counts a call that repeats one of an earlier chat", () => {
    const again = { ...followUp, toolCalls: [searched, { ...searched, ...call("c5", "email_get"), result: MAIL }] };
    expect(FEATURES.repeated_calls?.of(viewOf(again as unknown as ChatTrace))).toMatchObject({ value: 1 });
    expect(FEATURES.repeated_calls?.of(viewOf(followUp))).toMatchObject({ value: 0 });
  });

  it("shows the calls of earlier chats to a rubric's model", () => {
    expect(traceDigest(followUp, 4_000).split("\n")).toContain(
      `Call 1 of an earlier question: email_get({"message_id":"<a@b>"}) -> ${JSON.stringify(MAIL)}`,
    );
    expect(traceDigest(gaveUp, 4_000)).toContain('Call 1: email_search({"query":"dues"})');
    expect(traceDigest(gaveUp, 4_000)).toContain("1 turn, 1 tool call");
  });

  it("passes the calls of earlier chats to code", () => {
    expect(evalArguments({ ...gaveUp, scores: {} }, false).trace).toMatchObject({
      earlierToolCalls: earlierCalls(followUp),
      toolCalls: [searched],
    });
  });
});
