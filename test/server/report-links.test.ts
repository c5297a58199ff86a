import { afterAll, expect, it } from "vitest";
import { saveRun, saveTask } from "../traces/saved-runs.js";
import { startDemoServer } from "./demo-server.js";

const TOKEN = "a-token-for-this-test";

const server = await startDemoServer({ access: { token: TOKEN } });
afterAll(() => server.close());
saveRun(server.db, "run_a");
saveTask(server.db, "run_a", 1, 0.5);
saveRun(server.db, "run_b");
saveTask(server.db, "run_b", 1, 0.9);

it("opens a run's report without the token through a link that requires the token", async () => {
  const json = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  expect((await fetch(`${server.url}/api/runs/run_a/report`, json)).status).toBe(401);
  const { status, body } = await server.ask("POST", "/api/runs/run_a/report", {});
  expect(status).toBe(201);
  expect(body.url).toMatch(/^\/report\/[\w-]{32}$/);
  const page = await fetch(`${server.url}${body.url}`);
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  const text = await page.text();
  expect(text).toMatch(/^<!doctype html>/);
  expect(text).toContain("Content-Security-Policy");
  expect(text).toContain("run_a");
  expect(text).toContain("</html>");
});

it("compares the run with other runs, each only once", async () => {
  const { body } = await server.ask("POST", "/api/runs/run_a/report?with=run_b,run_a", {});
  const page = await (await fetch(`${server.url}${body.url}`)).text();
  const [, head = ""] = /<script type="application\/json" id="head">(.*?)<\/script>/s.exec(page) ?? [];
  const { runs, comparisons } = JSON.parse(head);
  expect(runs.map(({ runId }: { runId: string }) => runId)).toEqual(["run_a", "run_b"]);
  expect(comparisons).toMatchObject([{ candidate: 1, questions: { common: 1 } }]);
  expect((await server.ask("POST", "/api/runs/run_a/report?with=run_z", {})).status).toBe(404);
});

it("finds nothing for a made-up link, or for an unknown run", async () => {
  expect((await fetch(`${server.url}/report/${"a".repeat(32)}`)).status).toBe(404);
  expect((await server.ask("POST", "/api/runs/run_z/report", {})).status).toBe(404);
});
