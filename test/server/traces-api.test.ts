import { afterAll, expect, it } from "vitest";
import { saveSuiteRun, suiteTrace } from "../reports/suite-run.js";
import { MARCUS } from "../runs/demo-setup.js";
import { eventsOf, openChat, says, startDemoServer } from "./demo-server.js";

const server = await startDemoServer();
afterAll(() => server.close());

const ids: string[] = [];
for (let i = 0; i < 7; i++) {
  const body = { ...says(`Question ${i}: who is Priya?`), variables: { inbox_address: MARCUS } };
  const events = await eventsOf(await openChat(server.url, "baseline", body));
  ids.push(events.find(({ type }) => type === "session-info").traceId);
}

it("returns traces in pages, newest first, each only once", async () => {
  const seen: string[] = [];
  let cursor = "";
  for (let page = 1; ; page++) {
    const { body } = await server.ask("GET", `/api/traces?limit=3${cursor}`);
    expect(body.total_count).toBe(7);
    seen.push(...body.traces.map(({ trace_id }: { trace_id: string }) => trace_id));
    expect(body.has_more).toBe(page < 3);
    if (!body.has_more) {
      expect(body.next_cursor).toBeNull();
      break;
    }
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`;
  }
  expect(seen).toEqual(ids.toReversed());
});

it("selects traces by agent, ending, session, time and rating", async () => {
  const count = async (query: string) => (await server.ask("GET", `/api/traces?${query}`)).body.total_count;
  const { session_id } = (await server.ask("GET", `/api/traces/${ids[0]}`)).body;
  expect(await count("q=agent:baseline ending:answered")).toBe(7);
  expect(await count("q=agent:art-e")).toBe(0);
  expect(await count(`session_id=${session_id}`)).toBe(1);
  expect(await count("q=started<2020-01-01")).toBe(0);
  expect(await count("q=started>=2020-01-01")).toBe(7);
  expect(await count("q=rating:positive")).toBe(0);
  expect(await count("run_id=none")).toBe(0);
  expect(await count('q=run:none "who is" -answer:zzz label:none')).toBe(7);
  expect(await count('q=-"who is"')).toBe(0);
});

it.each(["limit=201", "limit=0", "limit=x", "cursor=abc", "q=ending:happy", "q=started>soon", "sort=label"])(
  "rejects a list of traces with %s",
  async (query) => {
    expect((await server.ask("GET", `/api/traces?${query}`)).status).toBe(400);
  },
);

it("stores feedback with its trace, and the newest feedback determines the rating", async () => {
  const [id = ""] = ids;
  const given = await server.ask("POST", "/api/feedback", {
    trace_id: id,
    rating: "negative",
    notes: " wrong <b>year</b> ",
  });
  expect(given.status).toBe(201);
  expect(given.body).toMatchObject({ trace_id: id, rating: "negative", notes: "wrong <b>year</b>" });
  await server.ask("POST", "/api/feedback", { trace_id: id, rating: "positive" });
  const { body } = await server.ask("GET", `/api/traces/${id}`);
  expect(body.feedback.map(({ rating }: { rating: string }) => rating)).toEqual(["positive", "negative"]);
  expect((await server.ask("GET", `/api/feedback?trace_id=${id}`)).body.feedback).toEqual(body.feedback);
  const all = (await server.ask("GET", "/api/feedback")).body;
  expect(all).toEqual({ feedback: body.feedback, next_cursor: null, has_more: false });
  const rated = (await server.ask("GET", "/api/traces?q=rating:positive")).body.traces;
  expect(rated).toMatchObject([{ trace_id: id, rating: "positive" }]);
  expect((await server.ask("POST", "/api/feedback", { trace_id: "none", rating: "positive" })).status).toBe(404);
  expect((await server.ask("POST", "/api/feedback", { trace_id: id, rating: "great" })).status).toBe(400);
});

it("returns feedback in pages, filtered by agent and rating, and changes and deletes it", async () => {
  const before = (await server.ask("GET", "/api/feedback?limit=200")).body.feedback.length;
  for (const id of ids) await server.ask("POST", "/api/feedback", { trace_id: id, rating: "neutral" });
  const seen: string[] = [];
  let cursor = "";
  for (let more = true; more; ) {
    const { body } = await server.ask("GET", `/api/feedback?rating=neutral&agent_id=baseline&limit=3${cursor}`);
    seen.push(...body.feedback.map(({ trace_id }: { trace_id: string }) => trace_id));
    more = body.has_more;
    cursor = `&cursor=${body.next_cursor}`;
  }
  expect(seen).toEqual(ids.toReversed());
  expect((await server.ask("GET", "/api/feedback?agent_id=art-e")).body.feedback).toEqual([]);
  const [newest] = (await server.ask("GET", "/api/feedback?rating=neutral")).body.feedback;
  const changed = await server.ask("PATCH", `/api/feedback/${newest.id}`, { rating: "negative" });
  expect(changed.body).toEqual({ ...newest, rating: "negative" });
  expect((await server.ask("DELETE", `/api/feedback/${newest.id}`)).status).toBe(204);
  expect((await server.ask("DELETE", `/api/feedback/${newest.id}`)).status).toBe(404);
  expect((await server.ask("GET", "/api/feedback?limit=200")).body.feedback).toHaveLength(before + ids.length - 1);
});

it("returns mailboxes, models, runs and the server's health", async () => {
  const { body } = await server.ask("GET", "/api/inboxes");
  expect(body.inboxes).toHaveLength(3);
  expect(body.messages).toBe(516);
  expect((await server.ask("GET", "/api/models")).body).toEqual({
    models: [{ id: "offline/baseline", provider: "offline" }],
    default_model: "offline/baseline",
  });
  expect((await server.ask("GET", "/api/runs")).body.runs).toEqual([]);
  expect((await server.ask("GET", "/api/runs/latest")).status).toBe(404);
  expect((await server.ask("GET", "/api/health")).body).toEqual({ status: "ok", version: "1.2.3", chats: 0 });
});

it("lists and searches the instructions of suite tasks like questions", async () => {
  const trace = suiteTrace(1, { id: "a1" });
  saveSuiteRun(server.db, "run_suite", [trace]);
  const { traces } = (await server.ask("GET", `/api/traces?q="${trace.task.instruction.slice(0, 20)}"`)).body;
  expect(traces).toMatchObject([{ run_id: "run_suite", question: trace.task.instruction }]);
});
