import { afterEach, describe, expect, it } from "vitest";
import { chatEventSchema } from "../../src/server/chat-event.js";
import {
  STREAMS,
  type StreamedReply,
  type StreamingProvider,
  type StreamScript,
  startStreamingProvider,
} from "../providers/streaming-provider.js";
import { MARCUS } from "../runs/demo-setup.js";
import { type DemoServer, says, startDemoServer } from "./demo-server.js";

/** Answers that arrive at the clients of the server while the model is still writing them. */

const WORDS = ["The softball ", "dues ", "are ", "$40, ", "as Ruth ", "says."];
const ANSWER = WORDS.join("");
const SEARCH: StreamedReply = {
  text: ["Let me ", "look."],
  calls: [{ id: "c1", name: "email_search", args: [`{"query":"dues",`, `"inbox_id":"${MARCUS}"}`] }],
};
const FINAL: StreamedReply = {
  calls: [{ id: "c2", name: "return_final_answer", args: ['{"ans', 'wer":"', ...WORDS, '","sources":["<1@', 'x>"]}'] }],
};

let provider: StreamingProvider;
let server: DemoServer;
afterEach(async () => {
  await server.close();
  await provider.close();
});

const script = (reply: StreamedReply, everyMs?: number): StreamScript => {
  const { parts, finish } = STREAMS["openai-chat"](reply);
  return { frames: [...parts, ...finish], ...(everyMs === undefined ? {} : { everyMs }) };
};

async function start(...scripts: StreamScript[]): Promise<void> {
  provider = await startStreamingProvider(scripts);
  server = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });
  await server.ask("POST", "/api/agents", { id: "streamer", name: "s", model: "openai/test" });
}

interface Timed {
  readonly atMs: number;
  // biome-ignore lint/suspicious/noExplicitAny: the tests check every field that they read.
  readonly event: any;
}

/** Posts a request and returns each event with its time. */
async function timedEvents(path: string, body: object, signal?: AbortSignal): Promise<Timed[]> {
  const startedAt = performance.now();
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  const events: Timed[] = [];
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const frames = text.split("\n\n");
    text = frames.pop() ?? "";
    const atMs = performance.now() - startedAt;
    for (const data of frames.flatMap((frame) => /^data: (.*)$/m.exec(frame)?.[1] ?? [])) {
      events.push({ atMs, event: data === "[DONE]" ? data : JSON.parse(data) });
    }
  }
  return events;
}

const chat = (signal?: AbortSignal) =>
  timedEvents(
    "/api/agents/streamer/playground/chat",
    { ...says("How much are the dues?"), variables: { inbox_address: MARCUS, query_date: "2001-12-31" } },
    signal,
  );

const question = {
  model: "streamer",
  messages: [{ role: "user" as const, content: "How much are the dues?" }],
  metadata: { inbox_address: MARCUS, query_date: "2001-12-31" },
};

const completion = () => timedEvents("/v1/chat/completions", { ...question, stream: true });

const contentsOf = (events: readonly Timed[]) =>
  events.flatMap(({ event, atMs }) => {
    const text = event.choices?.[0]?.delta.content;
    return text ? [{ text, atMs }] : [];
  });

describe("a chat on the page", () => {
  it("receives the answer in the arguments of return_final_answer word by word", async () => {
    await start(script(SEARCH), script(FINAL));
    const events = (await chat()).map(({ event }) => event);
    for (const event of events.slice(0, -1)) chatEventSchema.parse(event);
    const steps = events.map((event) => (event.type === "text-delta" ? event.text : (event.type ?? event)));
    expect(steps).toEqual([
      "message-start",
      "Let me ",
      "look.",
      "tool-call",
      "tool-call-args",
      "tool-call-end",
      "tool-result",
      "tool-call",
      "The softball",
      " dues",
      " are",
      " $40,",
      " as Ruth",
      " says.",
      "tool-call-args",
      "tool-call-end",
      "tool-result",
      "finish",
      "session-info",
      "[DONE]",
    ]);
    const { traceId } = events.find(({ type }) => type === "session-info");
    const trace = (await server.ask("GET", `/api/traces/${traceId}`)).body;
    expect(trace).toMatchObject({ answer: ANSWER, ending: "answered" });
    expect(trace.trace.turns).toMatchObject([{ usage: { inputTokens: 100 } }, { usage: { outputTokens: 20 } }]);
  });

  it("receives reasoning, text and the start of a call before the reply is complete", async () => {
    const { parts } = STREAMS["openai-chat"]({ ...SEARCH, reasoning: ["The mail ", "must be searched."] });
    await start({ frames: parts, ending: "hang" });
    const controller = new AbortController();
    const response = await fetch(`${server.url}/api/agents/streamer/playground/chat`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...says("How much?"), variables: { inbox_address: MARCUS } }),
      signal: controller.signal,
    });
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk);
      if (text.includes('"tool-call"')) break;
    }
    expect(text).toContain('{"type":"reasoning-delta","text":"must be searched."}');
    expect(text).toContain('{"type":"text-delta","text":"look."}');
    controller.abort();
    // The disconnected client cancels the model call.
    await expect.poll(() => provider.abandoned).toBe(1);
    await expect.poll(() => server.chats.count).toBe(0);
  });

  it("ends with an error, not with an answer, if the stream of the model breaks off", async () => {
    await start({ frames: STREAMS["openai-chat"]({ text: WORDS }).parts });
    const events = (await chat()).map(({ event }) => event);
    expect(events.find(({ type }) => type === "error")).toMatchObject({ errorCategory: "network", retryable: true });
    expect(events.some(({ type }) => type === "finish")).toBe(false);
    expect(provider.requests).toHaveLength(1);
    const { traceId } = events.find(({ type }) => type === "session-info");
    expect((await server.ask("GET", `/api/traces/${traceId}`)).body).toMatchObject({
      answer: null,
      ending: "model_error",
    });
  });

  it("takes back streamed text that was not an answer", async () => {
    const invalid = {
      calls: [{ id: "c", name: "return_final_answer", args: ['{"answer":"Wrong', ' form.","sources":7}'] }],
    };
    await start(script(invalid), script(FINAL));
    const events = (await chat()).map(({ event }) => event);
    const replaced = events.find(({ type }) => type === "text-replaced");
    expect(replaced).toEqual({ type: "text-replaced", text: "", toolCallId: "c" });
    expect(events.indexOf(replaced)).toBeLessThan(events.findIndex(({ type }) => type === "tool-result"));
  });
});

