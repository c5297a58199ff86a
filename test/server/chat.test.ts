import { afterAll, describe, expect, it } from "vitest";
import { chatEventSchema } from "../../src/server/chat-event.js";
import { type Answer, startFakeProvider } from "../providers/fake-provider.js";
import { MARCUS, RUTH } from "../runs/demo-setup.js";
import { eventsOf, openChat, says, startDemoServer } from "./demo-server.js";

const DUES = "How much are the softball dues?";

const provider = await startFakeProvider();
const server = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });
afterAll(async () => {
  await server.close();
  await provider.close();
});

const search = (args: object = {}): Answer => ({
  toolCalls: [{ name: "email_search", arguments: { query: "dues", inbox_id: MARCUS, ...args } }],
});
const finish = (answer: string, sources: string[] = []): Answer => ({
  toolCalls: [{ name: "return_final_answer", arguments: { answer, sources } }],
});

/** Returns all events of one chat with a model that gives these answers. */
async function chat(answers: readonly Answer[], body: object, agent = "email-search") {
  provider.push(...answers);
  const response = await openChat(server.url, agent, { modelId: "openai/test", ...body });
  expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
  const events = await eventsOf(response);
  expect(events.at(-1)).toBe("[DONE]");
  for (const event of events.slice(0, -1)) chatEventSchema.parse(event);
  const types = events.map((event) => event.type ?? event);
  const info = events.find((event) => event.type === "session-info");
  const trace = info && (await server.ask("GET", `/api/traces/${info.traceId}`)).body;
  return { events, types, info, trace };
}

const bound = (content: string, inbox = MARCUS, day = "2001-12-31") => ({
  ...says(content),
  variables: { inbox_address: inbox, query_date: day },
});

describe("a chat", () => {
  it("sends event by event, and its trace is already stored when an event mentions it", async () => {
    const { events, types, info, trace } = await chat(
      [{ ...search(), content: "Let me look." }, finish("$40", ["<1@x>"])],
      bound(DUES),
    );
    expect(types).toEqual([
      "message-start",
      "text-delta",
      "tool-call",
      "tool-call-args",
      "tool-call-end",
      "tool-result",
      "tool-call",
      "tool-call-args",
      "tool-call-end",
      "text-delta",
      "tool-result",
      "finish",
      "session-info",
      "[DONE]",
    ]);
    expect(events[1].text).toBe("Let me look.");
    expect(events[2].toolName).toBe("email_search");
    expect(JSON.parse(events[3].args)).toEqual({ query: "dues", inbox_id: MARCUS });
    expect(events[5].result.emails.length).toBeGreaterThan(0);
    expect(events[9].text).toBe("$40");
    expect(events[11].messageId).toBe(events[0].messageId);
    expect(trace).toMatchObject({
      run_id: null,
      session_id: info.sessionId,
      agent_id: "email-search",
      model: "openai/test",
      ending: "answered",
      question: DUES,
      answer: "$40",
      trace: { inbox: MARCUS, queryDate: "2001-12-31", agentVersion: 1, sources: ["<1@x>"] },
    });
    expect(trace.steps.map((step: { metadata: { span_name: string } }) => step.metadata.span_name)).toEqual([
      "openai/test",
      "email_search",
      "openai/test",
      "return_final_answer",
    ]);
  });

  it("inserts mailbox, date, turns and tools into the prompt", async () => {
    const prompt = "{{inbox_address}} {{ query_date }} {{max_turns}}\n{{tools}}";
    await server.ask("POST", "/api/agents", { id: "prompted", name: "p", prompt });
    const variables = {
      inbox_address: ` ${MARCUS.toUpperCase()} `,
      query_date: "2001-05-14T00:00:00Z",
      max_turns: "3",
    };
    const { trace } = await chat([finish("x")], { ...says("?"), variables }, "prompted");
    expect(trace.trace.messages[0].content).toMatch(new RegExp(`^${MARCUS} 2001-05-14 3\n- email_search: `));
    expect(trace.trace.maxTurns).toBe(3);
  });

  it("ends with an answer in plain text", async () => {
    const { types, trace } = await chat([{ content: "It is $40." }], bound(DUES));
    expect(types).toEqual(["message-start", "text-delta", "finish", "session-info", "[DONE]"]);
    expect(trace.answer).toBe("It is $40.");
  });

  it("reaches only its own mailbox, and no later email", async () => {
    const { events } = await chat(
      [search({ inbox_id: RUTH }), search(), finish("x")],
      bound("?", MARCUS, "2000-01-01"),
    );
    const [refused, found] = events.filter(({ type }) => type === "tool-result");
    expect(refused.result.error).toContain(`You may search only the mailbox ${MARCUS}`);
    expect(found.result.emails.every(({ date }: { date: string }) => date < "2000-01-02")).toBe(true);
  });

  it("searches any mailbox by default", async () => {
    const { events } = await chat([search({ inbox_id: RUTH, query: "the" }), finish("x")], says("?"));
    expect(events.find(({ type }) => type === "tool-result").result.emails.length).toBeGreaterThan(0);
  });
});

