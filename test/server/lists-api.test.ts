import { afterAll, describe, expect, it } from "vitest";
import { addRunTags } from "../../src/traces/runs-store.js";
import { saveSynthetic } from "../reports/synthetic-run.js";
import { MARCUS } from "../runs/demo-setup.js";
import { saveRun, saveTask } from "../traces/saved-runs.js";
import { eventsOf, openChat, says, startDemoServer } from "./demo-server.js";

const server = await startDemoServer();
afterAll(() => server.close());

const ids = (body: { runs: { id: string }[] }) => body.runs.map(({ id }) => id);

describe("the API", () => {
  it("returns runs with filters and pages", async () => {
    for (const id of ["run_a", "run_b", "run_c"])
      saveRun(server.db, id, `2026-01-0${"_abc".indexOf(id.slice(4))}T10:00:00.000Z`);
    addRunTags(server.db, "run_b", ["nightly"]);
    const { body } = await server.ask("GET", "/api/runs?limit=2");
    expect([ids(body), body.has_more, body.total_count]).toEqual([["run_c", "run_b"], true, 3]);
    const rest = (await server.ask("GET", "/api/runs?limit=2&offset=2")).body;
    expect([ids(rest), rest.has_more]).toEqual([["run_a"], false]);
    const nightly = await server.ask("GET", "/api/runs?q=tag:nightly");
    expect(ids(nightly.body)).toEqual(["run_b"]);
    expect(nightly.body.runs).toMatchObject([{ dataset: expect.any(String), score: null }]);
    expect(ids((await server.ask("GET", "/api/runs?q=started:2026-01-02")).body)).toEqual(["run_b"]);
    expect(ids((await server.ask("GET", "/api/runs?q=agent:nobody")).body)).toEqual([]);
    saveSynthetic(server.db, { id: "run_scored", tasks: 3, agentId: "scored" });
    const [scored] = (await server.ask("GET", "/api/runs?q=agent:scored")).body.runs;
    expect(scored).toMatchObject({ dataset: "synthetic.jsonl", score: { scorer: "sourcesCorrect", n: 3 } });
    for (const query of ["q=status:gone", "q=started>yesterday", "q=modle:gpt", "sort=tag", "tag=nightly"]) {
      expect((await server.ask("GET", `/api/runs?${query}`)).status, query).toBe(400);
    }
  });

  it("returns sessions page by page, each with its first question", async () => {
    for (const question of ["How much are the softball dues?", "Who takes them?", "When?"]) {
      await eventsOf(
        await openChat(server.url, "baseline", { ...says(question), variables: { inbox_address: MARCUS } }),
      );
    }
    const { body } = await server.ask("GET", "/api/sessions?limit=2");
    expect(body).toMatchObject({ has_more: true, total_count: 3, sessions: [{ question: "When?" }, { chats: 1 }] });
    const rest = (await server.ask("GET", "/api/sessions?limit=2&offset=2&q=agent:baseline")).body;
    expect(rest).toMatchObject({ has_more: false, sessions: [{ question: "How much are the softball dues?" }] });
  });

  it("returns an email for its Message-ID in any notation", async () => {
    const found = await eventsOf(
      await openChat(server.url, "baseline", {
        ...says("How much are the softball dues?"),
        variables: { inbox_address: MARCUS },
      }),
    );
    const [{ message_id }] = found.find(({ result }) => result?.emails !== undefined).result.emails;
    const { body } = await server.ask("GET", `/api/mails/${encodeURIComponent(message_id)}`);
    expect(body).toMatchObject({ message_id, subject: expect.any(String), body: expect.stringMatching(/\w/) });
    const bare = encodeURIComponent(message_id.replace(/[<>]/g, ""));
    expect((await server.ask("GET", `/api/mails/${bare}`)).body).toEqual(body);
    expect((await server.ask("GET", `/api/mails/${encodeURIComponent("<a/b?c#d@x>")}`)).status).toBe(404);
  });

  it("streams a run's state immediately, and the stream ends when the server stops", async () => {
    const own = await startDemoServer();
    saveRun(own.db, "run_1");
    saveTask(own.db, "run_1", 1, 0.5);
    const response = await fetch(`${own.url}/api/runs/run_1/events`);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const events = eventsOf(response);
    await own.close();
    const [first] = await events;
    expect(first).toMatchObject({ runId: "run_1", doneTasks: 1, totalTasks: 2, status: "interrupted", process: null });
    expect((await events).at(-1)).toBe("[DONE]");
  });
});
