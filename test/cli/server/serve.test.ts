import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { eventsOf, openChat, says } from "../../server/demo-server.js";
import { addressOf, jsonLines, MAIL, MARCUS, QUESTIONS, type Started, workFolder } from "../art-e.js";

const TOKEN = "a-token-for-this-test";

const { artE, readJson, start, write } = workFolder({ mail: MAIL });

/** The parts of a result that must not depend on where the agent runs. */
const comparable = ({ taskId, agentAnswer, sources, ending, turns, scores }: Record<string, unknown>) => ({
  taskId,
  agentAnswer,
  sources,
  ending,
  turns,
  scores,
});

const servers: Started[] = [];
afterAll(async () => {
  for (const { child, ended } of servers) {
    child.kill("SIGKILL");
    await ended;
  }
});

/** Starts a server on a free port and waits until it prints its URL. */
async function serve(line: string, variables: Record<string, string> = {}): Promise<{ url: string; started: Started }> {
  const started = start(`serve --port 0 ${line}`, variables);
  servers.push(started);
  return { url: await addressOf(started), started };
}

const AUTHORIZATION = { authorization: `Bearer ${TOKEN}` };

/** Without its token, the server answers nothing, and it never shows the token. */
async function keepsItsToken({ url, started }: { url: string; started: Started }): Promise<void> {
  expect((await fetch(`${url}/api/agents`)).status).toBe(401);
  expect((await fetch(`${url}/api/agents`, { headers: AUTHORIZATION })).status).toBe(200);
  started.child.kill("SIGINT");
  const { code, stdout, stderr } = await started.ended;
  expect(code).toBe(0);
  expect(stdout + stderr).not.toContain(TOKEN);
}

describe("art-e serve", () => {
  it("runs an agent with the same results as locally, logs one JSON line per request, and stops on request", async () => {
    const { url, started } = await serve("");
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    const chat = { ...says("How much are the softball dues?"), variables: { inbox_address: MARCUS } };
    const events = await eventsOf(await openChat(url, "baseline", chat));
    expect(events.map((event) => event.type ?? event)).toEqual(
      expect.arrayContaining(["finish", "session-info", "[DONE]"]),
    );
    const { traceId } = events.find(({ type }) => type === "session-info");
    const run = `run --dataset ${QUESTIONS} -l 8 --no-progress --quiet`;
    // The agent baseline: test/cli/runs/outside-agents.test.ts.
    const asked = `${run} -a art-e --model-id offline/baseline`;
    expect((await artE(`${asked} -o here.json`)).code).toBe(0);
    expect((await artE(`${asked} -o there.json --api-url ${url} -w ws_1`)).code).toBe(0);
    const [here, there] = ["here.json", "there.json"].map((name) => readJson(name).taskResults.map(comparable));
    expect(here).toHaveLength(8);
    expect(there).toEqual(here);
    started.child.kill("SIGTERM");
    const { code, stderr, stdout } = await started.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: `art-e serves ./art-e.db at ${url}\n` });
    const log = jsonLines(stderr.replace(/^(?!\{).*$/gm, ""));
    expect(log[0]).toMatchObject({ level: "info", method: "POST", status: 200, ending: "answered", trace_id: traceId });
    expect(log.filter(({ method }) => method === "POST")).toHaveLength(1 + 8);
    // Chats over HTTP are available to the other commands too.
    expect((await artE(["show", traceId])).stdout).toContain("Question: How much are the softball dues?");
  });

  it("reads its token from a file", async () => {
    await keepsItsToken(await serve(`--token-file ${write("token.txt", `${TOKEN}\n`)}`));
  });

  it("reads its token from the environment, and calls the specified models", async () => {
    const keys = { ANTHROPIC_API_KEY: "sk-test", OPENAI_BASE_URL: "http://127.0.0.1:9/v1" };
    const served = await serve("--json", { ART_E_TOKEN: TOKEN, ...keys });
    const answer = await fetch(`${served.url}/api/models`, { headers: AUTHORIZATION });
    const { models } = (await answer.json()) as { models: { id: string }[] };
    expect(models.map(({ id }) => id)).toEqual([
      "anthropic/claude-sonnet-5-5",
      "openai/gpt-6.1-sol",
      "offline/baseline",
    ]);
    await keepsItsToken(served);
  });

  it.each([
    ["--host 0.0.0.0", "no token is set"],
    ["--token short", "at least 16 characters"],
    ["--token-file nowhere", "the file does not exist"],
    ["--cors http://a.example/path", "expected one origin"],
    ["--port 70000", "--port: expected a whole number from 0 to 65535"],
    [`--token ${TOKEN} --token-file x`, "--token and --token-file cannot be combined"],
  ])("rejects %s", async (line, complaint) => {
    const { code, stderr } = await artE(`serve ${line}`);
    expect(code).toBe(2);
    expect(stderr).toContain(complaint);
  });

  it("reports a port that is already in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { code, stderr } = await artE(`serve --port ${(other.address() as AddressInfo).port}`);
    expect(code).toBe(1);
    expect(stderr).toMatch(/Cannot listen on 127\.0\.0\.1, port \d+: it is in use\./);
    other.close();
  });
});
