import { afterAll, describe, expect, it } from "vitest";
import { saveRun, saveTask } from "../traces/saved-runs.js";
import { startDemoServer } from "./demo-server.js";

const TOKEN = "a-token-for-this-test";
const TRACES = 12;

const server = await startDemoServer({ access: { token: TOKEN } });
afterAll(() => server.close());
saveRun(server.db, "run_a");
for (let task = 1; task <= TRACES; task++) saveTask(server.db, "run_a", task, 0.5);

const label = (body: Record<string, string | number | boolean | null>) => server.ask("POST", "/api/evals/labels", body);

const queue = async (query = "") => (await server.ask("GET", `/api/evals/label-queue?run_id=run_a${query}`)).body;

const rows = (criterion: string) =>
  server.db
    .prepare("SELECT label, note, is_repeat, source FROM eval_labels WHERE criterion = ? ORDER BY id")
    .all(criterion);

describe("labels over HTTP", () => {
  it("require the token, and no page of another origin can send them", async () => {
    const json = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    expect((await fetch(`${server.url}/api/evals/labels`, json)).status).toBe(401);
    expect((await fetch(`${server.url}/api/evals/label-queue`)).status).toBe(401);
    const foreign = { authorization: `Bearer ${TOKEN}`, origin: "https://evil.example" };
    expect((await server.ask("GET", "/api/evals/label-queue", undefined, foreign)).status).toBe(403);
    expect(rows("overall")).toEqual([]);
  });

  it("count as a person's labels, and can be deleted", async () => {
    const before = await queue("&criterion=saved");
    expect(before).toMatchObject({ run_id: "run_a", waiting: TRACES, labels: { good: 0, bad: 0 } });
    expect(before.queue).toHaveLength(TRACES);
    const [{ trace_id }] = before.queue;
    const { status, body } = await label({ trace_id, criterion: "saved", label: "bad", note: "  wrong year " });
    expect(status).toBe(201);
    expect(body.labels).toEqual({ good: 0, bad: 1, neutral: 0, skip: 0 });
    expect(rows("saved")).toEqual([{ label: "bad", note: "wrong year", is_repeat: 0, source: "person" }]);
    const after = await queue("&criterion=saved");
    expect(after.waiting).toBe(TRACES - 1);
    expect(after.queue).not.toContainEqual({ trace_id, is_repeat: false });
    expect((await server.ask("DELETE", `/api/evals/labels/${body.id}`)).status).toBe(204);
    expect((await server.ask("DELETE", `/api/evals/labels/${body.id}`)).status).toBe(404);
    expect((await server.ask("DELETE", "/api/evals/labels/1e3")).status).toBe(404);
    expect((await queue("&criterion=saved")).waiting).toBe(TRACES);
  });

  it("let exactly one of several people adjudicate a disagreement at the same time", async () => {
    const [{ trace_id }] = (await queue("&criterion=race")).queue;
    const given = { trace_id, criterion: "race" };
    await label({ ...given, label: "good", annotator: "ann" });
    expect((await label({ ...given, label: "bad", annotator: "ben" })).status).toBe(201);
    const people = ["cat", "dan", "eve", "fay", "gus", "hal"];
    const decided = await Promise.all(
      people.map((annotator, i) =>
        label({ ...given, label: i % 2 === 0 ? "good" : "bad", annotator, basis: "adjudicated" }),
      ),
    );
    expect(decided.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    const winner = people[decided.findIndex(({ status }) => status === 201)];
    for (const { status, body } of decided) {
      if (status === 409) expect(body.error.details.current).toMatchObject({ annotator: winner });
    }
    const stored = server.db
      .prepare("SELECT annotator FROM eval_labels WHERE criterion = 'race' AND basis = 'adjudicated'")
      .pluck()
      .all();
    expect(stored).toEqual([winner]);
  });

  it("replace somebody else's label only if the writer has seen it", async () => {
    const [{ trace_id }] = (await queue("&criterion=both")).queue;
    const given = { trace_id, criterion: "both" };
    const first = await label({ ...given, label: "good", note: "short" });
    const second = await label({ ...given, label: "bad" });
    expect([second.status, second.body.error]).toMatchObject([
      409,
      {
        code: "CONFLICT",
        message: `${trace_id} has been labeled good (short) in the meantime.`,
        details: { reason: "label_conflict", current: { id: first.body.id, label: "good", note: "short" } },
      },
    ]);
    expect(rows("both")).toHaveLength(1);
    // A named annotator gives a second opinion, which replaces nothing.
    expect((await label({ ...given, label: "bad", annotator: "ben" })).status).toBe(201);
    expect((await label({ ...given, label: "good", annotator: "ben" })).status).toBe(409);
    const stale = await label({ ...given, label: "bad", seen: first.body.id });
    expect([stale.status, stale.body.error.details.current.annotator]).toEqual([409, "ben"]);
    expect((await label({ ...given, label: "bad", seen: stale.body.error.details.current.id })).status).toBe(201);
  });

  it("cause an error with an unknown key, or with a probability that would decide every figure", async () => {
    const [{ trace_id }] = (await queue("&criterion=strict")).queue;
    const given = { trace_id, criterion: "strict", label: "good" };
    const misspelled = await label({ ...given, notes: "wrong key" });
    expect([misspelled.status, misspelled.body.error.message]).toEqual([
      400,
      expect.stringMatching(/Unrecognized key: "notes".* Known keys: trace_id, criterion, label, note/),
    ]);
    const tiny = await label({ ...given, drawn: "enriched", drawn_from: 12, probability: 5e-324 });
    expect([tiny.status, tiny.body.error.message]).toEqual([400, expect.stringContaining("probability: expected")]);
    expect(rows("strict")).toEqual([]);
  });

  it("cannot be deleted if they are from models or scores", async () => {
    const [{ trace_id }] = (await queue()).queue;
    const { lastInsertRowid } = server.db
      .prepare(
        `INSERT INTO eval_labels (trace_id, criterion, label, source, created_at)
         VALUES (?, 'derived', 'bad', 'score', '2026-01-01T00:00:00.000Z')`,
      )
      .run(trace_id);
    expect((await server.ask("DELETE", `/api/evals/labels/${lastInsertRowid}`)).status).toBe(404);
    expect(rows("derived")).toHaveLength(1);
  });

  it("get the probability of an enriched draw from the queue, and need one for such a draw", async () => {
    const { queue: all } = await queue("&criterion=rich&order=enriched");
    expect(all).toHaveLength(TRACES);
    const [{ trace_id, probability }] = all;
    // Without any sign of a failure, all chances are equal.
    expect(all[0]).toEqual({
      trace_id,
      is_repeat: false,
      drawn: "enriched",
      drawn_from: TRACES,
      probability: expect.closeTo(1 / TRACES, 9),
      basis: "direct",
      labels: [],
    });
    expect(all.at(-1)).toMatchObject({ drawn_from: 1, probability: 1 });
    const refused = await label({ trace_id, criterion: "rich", label: "bad", drawn: "enriched" });
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      expect.stringContaining("expected drawn_from and probability for an enriched draw"),
    ]);
    const draw = { drawn: "enriched", drawn_from: TRACES, probability };
    expect((await label({ trace_id, criterion: "rich", label: "bad", ...draw })).status).toBe(201);
    expect(
      server.db.prepare("SELECT drawn, drawn_from, probability FROM eval_labels WHERE criterion = 'rich'").all(),
    ).toEqual([draw]);
  });

  it("come again for a tenth of the labeled traces, and only for these", async () => {
    const [{ trace_id }] = (await queue("&criterion=again")).queue;
    const early = await label({ trace_id, criterion: "again", label: "good", is_repeat: true });
    expect([early.status, early.body.error.details.reason]).toEqual([400, "label_unrepeated"]);
    await label({ trace_id, criterion: "again", label: "good" });
    const { queue: all } = await queue("&criterion=again");
    const repeats = all.filter((one: { is_repeat: boolean }) => one.is_repeat);
    expect(repeats).toEqual([
      {
        trace_id,
        is_repeat: true,
        drawn: "unknown",
        drawn_from: null,
        probability: null,
        basis: "direct",
        labels: [],
      },
    ]);
    expect(all.indexOf(repeats[0])).toBe(9);
    const { labels: _, ...repeat } = repeats[0];
    const { body } = await label({ ...repeat, criterion: "again", label: "bad" });
    expect(body).toMatchObject({ labels: { good: 0, bad: 1 }, self_agreement: { value: 0, n: 1 } });
  });

  it.each([
    ["no trace", { trace_id: "nothing", label: "good" }, 404, "Unknown trace"],
    ["no label", { trace_id: "t", label: "neutral" }, 400, "The body: label"],
    ["no criterion", { trace_id: "t", label: "good", criterion: "Not a name" }, 400, "a name of lowercase letters"],
    ["a reason that is too long", { trace_id: "t", label: "good", note: "x".repeat(10_001) }, 400, "The body: note"],
  ])("cause an error if they contain %s", async (_, body, status, message) => {
    const answer = await label(body);
    expect(answer.status).toBe(status);
    expect(answer.body.error.message).toContain(message);
  });

  it("cause an error if the run is unknown, and concern chats by default", async () => {
    expect((await server.ask("GET", "/api/evals/label-queue?run_id=run_z")).status).toBe(404);
    expect((await server.ask("GET", "/api/evals/label-queue")).body).toMatchObject({ run_id: null, waiting: 0 });
  });
});
