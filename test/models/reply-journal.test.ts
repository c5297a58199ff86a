import { describe, expect, it } from "vitest";
import { type Completion, type Message, type Model, ModelError, type ModelRequest } from "../../src/models/model.js";
import {
  type JournalEntry,
  journalEntrySchema,
  RequestDigests,
  TaskJournal,
  withJournal,
} from "../../src/models/reply-journal.js";

const never = new AbortController().signal;

const reply = (content: string): Completion => ({
  content,
  toolCalls: [{ id: "c1", name: "email_search", arguments: { query: "budget", limit: 5 } }],
  finishReason: "tool_calls",
  rawFinishReason: "tool_use",
  usage: { inputTokens: 7, outputTokens: 3, cachedInputTokens: 1 },
  costUsd: 0.25,
  latencyMs: 12.5,
  retries: [],
  providerState: { provider: "anthropic", value: [{ type: "thinking", signature: "s" }] },
});

const QUESTION: Message = { role: "user", content: "What is the budget?" };

const request = (...messages: Message[]): ModelRequest => ({
  system: "You answer questions.",
  messages: [QUESTION, ...messages],
  tools: [{ name: "email_search", description: "Searches.", parameters: { type: "object" } }],
  toolChoice: "auto",
  maxTokens: 100,
});

const assistant = ({ content, toolCalls, providerState }: Completion): Message => ({
  role: "assistant",
  content,
  toolCalls: [...toolCalls],
  ...(providerState === undefined ? {} : { providerState }),
});

const result = (content: string): Message => ({
  role: "tool",
  toolCallId: "c1",
  name: "email_search",
  content,
  isError: false,
});

const throughJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const SENDERS = { agent: "the agent's server", judge: "the judge's server" };

const digestOf = (asked: ModelRequest, model = "anthropic/m", sender = SENDERS.agent) =>
  new RequestDigests(model, sender).of(asked);

describe("RequestDigests", () => {
  it("gives a growing conversation the same digests as a new process does", () => {
    const growing = new RequestDigests("anthropic/m", SENDERS.agent);
    const messages: Message[] = [];
    for (const text of ["first", "second", "third"]) {
      messages.push(assistant(reply(text)), result(text));
      expect(growing.of(request(...messages))).toBe(digestOf(throughJson(request(...messages))));
    }
  });

  it("starts again if the conversation is not a continuation", () => {
    const digests = new RequestDigests("anthropic/m", SENDERS.agent);
    digests.of(request(result("a"), result("b")));
    expect(digests.of(request(result("b")))).toBe(digestOf(request(result("b"))));
    expect(digests.of(request())).toBe(digestOf(request()));
  });

  it.each<[string, Partial<ModelRequest>]>([
    ["system prompt", { system: "You guess." }],
    ["messages", { messages: [{ role: "user", content: "What is the budget" }] }],
    ["tools", { tools: [] }],
    ["tool choice", { toolChoice: "required" }],
    ["token limit", { maxTokens: 101 }],
    ["reasoning tokens", { reasoningTokens: 1 }],
    ["reasoning effort", { reasoningEffort: "low" }],
    ["temperature", { temperature: 0 }],
  ])("depends on the %s", (_, change) => {
    expect(digestOf({ ...request(), ...change })).not.toBe(digestOf(request()));
  });

  it("depends on the model, but not on the task", () => {
    expect(digestOf(request(), "anthropic/n")).not.toBe(digestOf(request()));
    expect(digestOf({ ...request(), task: { id: 3, epoch: 2 } })).toBe(digestOf(request()));
  });
});

describe("withJournal", () => {
  function modelWith(complete: Model["complete"]): Model {
    return { id: "anthropic/m", complete };
  }

  const storedEntry = (asked: ModelRequest, content: string): JournalEntry => ({
    caller: "agent",
    sender: SENDERS.agent,
    request: digestOf(asked),
    reply: reply(content),
  });

  it("returns a reply only after it is stored", async () => {
    let isStored = false;
    const journal = new TaskJournal(
      [],
      async (entry, position) => {
        expect([position, journalEntrySchema.parse(throughJson(entry)).reply]).toEqual([0, reply("paid")]);
        await new Promise((resolve) => setTimeout(resolve, 5));
        isStored = true;
      },
      SENDERS,
    );
    const model = withJournal(
      modelWith(async () => reply("paid")),
      journal,
      "agent",
    );
    expect(await model.complete(request(), never)).toEqual(reply("paid"));
    expect(isStored).toBe(true);
  });

  it("uses each stored reply once, in order, and then calls the model", async () => {
    const added: [string, number][] = [];
    const journal = new TaskJournal(
      [storedEntry(request(), "one"), storedEntry(request(), "two")],
      async ({ reply: { content } }, position) => void added.push([content, position]),
      SENDERS,
    );
    const model = withJournal(
      modelWith(async () => reply("new")),
      journal,
      "agent",
    );
    const replies = [1, 2, 3].map(() => model.complete(request(), never));
    expect(await Promise.all(replies)).toEqual([
      { ...reply("one"), resumed: true },
      { ...reply("two"), resumed: true },
      reply("new"),
    ]);
    expect(added).toEqual([["new", 2]]);
    expect(journal.unused).toEqual([]);
  });

  it("does not use a stored reply to another request, and lists it as unused", async () => {
    const other = storedEntry(request(result("another result")), "other");
    const journal = new TaskJournal([other], async () => {}, SENDERS);
    const model = withJournal(
      modelWith(async () => reply("new")),
      journal,
      "agent",
    );
    expect((await model.complete(request(result("a result")), never)).content).toBe("new");
    expect(journal.unused).toEqual([other]);
  });

  it("does not use a reply to the same request to another server, or with other headers or body fields", async () => {
    const other = storedEntry(request(), "other");
    const journal = new TaskJournal([other], async () => {}, { ...SENDERS, agent: "another server" });
    const model = withJournal(
      modelWith(async () => reply("new")),
      journal,
      "agent",
    );
    expect((await model.complete(request(), never)).content).toBe("new");
    expect(journal.unused).toEqual([other]);
  });

  it("does not store failures and cached replies", async () => {
    const journal = new TaskJournal([], () => Promise.reject(new Error("stored")), SENDERS);
    const failure = new ModelError("server", "500", { retryable: true });
    await expect(
      withJournal(
        modelWith(() => Promise.reject(failure)),
        journal,
        "agent",
      ).complete(request(), never),
    ).rejects.toBe(failure);
    const cached = { ...reply("cached"), cached: true };
    expect(
      await withJournal(
        modelWith(async () => cached),
        journal,
        "agent",
      ).complete(request(), never),
    ).toBe(cached);
  });

  it("throws the signal's reason instead of returning a stored reply", async () => {
    const journal = new TaskJournal([storedEntry(request(), "one")], async () => {}, SENDERS);
    const model = withJournal(
      modelWith(async () => reply("new")),
      journal,
      "agent",
    );
    await expect(model.complete(request(), AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
  });
});
