import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeCriterion } from "../../src/evals/criteria.js";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { saveRun, saveTask } from "../traces/saved-runs.js";
import { type DemoServer, eventsOf, openChat, says, startDemoServer } from "./demo-server.js";

/** Labeling traces in a real browser. */

const HOSTILE = `</p><img src=x onerror="document.title='stolen'">`;

const TRACES = 11;

describe("the label page", { ...needs("browser"), timeout: 60_000 }, () => {
  const browser = new TestBrowser();
  let provider: FakeProvider;
  let server: DemoServer;

  beforeAll(async () => {
    provider = await startFakeProvider();
    server = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });
    saveRun(server.db, "run_a");
    saveRun(server.db, "run_empty");
    for (let task = 1; task <= TRACES; task++) saveTask(server.db, "run_a", task, 0.5);
    server.db.exec("UPDATE traces SET trace = json_set(trace, '$.task.question', 'How much are the dues of ' || id)");
  }, 60_000);
  afterAll(async () => {
    await server?.close();
    await provider?.close();
  });

  const openPage = (hash: string) => browser.openServed(`${server.url}/#${hash}`);

  const labeled = (criterion: string) =>
    server.db
      .prepare(
        `SELECT trace_id AS trace, label, note, is_repeat AS isRepeat FROM eval_labels WHERE criterion = ? ORDER BY id`,
      )
      .all(criterion) as { trace: string; label: string; note: string | null; isRepeat: number }[];

  /** Presses a key, and waits for the page's message about it and for the next trace. */
  async function press(page: Page, key: string, saying: string): Promise<void> {
    await page.keyboard.press(key);
    await page.getByRole("status").filter({ hasText: saying }).waitFor();
    await page.locator("[aria-busy=true]").waitFor({ state: "detached" });
  }

  it("offers only runs and chats with traces", async () => {
    const { page } = await openPage("label");
    await page.getByText("1 of 1", { exact: true }).waitFor();
    expect(await page.locator("main td a").allTextContents()).toEqual(["run_a"]);
  });

  it("draws likely failures more often on request, says so, and stores the probability", async () => {
    const { page, wrong } = await openPage("label");
    await page.getByText("Failure mode, name and order").click();
    await page.getByLabel("Failure mode").fill("rich");
    await page.getByLabel("Draw likely failures more often").check();
    await page.getByRole("link", { name: "run_a" }).click();
    await page.getByText("run_a, for rich, likely failures more often, weighted in all figures").waitFor();
    await press(page, "b", "Saved: bad.");
    expect(
      server.db.prepare("SELECT drawn, drawn_from, probability FROM eval_labels WHERE criterion = 'rich'").all(),
    ).toEqual([{ drawn: "enriched", drawn_from: TRACES, probability: expect.closeTo(1 / TRACES, 9) }]);
    expect(wrong()).toEqual([]);
  });

  it("saves labels and reasons immediately, can undo them, and shows the next command at the end", async () => {
    const { page, wrong } = await openPage("label");
    await page.getByText("Failure mode, name and order").click();
    await page.getByLabel("Failure mode").fill("keys");
    await page.getByRole("link", { name: "run_a" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText(`${TRACES} to label. Total: 0 good, 0 bad, 0 skipped.`).waitFor();
    const question = page.locator(".judged .question");
    const first = await question.textContent();

    await page.keyboard.press("w");
    // Keys are letters while the user types a reason.
    await page.keyboard.type("bugs: wrong");
    expect(labeled("keys")).toEqual([]);
    await page.keyboard.press("Enter");
    await press(page, "b", `${TRACES - 1} to label. Total: 0 good, 1 bad, 0 skipped.`);
    expect(labeled("keys")).toMatchObject([{ label: "bad", note: "bugs: wrong", isRepeat: 0 }]);
    await page.getByText("Saved: bad.").waitFor();
    expect(await question.textContent()).not.toBe(first);
    expect(await page.getByLabel("Reason").inputValue()).toBe("");

    await press(page, "u", "Undone.");
    expect(labeled("keys")).toEqual([]);
    expect(await question.textContent()).toBe(first);
    expect(await page.getByLabel("Reason").inputValue()).toBe("bugs: wrong");
    await press(page, "g", `${TRACES - 1} to label. Total: 1 good, 0 bad, 0 skipped.`);
    await press(page, "s", `${TRACES - 2} to label. Total: 1 good, 0 bad, 1 skipped.`);
    for (let left = TRACES - 3; left >= 0; left--) await press(page, "b", `${left} to label.`);
    await page.getByText("All traces are labeled.").waitFor();
    expect(labeled("keys").map(({ label }) => label)).toEqual(["good", "skip", ...Array(TRACES - 2).fill("bad")]);
    expect(new Set(labeled("keys").map(({ trace }) => trace)).size).toBe(TRACES);
    await page.keyboard.press("u");
    await page.locator(".labeling").waitFor();
    expect(labeled("keys")).toHaveLength(TRACES - 1);
    expect(wrong()).toEqual([]);
  });

  it("requests some labels a second time, and shows how many agree", async () => {
    const { page } = await openPage("label/run_a?criterion=again");
    await page.locator(".labeling").waitFor();
    await press(page, "g", `${TRACES - 1} to label.`);
    await page.reload();
    await page.locator(".labeling").waitFor();
    for (let left = TRACES - 2; left >= TRACES - 10; left--) await press(page, "g", `${left} to label.`);
    await press(page, "g", "1 of 1 repeated labels agree");
    expect(labeled("again").at(-1)).toEqual({ ...labeled("again")[0], isRepeat: 1 });
  });

  it("shows the name of a run, and the description of a criterion", async () => {
    server.db.exec("UPDATE runs SET name = 'nightly' WHERE id = 'run_a'");
    writeCriterion(server.db, "polite", "The answer is <b>polite</b>.");
    const { page } = await openPage("label/run_a?criterion=polite");
    await page.getByText("nightly, for polite, in random order: The answer is <b>polite</b>.").waitFor();
    server.db.exec("UPDATE runs SET name = NULL WHERE id = 'run_a'");
  });

  it("accepts a description and an annotator, so that two people can label the same traces", async () => {
    for (const name of ["ann", "ben"]) {
      const { page, wrong } = await openPage("label");
      await page.getByText("Failure mode, name and order").click();
      await page.getByLabel("Failure mode").fill("brief");
      if (name === "ann") await page.getByLabel("Property of a good trace").fill("The answer is brief.");
      await page.getByLabel("Your name").fill(name);
      await page.getByRole("link", { name: "run_a" }).click();
      await page.getByText(`run_a, for brief, by ${name}, in random order: The answer is brief.`).waitFor();
      await press(page, name === "ann" ? "g" : "b", `${TRACES - 1} to label.`);
      expect(wrong()).toEqual([]);
    }
    const given = server.db
      .prepare("SELECT trace_id AS trace, annotator, label FROM eval_labels WHERE criterion = 'brief' ORDER BY id")
      .all() as { trace: string; annotator: string; label: string }[];
    expect(given.map(({ annotator, label }) => [annotator, label])).toEqual([
      ["ann", "good"],
      ["ben", "bad"],
    ]);
    expect(given[0]?.trace).toBe(given[1]?.trace);
  });

  it("shows the labels of two annotators who disagree, and saves the decision", async () => {
    const { page, wrong } = await openPage("label/run_a?criterion=brief&order=disagreements");
    await page.getByText("run_a, for brief, traces with different labels").waitFor();
    const given = page.getByRole("region", { name: "Labels to decide between" });
    expect(await given.locator("dl").textContent()).toBe("anngoodbenbad");
    await page.keyboard.press("b");
    await page.getByText("All traces are labeled.").waitFor();
    const decided = server.db
      .prepare("SELECT label, basis FROM eval_labels WHERE criterion = 'brief' AND basis = 'adjudicated'")
      .all();
    expect(decided).toEqual([{ label: "bad", basis: "adjudicated" }]);
    expect(wrong()).toEqual([]);
  });

  it("shows the trace and the reason again if a label cannot be saved", async () => {
    const { page } = await openPage("label/run_a?criterion=lost");
    await page.locator(".labeling").waitFor();
    await page.getByLabel("Reason").fill("odd");
    await page.context().setOffline(true);
    await page.getByRole("button", { name: "Bad" }).click();
    await page.locator(".label-form .bad[role=status]").filter({ hasText: /./ }).waitFor();
    expect(await page.getByLabel("Reason").inputValue()).toBe("odd");
    await page.context().setOffline(false);
    await page.getByRole("button", { name: "Bad" }).click();
    await page.getByText("Saved: bad.").waitFor();
    expect(labeled("lost")).toMatchObject([{ label: "bad", note: "odd" }]);
  });

  it("shows the emails that a chat opened, and all of their content as text", async () => {
    const mail = server.db.prepare("SELECT message_id AS id, subject FROM emails LIMIT 1").get() as {
      readonly id: string;
      readonly subject: string;
    };
    provider.push(
      { toolCalls: [{ name: "email_get", arguments: { message_id: mail.id } }] },
      { toolCalls: [{ name: "return_final_answer", arguments: { answer: HOSTILE, sources: [HOSTILE, mail.id] } }] },
    );
    await eventsOf(await openChat(server.url, "email-search", { modelId: "openai/test", ...says(HOSTILE) }));
    const { page, wrong } = await openPage("label/chats");
    await page.getByText("1 to label.").waitFor();
    expect(await page.locator(".judged .answer").textContent()).toBe(HOSTILE);
    expect(await page.locator(".label-steps .mail[open] .subject").textContent()).toBe(mail.subject);
    // A cited email has a description. An email that the agent did not see is shown as its Message-ID.
    const facts = await page.locator(".judged .facts").textContent();
    expect(facts).toContain(`Sources${HOSTILE}; ${mail.subject}, `);
    expect(facts).not.toContain(mail.id);
    expect(await page.locator("main img").count()).toBe(0);
    await press(page, "b", "0 to label.");
    expect(labeled("overall")).toHaveLength(1);
    expect(wrong()).toEqual([]);
  });

  it("reports an invalid URL", async () => {
    const { page } = await openPage("label/run_z");
    expect(await page.getByRole("alert").textContent()).toContain("Unknown run.");
    await page.goto(`${server.url}/#label/run_a?criterion=Not%20a%20name`);
    await page.getByRole("alert").filter({ hasText: "expected a name of lowercase letters" }).waitFor();
  });

  it("fits wide and narrow screens, light and dark, and its buttons are always visible", async () => {
    const { page } = await openPage("label/run_a?criterion=look");
    await page.locator(".labeling").waitFor();
    const inSight = () =>
      page.evaluate(`(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(
        document.querySelector(".label-buttons").getBoundingClientRect())`);
    const nameless = `[...document.querySelectorAll("main input, main button, main a")]
      .filter((one) => !one.textContent.trim() && !document.querySelector('label[for="' + one.id + '"]')).length`;
    for (const width of [1280, 390]) {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.setViewportSize({ width, height: 640 });
        await page.emulateMedia({ colorScheme });
        await page.evaluate("scrollTo(0, 0)");
        const found = [await page.evaluate("document.documentElement.scrollWidth - innerWidth"), await inSight()];
        await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
        found.push(await inSight(), await page.evaluate(nameless));
        expect([width, colorScheme, ...found]).toEqual([width, colorScheme, 0, true, true, 0]);
      }
    }
  });
});
