import { afterAll, expect, it } from "vitest";
import { startFakeProvider } from "../providers/fake-provider.js";
import { MARCUS } from "../runs/demo-setup.js";
import { eventsOf, openChat, says, startDemoServer } from "./demo-server.js";

/** The playground API with the requests of its actual client: sessions, versions and the prompt of an agent. */

const provider = await startFakeProvider();
const server = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });
afterAll(async () => {
  await server.close();
  await provider.close();
});

const chat = async (body: Parameters<typeof openChat>[2]) => eventsOf(await openChat(server.url, "mine", body));

const prompt = "For {{inbox_address}}";
await server.ask("POST", "/api/agents", { id: "mine", name: "Mine", model: "openai/test", prompt });
provider.push(
  { toolCalls: [{ name: "email_search", arguments: { query: "dues", inbox_id: MARCUS } }] },
  { content: "It is $40." },
  { fail: "status", status: 400, message: "no" },
  { content: "Priya." },
);
const first = await chat({ ...says("Dues?"), variables: { inbox_address: MARCUS } });
const { sessionId } = first.find(({ type }) => type === "session-info");
await chat({ ...says("Lost"), sessionId });
await chat({ ...says("Who takes them?"), sessionId });
await eventsOf(await openChat(server.url, "baseline", says("Another's")));

const sessions = "/api/agents/mine/playground/sessions";

it("joins and parses the pieces of a call's arguments", async () => {
  provider.push({ toolCalls: [{ name: "email_search", arguments: { query: "dues", inbox_id: MARCUS, limit: 2 } }] });
  const events = await chat(says("?"));
  const { toolCallId } = events.find(({ type }) => type === "tool-call");
  const pieces = events.filter((event) => event.type === "tool-call-args" && event.toolCallId === toolCallId);
  const text = pieces.reduce((said, { args }) => said + args, "");
  expect(JSON.parse(text)).toEqual({ query: "dues", inbox_id: MARCUS, limit: 2 });
});

it("lists an agent's sessions in pages, and all agents' sessions with the agents' names", async () => {
  const { body } = await server.ask("GET", `${sessions}?limit=200`);
  expect(body.sessions.find(({ id }: { id: string }) => id === sessionId)).toMatchObject({
    agentVersionId: "mine@1",
    modelProvider: "openai",
    modelId: "openai/test",
    messageCount: 4,
  });
  expect(body.pagination).toEqual({ total: 2, limit: 200, offset: 0, hasMore: false });
  const page = (await server.ask("GET", `${sessions}?limit=1`)).body;
  expect([page.sessions.length, page.pagination.hasMore]).toEqual([1, true]);
  const all = (await server.ask("GET", "/api/playground/sessions")).body.sessions;
  expect(all.map(({ agentName }: { agentName: string }) => agentName)).toContain("Offline Baseline");
  expect((await server.ask("GET", "/api/agents/nobody/playground/sessions")).status).toBe(404);
});

it("reads a session's questions, answers and calls, and deletes it but not its traces", async () => {
  const { body } = await server.ask("GET", `${sessions}/${sessionId}`);
  expect(body).toMatchObject({ id: sessionId, agentId: "mine", variables: { inbox_address: MARCUS }, files: {} });
  expect(body.messages.map(({ role, content }: { role: string; content: string }) => [role, content])).toEqual([
    ["user", "Dues?"],
    ["assistant", "It is $40."],
    ["user", "Who takes them?"],
    ["assistant", "Priya."],
  ]);
  const [call] = body.messages[1].toolCalls;
  expect(JSON.parse(call.args)).toMatchObject({ query: "dues" });
  expect(JSON.parse(call.result).emails.length).toBeGreaterThan(0);
  const { traceId } = body.messages[1];
  expect((await server.ask("GET", `/api/agents/baseline/playground/sessions/${sessionId}`)).status).toBe(404);
  expect((await server.ask("DELETE", `${sessions}/${sessionId}`)).status).toBe(204);
  expect((await server.ask("GET", `${sessions}/${sessionId}`)).status).toBe(404);
  expect((await server.ask("GET", `/api/traces/${traceId}`)).status).toBe(200);
});

it("reads an agent's prompt and its variables, but not again if the ETag matches", async () => {
  const path = "/api/agents/mine/prompt";
  const { body, headers } = await server.ask("GET", path);
  expect(body).toMatchObject({ template: "For {{inbox_address}}", version: 1, version_id: "mine@1" });
  expect(body.variables).toEqual(["inbox_address"]);
  const again = await fetch(server.url + path, { headers: { "if-none-match": headers.get("etag") ?? "" } });
  expect(again.status).toBe(304);
  expect((await server.ask("GET", "/api/agents/nobody/prompt")).status).toBe(404);
});

it("lists, creates and restores versions, including tools", async () => {
  const path = "/api/agents/mine/versions";
  const prompts = async () =>
    (await server.ask("GET", path)).body.versions.map((one: Record<string, unknown>) => [
      one.version,
      one.status,
      one.prompt_template,
    ]);
  expect(await prompts()).toEqual([[1, "active", "For {{inbox_address}}"]]);
  const made = await server.ask("POST", path, { prompt_template: "On {{query_date}}", variables: ["query_date"] });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ version: 2, status: "active", parent_version_id: "mine@1" });
  await server.ask("POST", "/api/agents/mine/tools", { tool_id: "read_email" });
  expect(await prompts()).toEqual([
    [3, "active", "On {{query_date}}"],
    [2, "archived", "On {{query_date}}"],
    [1, "archived", "For {{inbox_address}}"],
  ]);
  expect((await server.ask("GET", `${path}/1`)).body).toMatchObject({ id: "mine@1", variables: ["inbox_address"] });
  const back = await server.ask("POST", `${path}/1/promote`);
  expect(back.body).toMatchObject({ version: 4, status: "active", prompt_template: "For {{inbox_address}}" });
  const { tools } = (await server.ask("GET", "/api/agents/mine")).body;
  expect(tools).toEqual(["email_search", "email_get", "return_final_answer"]);
  expect((await server.ask("POST", `${path}/4/promote`)).body.version).toBe(4);
  for (const number of ["9", "0", "x"]) expect((await server.ask("GET", `${path}/${number}`)).status).toBe(404);
  expect((await server.ask("GET", "/api/agents/baseline/versions")).body.active_version_id).toBe("baseline@1");
  expect((await server.ask("POST", path, { prompt_template: "{{secret}}" })).status).toBe(400);
  expect((await server.ask("POST", "/api/agents/baseline/versions", { prompt_template: "x" })).status).toBe(409);
});
