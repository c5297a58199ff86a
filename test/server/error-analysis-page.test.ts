import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { changeModes, readTaxonomy } from "../../src/error-analysis/modes.js";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { saveRun, saveTask } from "../traces/saved-runs.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

/** Open coding and grouping notes in a real browser. */

const TRACES = 6;

const PROPOSAL = {
  modes: [
    { name: "sourceless", sentence: "The answer <i>cites</i> an email.", notes: [1] },
    { name: "stale", sentence: "The year is right.", notes: [2, 99] },
  ],
};

describe("the error analysis page", { ...needs("browser"), timeout: 60_000 }, () => {
  const browser = new TestBrowser();
  let server: DemoServer;
  let provider: FakeProvider;

  beforeAll(async () => {
    provider = await startFakeProvider(() => ({ toolCalls: [{ name: "record_modes", arguments: PROPOSAL }] }));
    server = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });
    saveRun(server.db, "run_a");
    for (let task = 1; task <= TRACES; task++) saveTask(server.db, "run_a", task, 0.5);
    server.db.exec("UPDATE traces SET trace = json_set(trace, '$.task.question', 'How much are the dues of ' || id)");
  }, 60_000);
  afterAll(async () => {
    await server?.close();
    await provider?.close();
  });

  const openPage = (hash: string) => browser.openServed(`${server.url}/#${hash}`);

  /** Presses a key, and waits for the page's message about it and for the next trace. */
  async function press(page: Page, key: string, saying: string): Promise<void> {
    await page.keyboard.press(key);
    await page.getByRole("status").filter({ hasText: saying }).waitFor();
    await page.locator("[aria-busy=true]").waitFor({ state: "detached" });
  }

  async function write(page: Page, note: string): Promise<void> {
    await page.keyboard.press("w");
    await page.keyboard.type(note);
    await press(page, "Enter", `Saved: ${note}`);
  }

  const notes = () => {
    const { coded, nothingWrong, ungrouped } = readTaxonomy(server.db, "run_a");
    return { coded, nothingWrong, ungrouped };
  };

  it("says how to get a run if there is none", async () => {
    const empty = await startDemoServer();
    try {
      const { page, wrong } = await browser.openServed(`${empty.url}/#code`);
      await page.getByText("No runs yet. Start one with art-e run").waitFor();
      expect(wrong()).toEqual([]);
    } finally {
      await empty.close();
    }
  });

  it("saves notes immediately, offers earlier notes, and can undo them", async () => {
    const { page, wrong } = await openPage("label");
    await page.getByRole("link", { name: "error analysis" }).click();
    await page.getByText(`${TRACES} to code.`).waitFor();
    const question = page.locator(".judged .question");
    const first = await question.textContent();
    // n and u are letters while the user types.
    await write(page, "unsure number");
    expect(notes()).toEqual({ coded: 1, nothingWrong: 0, ungrouped: [{ note: "unsure number", traces: 1 }] });
    expect(await question.textContent()).not.toBe(first);
    await press(page, "u", "Undone.");
    expect(await question.textContent()).toBe(first);
    expect(notes().coded).toBe(0);
    await page.getByLabel("First thing that went wrong").fill("");
    await page.locator(".judged").click();

    await write(page, "wrong year");
    await press(page, "n", "Saved: nothing wrong.");
    await press(page, "1", "Saved: wrong year");
    await write(page, "<b>no source</b>");
    expect(
      await page.evaluate(`[...document.querySelectorAll("#earlier-notes option")].map(({ value }) => value)`),
    ).toEqual(["wrong year", "<b>no source</b>"]);
    await page.getByRole("button", { name: "Nothing wrong" }).click();
    await page.getByText("1 to code.").waitFor();
    await page.getByRole("button", { name: "no source" }).click();
    await page.getByText("All traces of the pass are coded.").waitFor();
    expect(notes()).toEqual({
      coded: TRACES,
      nothingWrong: 2,
      ungrouped: [
        { note: "<b>no source</b>", traces: 2 },
        { note: "wrong year", traces: 2 },
      ],
    });
    expect(wrong()).toEqual([]);
  });

  it("groups notes into modes, which give every trace a label per mode", async () => {
    const { page, wrong } = await openPage("code/run_a");
    await page.getByRole("link", { name: "Group the notes" }).click();
    const assign = async (note: string, mode: string) => {
      const form = page.locator("details", { hasText: "Notes without a failure mode" });
      await form.getByLabel(note).check();
      await form.getByLabel("Name of the failure mode").fill(mode);
      await form.getByRole("button", { name: "Assign to" }).click();
      await page.getByText(`Saved: ${mode}, 2 traces.`).waitFor();
    };
    await assign("wrong year", "wrong_year");
    await assign("no source", "unsourced");
    await page.getByText("Every coded trace has a label for every mode.").waitFor();
    const rows = page.getByRole("region", { name: "Failure modes" }).locator("tbody tr");
    expect(await rows.count()).toBe(2);
    expect(await rows.first().textContent()).toContain("0.333");
    expect(await rows.first().getByRole("link", { name: "Look again" }).getAttribute("href")).toMatch(
      /^#label\/latest\?criterion=(wrong_year|unsourced)&order=confirm$/,
    );
    const labels = () =>
      server.db
        .prepare("SELECT criterion, label, count(*) AS n FROM eval_labels GROUP BY criterion, label ORDER BY 1, 2")
        .raw()
        .all();
    expect(labels()).toEqual([
      ["unsourced", "bad", 2],
      ["unsourced", "good", 4],
      ["wrong_year", "bad", 2],
      ["wrong_year", "good", 4],
    ]);

    const form = page.locator("details", { has: page.locator("summary", { hasText: "wrong_year" }) });
    await form.locator("summary").click();
    await form.getByLabel("Name of the failure mode").fill("unsourced");
    await form.getByRole("button", { name: "Merge into" }).click();
    await page.getByText("Saved: unsourced, 2 traces.").waitFor();
    expect(labels()).toEqual([
      ["unsourced", "bad", 4],
      ["unsourced", "good", 2],
    ]);
    expect(wrong()).toEqual([]);
  });

  it("shows why a change is rejected, and keeps the modes", async () => {
    const { page } = await openPage("modes");
    const form = page.locator("details", { has: page.locator("summary", { hasText: "unsourced" }) });
    await form.locator("summary").click();
    await form.getByLabel("Name of the failure mode").fill("Not a name");
    await form.getByRole("button", { name: "Rename to" }).click();
    await page.getByText("expected a name of lowercase letters").waitFor();
    expect(readTaxonomy(server.db, null).modes.map(({ name }) => name)).toEqual(["unsourced"]);
  });

  it("shows the modes that a model proposes, and saves only the accepted one under the entered name", async () => {
    changeModes(server.db, { action: "delete", mode: "unsourced" });
    const { page, wrong } = await openPage("modes");
    await page.getByLabel("Model that proposes modes").fill("openai/test");
    await page.getByRole("button", { name: "Propose modes" }).click();
    await page.getByText("2 proposed, 0 notes left out. Cost: –.").waitFor();
    const first = page.getByRole("region", { name: "Proposed mode sourceless" });
    expect(await first.textContent()).toContain("<b>no source</b> (2)");
    expect(readTaxonomy(server.db, null).modes).toEqual([]);
    await first.getByLabel("Name of the proposed mode").fill("without_source");
    await first.getByRole("button", { name: "Accept" }).click();
    await page.getByText("Saved: without_source, 2 traces.").waitFor();
    await page.getByRole("region", { name: "Proposed mode" }).getByRole("button", { name: "Skip" }).click();
    expect(await page.getByRole("region", { name: "Proposed mode" }).count()).toBe(0);
    expect(readTaxonomy(server.db, null)).toMatchObject({
      ungrouped: [{ note: "wrong year", traces: 2 }],
      modes: [{ name: "without_source", sentence: "The answer <i>cites</i> an email.", traces: 2 }],
    });
    expect(wrong()).toEqual([]);
  });

  it("rejects proposed modes from a model that does not group notes", async () => {
    const { status, body } = await server.ask("POST", "/api/evals/mode-proposals", { model: "offline/baseline" });
    expect([status, body.error.details.reason]).toEqual([400, "model_unfit"]);
  });

  it("replaces somebody else's note only if the writer has seen it", async () => {
    const trace_id = server.db
      .prepare("SELECT trace_id FROM coding_notes WHERE note IS NOT NULL")
      .pluck()
      .get() as string;
    const note = (body: object) => server.ask("POST", "/api/evals/notes", { trace_id, ...body });
    const stored = server.db.prepare("SELECT note, created_at FROM coding_notes WHERE trace_id = ?");
    const current = { get: () => stored.get(trace_id) };
    const before = current.get() as { note: string; created_at: string };
    const refused = await note({ note: "late", annotator: "ben" });
    expect([refused.status, refused.body.error]).toMatchObject([
      409,
      { code: "CONFLICT", details: { reason: "note_conflict", current: before } },
    ]);
    expect(current.get()).toEqual(before);
    const { created_at: seen } = refused.body.error.details.current;
    expect((await note({ note: "late", annotator: "ben", seen })).status).toBe(201);
    expect(current.get()).toMatchObject({ note: "late" });
    expect((await note({ note: before.note, seen })).status).toBe(409);
  });

  it("saves a second note only after a first one", async () => {
    const trace_id = "trace_run_a_1";
    const second = await server.ask("POST", "/api/evals/notes", { trace_id, note: "rude", is_repeat: true });
    expect(second.status).toBe(201);
    expect(second.body.notes).toContainEqual({ note: "rude", traces: 1 });
    expect(notes().coded).toBe(TRACES);
    saveRun(server.db, "run_b");
    for (let task = 1; task <= 20; task++) saveTask(server.db, "run_b", task, 0.5);
    const { body } = await server.ask("GET", "/api/evals/coding-queue?run_id=run_b");
    const repeat = body.queue.find((one: { is_repeat: boolean }) => one.is_repeat);
    expect(body.queue).toHaveLength(21);
    expect(repeat).toEqual({ trace_id: expect.any(String), is_repeat: true, drawn_from: null, probability: null });
    const refused = await server.ask("POST", "/api/evals/notes", { ...repeat, note: "rude" });
    expect([refused.status, refused.body.error.details.reason]).toEqual([400, "note_unrepeated"]);
  });
});
