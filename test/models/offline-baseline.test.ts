import { describe, expect, test } from "vitest";
import type { Message, ModelRequest, ToolSpec } from "../../src/models/model.js";
import { offlineModel } from "../../src/models/providers/offline.js";
import type { JsonValue } from "../../src/platform/json.js";

const model = offlineModel("baseline");
const never = new AbortController().signal;

const tool = (name: string, ...required: string[]): ToolSpec => ({
  name,
  description: "",
  parameters: { type: "object", properties: {}, required },
});

const OURS = [tool("email_search", "query"), tool("email_get", "message_id"), tool("return_final_answer", "answer")];
const ART = [
  tool("search_emails", "keywords"),
  tool("read_email", "message_id"),
  tool("return_final_answer", "answer"),
];

const MAILS = [
  {
    message_id: "<1@x>",
    subject: "Budget review",
    sender: "dana@example.com",
    date: "2001-05-01T10:00:00Z",
    body: "All,\n\nThe budget review has moved. It is now on Thursday, May 10 at 2:30 pm in room EB3812.\n\nCall Dana Whitfield at 713-555-0188 with questions.\n\nDana",
  },
  {
    message_id: "<2@x>",
    subject: "Lunch",
    sender: "lee@example.com",
    date: "2001-05-02T10:00:00Z",
    body: "Lunch on Friday?",
  },
];

/** Runs the baseline to its end. `handle` implements the tools. */
async function play(
  question: string,
  tools: readonly ToolSpec[],
  handle: (name: string, args: { [key: string]: JsonValue }) => JsonValue | Error,
  system = "",
) {
  let messages: Message[] = [{ role: "user", content: question }];
  const calls: { name: string; arguments: JsonValue }[][] = [];
  for (let turn = 0; turn < 10; turn++) {
    const request: ModelRequest = { system, messages, tools, toolChoice: "required", maxTokens: 100 };
    const reply = await model.complete(request, never);
    calls.push(reply.toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })));
    const final = reply.toolCalls.find((call) => call.name === "return_final_answer");
    if (final || reply.toolCalls.length === 0) return { calls, reply, answer: final?.arguments ?? reply.content };
    const results = reply.toolCalls.map((call): Message => {
      const result = handle(call.name, call.arguments as { [key: string]: JsonValue });
      const isError = result instanceof Error;
      const content = isError ? result.message : JSON.stringify(result);
      return { role: "tool", toolCallId: call.id, name: call.name, content, isError };
    });
    const { content, toolCalls } = reply;
    messages = [...messages, { role: "assistant", content, toolCalls: [...toolCalls] }, ...results];
  }
  throw new Error("the baseline came to no end");
}

const hits = (mails: readonly (typeof MAILS)[number][]) => ({
  emails: mails.map(({ body, ...mail }) => ({ ...mail, snippet: body.slice(0, 60), match: "any" })),
  total: mails.length,
});

const mailbox = (name: string, args: { [key: string]: JsonValue }): JsonValue | Error => {
  if (name === "email_search") return hits(MAILS);
  return MAILS.find((mail) => mail.message_id === args.message_id) ?? new Error("no such mail");
};

describe("the end of the offline baseline", () => {
  test("comes without sources if a search has no results", async () => {
    const { answer, calls } = await play("Who?", OURS, () => ({ emails: [], total: 0 }));
    expect(answer).toEqual({ answer: "I don't know", sources: [] });
    expect(calls).toHaveLength(2);
  });

  test("comes after a failed search", async () => {
    const { answer } = await play("Who?", OURS, () => new Error("inbox_id is missing"));
    expect(answer).toEqual({ answer: "I don't know", sources: [] });
  });

  test("comes in plain text if it has neither a search tool nor a tool for the answer", async () => {
    expect((await play("Who?", [tool("other")], mailbox)).answer).toBe("I don't know");
  });

  test("comes after four searches with fewer and fewer keywords", async () => {
    const question = "When is the quarterly Caledonia pipeline inspection in 1999?";
    const { answer, calls } = await play(question, ART, () => []);
    const keywords = calls
      .slice(0, -1)
      .map(([call]) => (call?.arguments as { keywords: string[] } | undefined)?.keywords);
    expect(keywords).toEqual([
      ["Caledonia", "1999", "inspection", "quarterly"],
      ["Caledonia", "1999", "inspection"],
      ["Caledonia", "1999"],
      ["Caledonia"],
    ]);
    expect(answer).toEqual({ answer: "I don't know", sources: [] });
  });

  test("causes an error if the requested offline model is unknown", () => {
    expect(() => offlineModel("gpt")).toThrow('offline model "gpt"');
  });
});