describe("a chat without an answer", () => {
  it("ends with the name of its ending if its turns are used up", async () => {
    const variables = { inbox_address: MARCUS, max_turns: 2 };
    const { events, trace } = await chat([search(), search()], { ...says("?"), variables });
    expect(events.at(-3)).toMatchObject({ type: "error", errorCategory: "out_of_turns", retryable: false });
    expect(trace.ending).toBe("out_of_turns");
  });

  it("ends with the model's error", async () => {
    const { events, trace } = await chat([{ fail: "status", status: 401, message: "bad key" }], bound("?"));
    expect(events.at(-3)).toMatchObject({ type: "error", errorCategory: "auth", retryable: false });
    expect(trace).toMatchObject({ ending: "model_error", answer: null });
  });

  it("ends within its time limit", async () => {
    const hasty = await startDemoServer({
      modelServer: provider.baseUrl("openai-chat"),
      services: { chatTimeoutMs: 50 },
    });
    provider.push({ fail: "silence" });
    const events = await eventsOf(await openChat(hasty.url, "email-search", { modelId: "openai/test", ...says("?") }));
    expect(events.at(-3)).toMatchObject({ type: "recoverable-error", errorCode: "TIMEOUT", recoverable: true });
    expect(events.at(-1)).toBe("[DONE]");
    expect(hasty.chats.count).toBe(0);
    await hasty.close();
  });
});

describe("a session", () => {
  it("continues with its earlier messages and settings", async () => {
    const first = await chat([finish("$40")], bound(DUES));
    const { sessionId } = first.info;
    const second = await chat([search({ inbox_id: RUTH }), finish("Priya")], { ...says("Who takes them?"), sessionId });
    expect(second.info.sessionId).toBe(sessionId);
    expect(second.events.find(({ type }) => type === "tool-result").result.error).toContain(MARCUS);
    const sent = provider.requests.at(-1)?.body as { messages: { role: string; content: string }[] };
    expect(sent.messages.filter(({ role }) => role === "user").map(({ content }) => content)).toEqual([
      DUES,
      "Who takes them?",
    ]);
    // The steps are from this chat only, with all of its messages.
    const replies = second.trace.steps.filter(
      ({ metadata }: { metadata: { span_name: string } }) => metadata.span_name === "openai/test",
    );
    expect(replies).toHaveLength(2);
    expect(replies[0]).toMatchObject({ input: "Who takes them?", tool_calls: [{ tool_name: "email_search" }] });

    const { body } = await server.ask("GET", `/api/sessions/${sessionId}`);
    expect(body).toMatchObject({ agent_id: "email-search", inbox_address: MARCUS, query_date: "2001-12-31" });
    expect(body.messages.filter(({ role }: { role: string }) => role === "user")).toHaveLength(2);
    const [newest] = (await server.ask("GET", "/api/sessions?q=agent:email-search")).body.sessions;
    expect(newest).toMatchObject({ id: sessionId, chats: 2 });
  });

  it("forgets a failed chat", async () => {
    const { info } = await chat([finish("$40")], bound(DUES));
    await chat([{ fail: "status", status: 400, message: "no" }], { ...says("Lost"), sessionId: info.sessionId });
    await chat([finish("yes")], { ...says("Still there?"), sessionId: info.sessionId });
    const { body } = await server.ask("GET", `/api/sessions/${info.sessionId}`);
    const asked = body.messages.filter(({ role }: { role: string }) => role === "user");
    expect(asked.map(({ content }: { content: string }) => content)).toEqual([DUES, "Still there?"]);
  });

  it("cannot change its mailbox, date or agent", async () => {
    const { info } = await chat([finish("x")], bound(DUES));
    const path = (agent: string) => `/api/agents/${agent}/playground/chat`;
    const go = (agent: string, body: object) =>
      server.ask("POST", path(agent), { sessionId: info.sessionId, ...body } as never);
    expect((await go("email-search", bound("?", RUTH))).body.error.message).toContain(`bound to ${MARCUS}`);
    expect((await go("email-search", bound("?", MARCUS, "2002-01-01"))).status).toBe(400);
    expect((await go("baseline", says("?"))).status).toBe(404);
    expect((await server.ask("POST", path("baseline"), { ...says("?"), sessionId: "nothing" })).status).toBe(404);
  });

  it("starts with earlier messages from the client", async () => {
    const messages = [
      { role: "system", content: "Be kind." },
      { role: "user", content: "My name is Ann." },
      { role: "assistant", content: "Hello Ann." },
      { role: "user", content: "Who am I?" },
    ];
    const { trace } = await chat([finish("Ann")], { messages });
    expect(trace.trace.historyLength).toBe(2);
    expect(trace.question).toBe("Who am I?");
    expect(trace.trace.messages[0].content).toMatch(/\n\nBe kind\.$/);
  });
});

