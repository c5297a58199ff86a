import { afterEach, describe, expect, it } from "vitest";
import type { AgentTask } from "../../src/agents/agent-backend.js";
import { withAgentRetry } from "../../src/agents/external-agent/agent-retries.js";
import { type PlaygroundApiAgent, playgroundApiAgent } from "../../src/agents/external-agent/playground-api-agent.js";
import type { Rollout, Transcript } from "../../src/agents/rollout.js";
import { ModelError } from "../../src/models/model.js";
import { RateLimiter } from "../../src/models/rate-limiter.js";
import {
  answerFrames,
  DONE,
  type FakePlayground,
  frame,
  type Script,
  type SeenChat,
  startPlayground,
} from "../providers/fake-playground.js";

let server: FakePlayground | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const POLICY = { attempts: 3, baseMs: 1, maxMs: 2, totalMs: 60_000, random: () => 0.5 };

function taskWith(signal: AbortSignal): AgentTask {
  return {
    id: 7,
    epoch: 1,
    instruction: "When is it?",
    variables: { inbox_address: "a@b.example", query_date: "2001-05-14" },
    maxTurns: 10,
    context: { inbox: "a@b.example", cutoff: "2001-05-15T00:00:00Z", signal },
  };
}

interface Asked {
  readonly play: (chat: SeenChat, number: number) => Script;
  readonly agent?: Partial<PlaygroundApiAgent>;
  readonly signal?: AbortSignal;
}

async function ask({ play, agent, signal = new AbortController().signal }: Asked) {
  server = await startPlayground(play);
  const backend = playgroundApiAgent({
    apiUrl: server.url,
    workspace: "ws_1",
    agentId: "my agent",
    model: null,
    tellTask: false,
    token: "",
    idleMs: 20_000,
    ...agent,
  });
  const throttle = new RateLimiter({ concurrency: 4, rpm: null, tpm: null });
  const transcript: Transcript = { messages: [], toolCalls: [], turns: [] };
  const done = await withAgentRetry("playground/x", backend, throttle, POLICY)
    .answer(taskWith(signal), transcript)
    .catch((error: unknown) => error);
  return { done, transcript, server };
}

const rollout = ({ done }: { done: unknown }): Rollout => {
  expect(done).not.toBeInstanceOf(Error);
  return done as Rollout;
};

const failure = ({ done }: { done: unknown }): ModelError => {
  expect(done).toBeInstanceOf(ModelError);
  return done as ModelError;
};

const stream = (...chunks: (string | Buffer)[]): Asked => ({ play: () => ({ chunks }) });

const replaced = (text: string) => frame({ type: "text-replaced", text });
const said = (text: string) => frame({ type: "text-delta", text });