describe("the offline baseline", () => {
  test("searches, reads the first emails in one turn, and answers with a sentence and its source", async () => {
    const question = "When and at what time is the budget review?";
    const { calls, answer, reply } = await play(question, OURS, mailbox);
    expect(calls).toEqual([
      [{ name: "email_search", arguments: { query: question, limit: 10 } }],
      [
        { name: "email_get", arguments: { message_id: "<1@x>" } },
        { name: "email_get", arguments: { message_id: "<2@x>" } },
      ],
      [{ name: "return_final_answer", arguments: answer }],
    ]);
    expect(answer).toEqual({ answer: "It is now on Thursday, May 10 at 2:30 pm in room EB3812.", sources: ["<1@x>"] });
    expect(reply).toMatchObject({
      usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
      latencyMs: 0,
      finishReason: "tool_calls",
    });
  });

  test.each([
    ["What is the phone number for budget review questions?", "Call Dana Whitfield at 713-555-0188 with questions."],
    ["Who takes questions on the budget review?", "Call Dana Whitfield at 713-555-0188 with questions."],
    ["Where is the budget review?", "It is now on Thursday, May 10 at 2:30 pm in room EB3812."],
  ])("searches for the subject of the question (%s)", async (question, expected) => {
    const { answer } = await play(question, OURS, mailbox);
    expect(answer).toMatchObject({ answer: expected });
  });

  test("returns the same answer if asked again", async () => {
    const [a, b] = [await play("When is lunch?", OURS, mailbox), await play("When is lunch?", OURS, mailbox)];
    expect(a).toEqual(b);
  });

  test("prefers a later email to the first only if it is clearly better", async () => {
    const { answer } = await play("When is the lunch with Lee?", OURS, mailbox);
    expect(answer).toEqual({ answer: "Lunch on Friday?", sources: ["<2@x>"] });
  });

  test("uses the mailbox in the system prompt if the search requires one", async () => {
    const tools = [tool("email_search", "query", "inbox_id"), ...OURS.slice(1)];
    const { calls } = await play("Who?", tools, mailbox, "You help dana.w@example.com. Today is 2001-05-03.");
    expect(calls[0]?.[0]?.arguments).toMatchObject({ inbox_id: "dana.w@example.com" });
  });

  test("can use ART's tools, which return plain lists", async () => {
    let searches = 0;
    const { answer, calls } = await play("When is the Budget review?", ART, (name, args) => {
      if (name !== "search_emails") return mailbox("email_get", args);
      return ++searches === 1
        ? []
        : [
            { message_id: "<1@x>", snippet: "budget" },
            { message_id: "<1@x>", snippet: "" },
          ];
    });
    expect(calls.map(([call]) => call?.name)).toEqual([
      "search_emails",
      "search_emails",
      "read_email",
      "return_final_answer",
    ]);
    expect(calls[2]).toHaveLength(1);
    expect(answer).toMatchObject({ sources: ["<1@x>"] });
  });

  test("answers from the snippets if it cannot read mail", async () => {
    const failing = (name: string) => (name === "email_search" ? hits(MAILS) : new Error("not in this inbox"));
    expect((await play("When is lunch?", OURS, failing)).answer).toEqual({
      answer: "Lunch on Friday?",
      sources: ["<2@x>"],
    });
  });

  test("truncates an answer from an email that consists of one very long line", async () => {
    const body = `${"word ".repeat(2000)}the deadline is June 5 ${"word ".repeat(2000)}`;
    const { answer } = await play("When is the deadline?", OURS, (name) =>
      name === "email_search" ? hits(MAILS.slice(0, 1)) : { message_id: "<1@x>", subject: "s", body },
    );
    const text = (answer as { answer: string }).answer;
    expect(text).toContain("June 5");
    expect(text.length).toBeLessThanOrEqual(200);
  });
});