it.each([
  ["no message", { messages: [] }],
  ["an empty body", {}],
  ["a last message that is not the user's", { messages: [{ role: "assistant", content: "x" }] }],
  ["a mailbox that would be markup in the prompt", { ...says("?"), variables: { inbox_address: "a@b {{tools}}" } }],
  ["an unknown mailbox", { ...says("?"), variables: { inbox_address: "nobody@nowhere.example" } }],
  ["an impossible date", { ...says("?"), variables: { query_date: "2001-02-30" } }],
  ["a model without a key", { ...says("?"), modelId: "anthropic/claude-sonnet-4-5" }],
  ["an unknown model", { ...says("?"), modelProvider: "acme", modelId: "best" }],
  ["a file on the server as a model", { ...says("?"), modelId: "replay//etc/passwd" }],
])("rejects a chat before it starts if it has %s", async (_, body) => {
  const { status, body: told } = await server.ask("POST", "/api/agents/email-search/playground/chat", body as never);
  expect([status, told.error.code]).toEqual([400, "VALIDATION_ERROR"]);
  expect(JSON.stringify(told)).not.toContain("root:");
});

it("rejects a chat with the most similar addresses if its mailbox is unknown", async () => {
  const variables = { inbox_address: MARCUS.replace("hale", "hail") };
  const path = "/api/agents/baseline/playground/chat";
  const { status, body } = await server.ask("POST", path, { ...says(DUES), variables });
  expect([status, body.error.details.reason]).toEqual([400, "inbox_unknown"]);
  expect(body.error.details.hint).toContain(MARCUS);
});

it("rejects chats above the limit with a retry time, and runs one chat at a time", async () => {
  const small = await startDemoServer({ maxChats: 2, modelServer: provider.baseUrl("openai-chat") });
  const before = provider.requests.length;
  const leaving = new AbortController();
  const body = { modelId: "openai/test", ...says("?") };
  const path = "/api/agents/email-search/playground/chat";
  const first = await eventsOf(await openChat(small.url, "baseline", says("?")));
  const { sessionId } = first.find(({ type }) => type === "session-info");
  provider.push({ fail: "silence" }, { fail: "silence" });
  await openChat(small.url, "baseline", { ...body, sessionId }, leaving.signal);
  await provider.received(before + 1);
  const busy = await small.ask("POST", "/api/agents/baseline/playground/chat", { ...says("?"), sessionId });
  expect([busy.status, busy.body.error.code]).toEqual([409, "CONFLICT"]);
  await openChat(small.url, "email-search", body, leaving.signal);
  await provider.received(before + 2);
  const refused = await small.ask("POST", path, body);
  expect([refused.status, refused.body.error.code, refused.headers.get("retry-after")]).toEqual([
    503,
    "OVERLOADED",
    "2",
  ]);
  expect((await small.ask("GET", "/api/health")).body.chats).toBe(2);
  leaving.abort();
  await expect.poll(() => small.chats.count, { timeout: 20_000 }).toBe(0);
  await small.close();
});