describe("an agent behind the playground API", () => {
  it("receives the question, and the mailbox, the date and the turn limit as variables", async () => {
    const asked = await ask({ ...stream(said("May 3"), DONE), agent: { token: "secret-token" } });
    expect(asked.server.seen).toHaveLength(1);
    const [chat] = asked.server.seen;
    expect(chat?.path).toBe("/api/agents/my%20agent/playground/chat");
    expect(chat?.headers).toMatchObject({ "x-workspace-id": "ws_1", authorization: "Bearer secret-token" });
    expect(chat?.body).toEqual({
      messages: [{ role: "user", content: "When is it?" }],
      variables: { inbox_address: "a@b.example", query_date: "2001-05-14", max_turns: "10" },
    });
  });

  it("receives the mailbox in the question, and another model, if requested", async () => {
    const agent = { tellTask: true, model: { provider: "openai", id: "openai/gpt-4.1" } };
    const asked = await ask({ ...stream(said("May 3"), DONE), agent });
    expect(asked.server.seen[0]?.body).toMatchObject({
      messages: [{ role: "user", content: "The mailbox is a@b.example. Today is 2001-05-14.\n\nWhen is it?" }],
      modelProvider: "openai",
      modelId: "openai/gpt-4.1",
    });
  });

  it("answers with return_final_answer, and the transcript contains every call, result and turn", async () => {
    const final = { answer: "May 3", sources: ["<1@x>"] };
    const asked = await ask(stream(...answerFrames({ final, text: "Done!" })));
    const done = rollout(asked);
    expect(done).toMatchObject({ ending: "answered", answer: "May 3", sources: ["<1@x>"] });
    expect(done.remote).toEqual({ sessionId: "session_1", traceId: "trace_1" });
    expect(done.toolCalls.map(({ name, arguments: args, error }) => [name, args, error])).toEqual([
      ["email_search", { query: "x" }, null],
      ["email_get", { message_id: "<1@x>" }, null],
      ["return_final_answer", final, null],
    ]);
    // A text result appears as the email, so that reading it counts.
    expect(done.toolCalls[1]?.result).toEqual({ message_id: "<1@x>", body: "the mail" });
    expect(done.turns).toHaveLength(4);
    expect(
      done.turns.every(({ usage, costUsd, latencyMs }) => usage === null && costUsd === null && latencyMs >= 0),
    ).toBe(true);
    expect(done.messages.map(({ role }) => role).join(" ")).toBe(
      "user assistant tool assistant tool assistant tool assistant",
    );
  });

  it("answers with only the last turn's text if it does not have return_final_answer", async () => {
    const done = rollout(await ask(stream(...answerFrames({ text: "It is on May 3." }))));
    expect(done).toMatchObject({ ending: "answered", answer: "It is on May 3.", sources: [] });
  });

  it("answers without the text that the server took back", async () => {
    const done = rollout(await ask(stream(said("It is on M"), replaced(""), said("May 3"), DONE)));
    expect(done).toMatchObject({ ending: "answered", answer: "May 3" });
  });

  it("can abstain, and can end without an answer", async () => {
    expect(rollout(await ask(stream(said("I don't know."), DONE)))).toMatchObject({ ending: "dont_know" });
    await server?.close();
    const silent = rollout(await ask(stream(frame({ type: "finish", messageId: "m" }), DONE)));
    expect(silent).toMatchObject({ ending: "out_of_turns", answer: null });
  });

  it("can report that its own turns were used up", async () => {
    const event = { type: "error", errorText: "no turns left", errorCategory: "out_of_turns", retryable: false };
    const done = rollout(await ask(stream(said("hm"), frame(event), DONE)));
    expect(done).toMatchObject({ ending: "out_of_turns", answer: null });
  });

  it("can make several calls in one turn, and a rejected call is recorded as an error", async () => {
    const call = (id: string) => frame({ type: "tool-call", toolCallId: id, toolName: "email_get" });
    const args = (id: string, text: string) => frame({ type: "tool-call-args", toolCallId: id, args: text });
    const result = (id: string, value: object) => frame({ type: "tool-result", toolCallId: id, result: { ...value } });
    const done = rollout(
      await ask(
        stream(
          call("a") + args("a", '{"message') + args("a", '_id": "<1@x>"}'),
          call("b") + args("b", "{not json"),
          result("b", { error: "no such mail" }) + result("a", { message_id: "<1@x>", body: "…" }),
          said("42") + DONE,
        ),
      ),
    );
    expect(done.turns).toHaveLength(2);
    expect(done.toolCalls).toMatchObject([
      { id: "b", turn: 0, error: "no such mail", errorKind: "failed", result: null },
      { id: "a", turn: 0, error: null, arguments: { message_id: "<1@x>" } },
    ]);
    expect(done.messages[1]).toMatchObject({ toolCalls: [{ id: "a" }, { id: "b", invalid: "{not json" }] });
  });

  it("can send frames with CRLF, in many lines, with comments, or split anywhere, even inside a character", async () => {
    const text = [
      "\ufeff: a comment\r\n\r\n",
      'data: {"type": "text-delta",\r\ndata: "text": "Zürich — "}\r\n\r\n',
      'event: message\rid: 4\rdata: {"type":"text-delta","text":"日本"}\r\r',
      'data: {"type":"later-than-this-program","x":1}\n\n',
      "data: [DONE]\r\n\r\n",
    ].join("");
    const bytes = Buffer.from(text);
    const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
    expect(rollout(await ask(stream(...single))).answer).toBe("Zürich — 日本");
  });

  it("can omit the last empty line", async () => {
    expect(rollout(await ask(stream(said("42"), "data: [DONE]"))).answer).toBe("42");
  });
});

