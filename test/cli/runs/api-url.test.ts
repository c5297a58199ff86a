import { afterEach, expect, it } from "vitest";
import { traceSchema } from "../../../src/traces/trace.js";
import {
  answerFrames,
  DONE,
  type FakePlayground,
  frame,
  type Script,
  type SeenChat,
  startPlayground,
} from "../../providers/fake-playground.js";
import { demoQuestions, interruptTwice, jsonLines, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

// No mail here: the server has it.
const { artE, start, readJson, path } = workFolder();

let server: FakePlayground | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

async function serving(play: (chat: SeenChat, number: number) => Script): Promise<FakePlayground> {
  server = await startPlayground(play);
  return server;
}

const RUN = ["run", "-a", "agent_1", "--dataset", QUESTIONS, "--quiet"];

/** Answers every question as its gold answer says. */
function golden({ body }: SeenChat): Script {
  const asked = demoQuestions.find(({ question }) => body.messages[0].content.endsWith(question));
  if (asked === undefined) return { status: 400, body: '{"error":{"message":"no such question"}}' };
  return { chunks: answerFrames({ final: { answer: asked.answer, sources: asked.message_ids } }) };
}

it("runs an agent of a server: the same results, scores and traces as of one that lives here", async () => {
  const { url, seen } = await serving(golden);
  const { code, stderr } = await artE([...RUN, "-l", "12", "--api-url", `${url}/`, "-w", "ws_1", "-o", path("a.json")]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(seen.every(({ headers }) => headers["x-workspace-id"] === "ws_1")).toBe(true);
  const results = resultsSchema.parse(readJson("a.json"));
  expect(results).toMatchObject({
    agentId: "agent_1",
    model: "playground/agent_1",
    completedTasks: 12,
    exactMatchAccuracy: 1,
    avgSemanticScore: 1,
    sourcesCorrect: 1,
    foundGold: 1,
    readGold: 1,
    costUsd: null,
  });
  expect(results.settings.elsewhere).toEqual({ kind: "api", url, workspace: "ws_1", tellTask: false });
  const [trace] = jsonLines((await artE("export-traces")).stdout);
  expect(trace).toMatchObject({ model: "playground/agent_1", remote: { sessionId: "session_1", traceId: "trace_1" } });
  expect(traceSchema.strict().parse(trace).toolCalls).toHaveLength(3);
});

it("takes the server and the workspace from the environment, and says so", async () => {
  const { url, seen } = await serving(golden);
  const variables = { API_URL: url, WORKSPACE_ID: "ws_env", API_TOKEN: "token-of-the-server" };
  const { code, stderr } = await artE(
    ["run", "-a", "agent_1", "--dataset", QUESTIONS, "-l", "1", "--no-progress"],
    variables,
  );
  expect([code, stderr]).toEqual([0, expect.stringContaining(`The agent is one of ${url}, as API_URL says.`)]);
  expect(seen[0]?.headers).toMatchObject({ "x-workspace-id": "ws_env", authorization: "Bearer token-of-the-server" });
});

it("resumes what is missing, at the same server, workspace and agent only", async () => {
  let down = true;
  const { url, seen } = await serving((chat) =>
    down && chat.body.messages[0].content === demoQuestions[2]?.question
      ? { chunks: [frame({ type: "error", errorText: "boom", retryable: false }), DONE] }
      : golden(chat),
  );
  const first = await artE([...RUN, "-l", "4", "--api-url", url, "-o", path("b.json")]);
  expect(first.code).toBe(0);
  expect(readJson("b.json")).toMatchObject({ completedTasks: 3, failedTasks: 1 });
  expect(readJson("b.json").taskResults[2]).toMatchObject({ ending: "model_error", error: "playground/agent_1: boom" });
  down = false;
  for (const other of [["--api-url", "http://127.0.0.1:9"], ["-w", "ws_2"], ["-a", "agent_2"], ["--tell-task"]]) {
    const refused = await artE(["run", "--resume", "latest", "--retry-failed", "--quiet", ...other]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot go on as it was begun") });
  }
  const before = seen.length;
  // What the environment says is of no account to a run that knows its server.
  const again = await artE(["run", "--resume", "latest", "--retry-failed", "--quiet", "-o", path("b.json")], {
    API_URL: "http://127.0.0.1:9",
  });
  expect([again.code, again.stderr]).toEqual([0, ""]);
  expect(seen.length - before).toBe(1);
  expect(readJson("b.json")).toMatchObject({ completedTasks: 4, failedTasks: 0 });
});

it("stops at once where the agent is not known there", async () => {
  const { url, seen } = await serving(() => ({
    status: 404,
    body: '{"error":{"code":"NOT_FOUND","message":"Agent not found"}}',
  }));
  const { code, stderr } = await artE([...RUN, "-l", "0", "--concurrency", "1", "--api-url", url]);
  expect(code).toBe(1);
  expect(stderr).toContain("404 Agent not found (NOT_FOUND)");
  expect(seen).toHaveLength(1);
});

it("Ctrl-C ends the streams and keeps what is finished", async () => {
  const { url, seen, open } = await serving((chat, number) =>
    number < 2 ? golden(chat) : { chunks: [frame({ type: "text-delta", text: "…" })], last: "hang" },
  );
  const { child, ended } = start([...RUN, "-l", "6", "--concurrency", "2", "--api-url", url]);
  await expect.poll(() => seen.length, { timeout: 60_000 }).toBe(4);
  await interruptTwice(child);
  const { code, stderr } = await ended;
  expect([code, stderr]).toEqual([130, expect.stringContaining("2 of 6 tasks are saved")]);
  await expect.poll(open, { timeout: 20_000 }).toBe(0);
});

it("sends another model along, and the mailbox in the question, where asked to", async () => {
  const { url, seen } = await serving(golden);
  const more = ["--model-id", "openai/gpt-4.1", "--tell-task", "--max-turns", "4"];
  const { code } = await artE([...RUN, "-l", "1", "--api-url", url, ...more, "-o", path("c.json")]);
  expect(code).toBe(0);
  expect(seen[0]?.body).toMatchObject({
    modelProvider: "openai",
    modelId: "openai/gpt-4.1",
    variables: { max_turns: "4" },
  });
  expect(seen[0]?.body.messages[0].content).toMatch(/^The mailbox is \S+@kestrelplains\.example\. Today is \d{4}-/);
  expect(readJson("c.json").model).toBe("openai/gpt-4.1");
});

it("asks an OpenAI-compatible endpoint, whose tokens it counts", async () => {
  const { url, seen } = await serving(({ body }) => {
    const asked = demoQuestions.find(({ question }) => question === body.messages[1].content);
    const content = JSON.stringify({ answer: asked?.answer, sources: asked?.message_ids });
    const reply = {
      choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }],
      usage: { prompt_tokens: 1_000, completion_tokens: 10 },
    };
    return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(reply) };
  });
  const line = [...RUN, "-l", "5", "--agent-url", `${url}/v1`, "--price", "2,10", "-o", path("d.json")];
  const { code, stderr } = await artE(line, { OPENAI_API_KEY: "key-of-the-endpoint" });
  expect([code, stderr]).toEqual([0, ""]);
  expect(seen[0]?.body.model).toBe("agent_1");
  expect(seen[0]?.headers.authorization).toBe("Bearer key-of-the-endpoint");
  const results = resultsSchema.parse(readJson("d.json"));
  expect(results).toMatchObject({
    model: "endpoint/agent_1",
    completedTasks: 5,
    exactMatchAccuracy: 1,
    sourcesCorrect: 1,
  });
  expect(results.settings.elsewhere).toEqual({ kind: "endpoint", url: `${url}/v1` });
  expect(results.costUsd).toBeCloseTo((5 * (1_000 * 2 + 10 * 10)) / 1e6);
});

it.each([
  [["--api-url", "ftp://x"], "expected the address of a server"],
  [["--api-url", "http://user:secret@x.example"], "expected the address of a server"],
  [["--api-url", "http://x.example", "--max-cost", "1"], "--max-cost does not reach"],
  [["--api-url", "http://x.example", "--cutoff", "off"], "--cutoff off has no say"],
  [["--agent-url", "http://x.example", "--max-cost", "1"], "the price of endpoint/agent_1 is not known"],
  [["--tell-task"], "--tell-task is for --api-url"],
])("%j is refused before anything is asked", async (more, message) => {
  const { code, stderr } = await artE([...RUN, ...more]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(stderr).not.toContain("secret");
});
