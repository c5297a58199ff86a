import { describe, expect, it } from "vitest";
import { FEATURES, viewOf } from "../../src/evals/run-evals/features.js";
import type { Message } from "../../src/models/model.js";
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
  turns: [],
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

describe("an eval of a follow-up question", () => {
  it.each(["sources_read", "sources_returned", "numbers_in_mail", "numbers_in_results"])(
    "counts an email that an earlier chat opened: %s",
    (feature) => expect(FEATURES[feature]?.of(viewOf(followUp))).toMatchObject({ value: 1 }),
  );
});