describe("failures of an agent behind the playground API", () => {
  it("cause a retry if the stream breaks off, and lead to one answer", async () => {
    const broken: Script[] = [
      { chunks: [said("half an"), 'data: {"type":"text-de'] },
      { chunks: [said("half an ans")], last: "reset" },
      { chunks: [said("42"), DONE] },
    ];
    const asked = await ask({ play: (_, number) => broken[number] ?? { chunks: [] } });
    const done = rollout(asked);
    expect(done.answer).toBe("42");
    expect(done.messages).toHaveLength(2);
    expect(done.turns[0]?.retries.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("incomplete"),
      expect.stringMatching(/connection failed/),
    ]);
  });

  it("include a stream that ends without [DONE], whatever its content", async () => {
    const asked = await ask(stream(...answerFrames({ text: "42" }).slice(0, -1)));
    expect(failure(asked).message).toBe("playground/x: the stream ended without [DONE] (after 3 attempts)");
    expect(asked.server.seen).toHaveLength(3);
    // The trace keeps the last attempt's output.
    expect(asked.transcript.messages.at(-1)).toMatchObject({ role: "assistant", content: "42" });
  });

  it.each([
    [{ type: "error", errorText: "boom", errorCategory: "internal", retryable: false }, 1, "boom (internal)"],
    [
      { type: "error", errorText: "slow down", errorCategory: "rate_limit", retryable: true },
      3,
      "slow down (rate_limit)",
    ],
    [{ type: "error", errorText: "just so" }, 1, "just so"],
    [{ type: "error", errorText: "too long", errorCategory: "context_overflow", retryable: false }, 1, "too long"],
    [
      { type: "recoverable-error", messageId: "m", error: "tool down", errorCode: "TOOL", recoverable: true },
      3,
      "tool down (TOOL)",
    ],
    [
      { type: "recoverable-error", messageId: "m", error: "gone", errorCode: "GONE", recoverable: false },
      1,
      "gone (GONE)",
    ],
  ])("cause a retry if the event says so (%j)", async (event, attempts, message) => {
    const asked = await ask(stream(said("so far"), frame(event as never), said("more"), DONE));
    expect(failure(asked).message).toContain(message);
    expect(asked.server.seen).toHaveLength(attempts);
  });

  it("include a stream that falls silent", async () => {
    const asked = await ask({ play: () => ({ chunks: [said("so")], last: "hang" }), agent: { idleMs: 300 } });
    expect(failure(asked)).toMatchObject({ kind: "timeout", retryable: true });
    expect(asked.server.seen).toHaveLength(3);
  });

  it("cause a retry after the server's wait if the status is 429, but not for other 4xx", async () => {
    const refused: Script = { status: 429, headers: { "retry-after": "0" }, body: '{"error":{"message":"busy"}}' };
    const asked = await ask({ play: (_, number) => (number === 0 ? refused : { chunks: [said("42"), DONE] }) });
    expect(rollout(asked).turns[0]?.retries).toMatchObject([{ reason: "429 busy" }]);
    await server?.close();
    const error = { error: { code: "VALIDATION_ERROR", message: "no messages", details: null, request_id: "r" } };
    const bad = await ask({ play: () => ({ status: 400, body: JSON.stringify(error) }) });
    expect(failure(bad)).toMatchObject({ kind: "bad_request", retryable: false });
    expect(failure(bad).message).toBe("playground/x: 400 no messages (VALIDATION_ERROR)");
    expect(bad.server.seen).toHaveLength(1);
  });

  it("apply to every question if the agent is unknown, the token is rejected or the server redirects", async () => {
    const kinds: unknown[] = [];
    for (const script of [
      { status: 404, body: '{"error":{"code":"NOT_FOUND","message":"no agent"}}' },
      { status: 401, body: "who are you" },
      { status: 307, headers: { location: "https://api.example/v2" } },
    ]) {
      const asked = await ask({ play: () => script });
      kinds.push([failure(asked).kind, asked.server.seen.length]);
      await server?.close();
    }
    expect(kinds).toEqual([
      ["not_found", 1],
      ["auth", 1],
      ["not_found", 1],
    ]);
  });

  it("include an HTML page, a frame that is not JSON and a frame in another format", async () => {
    const html = await ask({ play: () => ({ status: 200, headers: { "content-type": "text/html" }, body: "<html>" }) });
    expect(failure(html).message).toContain("text/html");
    await server?.close();
    expect(failure(await ask(stream("data: hello\n\n", DONE))).message).toContain("not JSON");
    await server?.close();
    expect(failure(await ask(stream(frame({ type: "text-delta", text: 5 }), DONE))).message).toContain("at text");
  });

  it("include a frame without an end, and its content does not fill the memory", async () => {
    const megabyte = "x".repeat(1_000_000);
    const endless = Array.from({ length: 20 }, (_, i) => (i === 0 ? `data: ${megabyte}` : megabyte));
    const asked = await ask(stream(...endless));
    expect(failure(asked)).toMatchObject({ kind: "protocol", retryable: false });
    expect(asked.server.seen).toHaveLength(1);
  });

  it("include a stream without an end", async () => {
    const megabyte = said("x".repeat(1_000_000));
    const asked = await ask(stream(...Array.from({ length: 80 }, () => megabyte)));
    expect(failure(asked).message).toContain("larger than 64 MB");
    expect(asked.server.seen).toHaveLength(1);
  });

  it("close the stream at the server if the task is aborted", async () => {
    const controller = new AbortController();
    const why = new Error("stopped");
    const asked = await ask({
      play() {
        setImmediate(() => controller.abort(why));
        return { chunks: [said("so")], last: "hang" };
      },
      signal: controller.signal,
    });
    expect(asked.done).toBe(why);
    await expect.poll(() => asked.server.open(), { timeout: 20_000 }).toBe(0);
  });
});