const TRUNCATED: StreamScript = {
  frames: [
    ...STREAMS["openai-chat"]({ text: ["The softball ", "dues are "] }).parts,
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "length" }] })}\n\ndata: [DONE]\n\n`,
  ],
};

describe("the text of a truncated reply", () => {
  it("disappears before the next reply", async () => {
    await start(TRUNCATED, script({ text: WORDS }));
    const texts = (await chat()).map(({ event }) => event).filter(({ type }) => /^text-/.test(type));
    const replaced = texts.findIndex(({ type }) => type === "text-replaced");
    const join = (events: typeof texts) => events.map(({ text }) => text).join("");
    expect(join(texts.slice(0, replaced))).toBe("The softball dues are ");
    expect(texts[replaced]).toEqual({ type: "text-replaced", text: "" });
    expect(join(texts.slice(replaced + 1))).toBe(ANSWER);
  });

  it("stays separate from the answer in a streamed chat completion", async () => {
    await start(TRUNCATED, script({ text: WORDS }));
    const contents = contentsOf(await completion()).map(({ text }) => text);
    expect(contents.join("")).toBe(`The softball dues are \n\n${ANSWER}`);
  });
});

describe("a streamed chat completion", () => {
  it("delivers the first words long before the last", async () => {
    await start(script(FINAL, 50));
    const events = await completion();
    expect(events.at(-2)?.event.art_e).toMatchObject({ answer: ANSWER, sources: ["<1@x>"] });
    const contents = contentsOf(events);
    expect(contents.map(({ text }) => text).join("")).toBe(ANSWER);
    const [first, last] = [contents[0]?.atMs ?? 0, contents.at(-1)?.atMs ?? 0];
    // Five of the six words follow the first one.
    expect(last - first).toBeGreaterThan(200);
  });

  it("streams an answer in plain text, after the text before tool calls", async () => {
    await start(script(SEARCH), script({ text: WORDS }));
    const events = await completion();
    const contents = contentsOf(events).map(({ text }) => text);
    expect(contents.length).toBeGreaterThan(4);
    expect(contents.join("")).toBe(`Let me look.\n\n${ANSWER}`);
    const { art_e } = events.find(({ event }) => event.art_e)?.event ?? {};
    expect(art_e).toMatchObject({ answer: ANSWER, ending: "answered" });
  });

  it("ends with an error if the stream of the model breaks off", async () => {
    await start({ frames: STREAMS["openai-chat"]({ text: WORDS }).parts });
    const events = await completion();
    expect(events.at(-1)?.event.error).toMatchObject({ type: "upstream_error", code: "network" });
    expect(events.some(({ event }) => event === "[DONE]" || event.choices?.[0]?.finish_reason)).toBe(false);
  });

  it("does not stream from the model if the client does not stream", async () => {
    provider = await startStreamingProvider([
      { status: 200, json: { choices: [{ message: { content: "Plain." }, finish_reason: "stop" }] } },
    ]);
    server = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });
    await server.ask("POST", "/api/agents", { id: "streamer", name: "s", model: "openai/test" });
    const { body } = await server.ask("POST", "/v1/chat/completions", question);
    expect(body.choices[0].message.content).toBe("Plain.");
    expect(provider.requests[0]?.body.stream).toBe(false);
  });
});
