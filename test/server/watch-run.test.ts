import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestBrowser } from "../browser.js";
import { MAIL, QUESTIONS, type Started, workFolder } from "../cli/art-e.js";
import { needs } from "../machine-requirements.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { connect } from "./training-server.js";

/** Watching a run in a real browser: on its own process's page, and on a server in another process. */

const HOSTILE = `no <img src=x onerror="document.title='stolen'">`;

const { start, artE, readJson } = workFolder({ mail: MAIL });

const ANSWER: Answer = {
  toolCalls: [{ name: "return_final_answer", arguments: { answer: "The dues are $40.", sources: [] } }],
};

const LOOKS = [
  [1280, "light"],
  [390, "dark"],
] as const;

/** A provider whose requests wait for the test to answer them, in order of arrival. */
async function startHeldProvider() {
  const held: ((answer: Answer) => void)[] = [];
  const waiting: ((answer: (answer: Answer) => void) => void)[] = [];
  const provider = await startFakeProvider(
    () =>
      new Promise((resolve) => {
        const next = waiting.shift();
        if (next === undefined) held.push(resolve);
        else next(resolve);
      }),
  );
  const nextRequest = () =>
    new Promise<(answer: Answer) => void>((resolve) => {
      const ready = held.shift();
      if (ready === undefined) waiting.push(resolve);
      else resolve(ready);
    });
  return { provider, answerNext: async (answer: Answer) => (await nextRequest())(answer) };
}

/** Returns the URL that a process prints to stderr or stdout. */
function addressOf({ child, ended }: Started): Promise<string> {
  const said = new Promise<string>((resolve) => {
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: string) => {
        text += chunk;
        const [url] = /http:\/\/127\.0\.0\.1:\d+\S*(?=\s)/.exec(text) ?? [];
        if (url !== undefined) resolve(url);
      });
    }
  });
  return Promise.race([said, ended.then(({ stderr }) => Promise.reject(new Error(`it ended: ${stderr}`)))]);
}

const runLine = (provider: FakeProvider, flags: string) =>
  `run -a email-search --model-id openai/test --base-url ${provider.baseUrl("openai-chat")} --wire-api chat --dataset ${QUESTIONS} --no-progress --price 1,2 --watch ${flags}`;

describe("the page about a running run", { ...needs("browser"), timeout: 180_000 }, () => {
  const browser = new TestBrowser();
  /** Shared by all cases. The last one stops it. */
  let server: Started;
  let serverUrl: string;
  beforeAll(async () => {
    server = start("serve --port 0");
    serverUrl = await addressOf(server);
  });
  afterAll(() => server?.child.kill("SIGKILL"));

  async function open(url: string) {
    const opened = await browser.openServed(url);
    await opened.page.getByRole("heading", { level: 2 }).first().waitFor();
    return opened;
  }

  const text = (page: Page) => page.getByRole("main").textContent();
  const status = (page: Page) => page.getByRole("status").first().textContent();

  it("pauses, resumes, limits and stops a run from the page of another process, and lists the changes", async () => {
    const { provider, answerNext } = await startHeldProvider();
    const run = start(runLine(provider, "-l 6 --concurrency 1"), { OPENAI_API_KEY: "key" });
    const hash = new URL(await addressOf(run)).hash;
    const { page, wrong } = await open(`${serverUrl}/${hash}`);
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    await page.getByLabel("Reason").fill("lunch");
    await button("Pause").click();
    await page.getByText("Paused.", { exact: true }).waitFor();
    expect(await status(page)).toBe("Paused: running tasks finish, but no other task starts.");
    await page.getByText("Time left–paused").waitFor();
    expect(await button("Pause").isVisible()).toBe(false);
    await answerNext({ fail: "status", status: 400, message: HOSTILE });
    await page.getByText("1 of 6 tasks done").waitFor();
    await page.getByText(/Z paused: lunch$/).waitFor();
    expect(provider.requests).toHaveLength(1);

    await page.getByText("Limits", { exact: true }).click();
    await button("Set").click();
    await page.getByText("Enter a limit.").waitFor();
    await page.getByLabel("Concurrent tasks").fill("3");
    await page.getByLabel("Time budget").fill("90");
    await button("Set").click();
    await page.getByText("Set concurrency to 3, time budget to 90 minutes.").waitFor();
    await button("Run failed tasks again").click();
    await page.getByText("Requeued 1 failed task.").waitFor();
    await button("Resume").click();
    await provider.received(4);
    await expect.poll(() => status(page)).toBe("Running.");
    await button("Stop now").click();
    await page.getByText("Running tasks end without a result").waitFor();
    await button("Keep running").click();
    expect(await button("Stop running tasks").isVisible()).toBe(false);
    await button("Stop after running tasks").click();
    await page.getByText("Canceled.", { exact: true }).waitFor();
    for (let i = 0; i < 3; i++) await answerNext(ANSWER);
    expect((await run.ended).code).toBe(130);
    await page.getByText("Interrupted before its last task.").waitFor();
    expect(await page.getByRole("region", { name: "Steer the run" }).isVisible()).toBe(false);
    expect(provider.requests).toHaveLength(4);
    expect(wrong()).toEqual([]);
    const { limits } = JSON.parse((await artE("runs show latest --json")).stdout);
    expect(limits).toMatchObject({ maxTimeMs: 5_400_000 });
  });

  it("shows calls, retries, failures and scores as they happen, even after a reload, and the end of the run", async () => {
    const { provider, answerNext } = await startHeldProvider();
    const run = start(runLine(provider, "-l 4 --concurrency 2 -o watched.json"), { OPENAI_API_KEY: "key" });
    const { page, wrong } = await open(await addressOf(run));
    const underWay = page.getByRole("region", { name: "Running" });
    await underWay.getByText("waiting for a reply").nth(1).waitFor();
    expect(await status(page)).toBe("Running.");
    expect(await text(page)).toContain("0 of 4 tasks done");
    expect(await text(page)).toContain("2 of at most 2 calls running");

    // Long enough for the page to see the wait.
    await answerNext({ fail: "status", status: 429, message: "slow down", headers: { "retry-after": "3" } });
    await underWay.getByText(/attempt 2 in \d s: .*slow down/).waitFor();
    await page.getByRole("region", { name: "Recent retries" }).getByText("slow down").waitFor();
    await answerNext(ANSWER);
    await page.getByText("1 of 4 tasks done").waitFor();
    await page.getByText(/Waiting: .*slow down; next try in \d s \(1 of 2 tasks\)/).waitFor();
    expect(await page.getByRole("definition").allTextContents()).toContain("1");
    await underWay.getByText("waiting for the pause requested by the server").waitFor();
    await answerNext({ fail: "status", status: 400, message: HOSTILE });
    const rowOf = (each: Page, said: string) => each.locator("tr[data-index]", { hasText: said });
    const failed = rowOf(page, HOSTILE);
    await failed.waitFor();
    expect(await page.locator("main img").count()).toBe(0);

    const exactMatch = page.getByRole("row", { name: /^Exact match.*0\.000 0\.000 to 0\.793/ });
    await exactMatch.waitFor();
    // Score and cost are shown once: live while it is running, and from the report afterward.
    const costs = () => page.locator("dt:visible", { hasText: /cost/i }).allTextContents();
    expect(await costs()).toEqual(["Cost"]);
    const before = [await failed.textContent(), await exactMatch.textContent()];
    await page.reload();
    await failed.waitFor();
    await page.getByRole("region", { name: "Recent retries" }).getByText("slow down").waitFor();
    await exactMatch.waitFor();
    expect([await failed.textContent(), await exactMatch.textContent()]).toEqual(before);

    // Another process shows the contents of the database, and explains its limits.
    const other = await open(`${serverUrl}/#runs/${new URL(page.url()).hash.split("/")[1]}`);
    await rowOf(other.page, HOSTILE).waitFor();
    expect(await text(other.page)).toContain("2 of 4 tasks done, 1 of them failed");
    await other.page.getByText("this page shows only its saved results").waitFor();

    // A row with the focus keeps it while the page changes, and new results wait behind a button.
    await failed.focus();
    await answerNext(ANSWER);
    await answerNext(ANSWER);
    await page.getByText("Completed. Its server has stopped too").waitFor();
    expect(await page.evaluate("document.activeElement.textContent")).toContain("<img src=x");
    await page.getByRole("button", { name: "Show 2 new tasks" }).waitFor();
    expect(await costs()).toEqual(["Agent cost per 1,000 tasks"]);
    expect(await text(page)).toContain("4 of 4 tasks done, 1 of them failed");
    expect(await underWay.isVisible()).toBe(false);
    await other.page.getByText("Completed.").waitFor();
    expect(await other.page.getByText("this page shows only its saved results").isVisible()).toBe(false);
    const { code } = await run.ended;
    expect(code).toBe(0);
    expect(readJson("watched.json")).toMatchObject({ totalTasks: 4, completedTasks: 3, failedTasks: 1 });
    expect([...wrong(), ...other.wrong()]).toEqual([]);
    await provider.close();
  });

  it("shows that the run is stopping, and the run's status if its process was killed", { tags: ["slow"] }, async () => {
    const { provider, answerNext } = await startHeldProvider();
    const run = start(runLine(provider, "-l 3 --concurrency 1"), { OPENAI_API_KEY: "key" });
    const { page } = await open(await addressOf(run));
    const runId = new URL(page.url()).hash.split("/")[1];
    run.child.kill("SIGINT");
    await page.getByText("Stopping: running tasks finish").waitFor();
    await answerNext(ANSWER);
    await page.getByText("Interrupted before its last task. It can be resumed. Its server has stopped too").waitFor();
    expect((await run.ended).code).toBe(130);

    const again = start(`run --resume ${runId} --no-progress --watch`, { OPENAI_API_KEY: "key" });
    const address = await addressOf(again);
    const other = await open(`${serverUrl}/#runs/${runId}`);
    await other.page.getByText("Running.").waitFor();
    await page.goto(address);
    await page.getByText("1 of 3 tasks done").waitFor();
    again.child.kill("SIGKILL");
    await other.page.getByText("Interrupted before its last task.").waitFor();
    await page.getByText("Connection lost.").waitFor();
    await Promise.all([again.ended, provider.close()]);
  });

  it("fits wide and narrow screens, light and dark, and works with only the keyboard", {
    tags: ["slow"],
  }, async () => {
    const { provider, answerNext } = await startHeldProvider();
    const run = start(runLine(provider, "-l 3 --concurrency 2"), { OPENAI_API_KEY: "key" });
    const { page } = await open(await addressOf(run));
    const newest = page.getByRole("grid", { name: "Tasks" }).locator("tr[data-index]").first();
    const isOnTask = "document.activeElement.closest('tr[data-index]') !== null";
    for (const [width, colorScheme] of LOOKS) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      await answerNext(ANSWER);
      await newest.waitFor();
      expect([width, await page.evaluate("document.documentElement.scrollWidth - innerWidth")]).toEqual([width, 0]);
      expect(await page.getByRole("navigation").getByRole("link").allTextContents()).toEqual(["Runs", "Traces"]);
      for (let i = 0; i < 50 && !(await page.evaluate(isOnTask)); i++) await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Conversation" }).waitFor();
      expect(await text(page)).toContain("The dues are $40.");
      await page.goBack();
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    }
    await answerNext(ANSWER);
    await page.getByText("Completed.").waitFor();
    expect((await run.ended).code).toBe(0);
    await provider.close();
  });

  it("shows a training run's rewards, tokens and endings as they happen, and that its server is stopping", async () => {
    const environment = start(`env serve --port 0 --dataset ${QUESTIONS} --name grpo --reward exactMatch`);
    const client = await connect(await addressOf(environment));
    await client.reset({ index: 0 });
    await client.call("return_final_answer", { answer: "x", sources: [] });
    const { page } = await open(`${serverUrl}/#runs/grpo`);
    const figures = page.getByRole("figure");
    await figures.getByText("Reward: 0.000 lately").waitFor();
    const [first] = readFileSync(QUESTIONS, "utf8").split("\n", 1);
    const { answer } = JSON.parse(first ?? "") as { answer: string };
    for (let i = 0; i < 3; i++) {
      await client.reset({ index: 0 });
      await client.call("return_final_answer", { answer, sources: [] });
    }
    for (let turn = 0; turn < 3; turn++) {
      if (turn === 0) await client.reset({ index: 1 });
      await client.call("nothing", {});
    }
    const endings = page.getByRole("region", { name: "Endings" }).getByRole("row");
    await endings.filter({ hasText: /^(Ending)?tool protocol error(Episodes)?1$/ }).waitFor();
    await endings.filter({ hasText: /^(Ending)?answered(Episodes)?4$/ }).waitFor();
    expect(
      await figures.getByRole("img").evaluateAll((all) => all.map((svg) => svg.getAttribute("aria-label"))),
    ).toEqual(["from 0.000 to 1.000", expect.stringMatching(/^from \d+ to \d+$/)]);
    const course = await figures.locator("polyline").first().getAttribute("points");
    expect(course?.split(" ").length).toBeGreaterThan(3);
    for (const [width, colorScheme] of LOOKS) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      expect([width, await page.evaluate("document.documentElement.scrollWidth - innerWidth")]).toEqual([width, 0]);
    }
    client.close();
    environment.child.kill("SIGINT");
    server.child.kill("SIGTERM");
    await page.getByText("The server has stopped").waitFor();
    expect((await server.ended).code).toBe(0);
    await environment.ended;
  });
});

describe("the server of a run's page", () => {
  it("accepts only pages on this machine, and requires the token if there is one", async () => {
    const { provider, answerNext } = await startHeldProvider();
    const run = start(runLine(provider, "-l 1"), { OPENAI_API_KEY: "key", ART_E_TOKEN: "a-token-for-this-test" });
    const { origin } = new URL(await addressOf(run));
    const statusOf = (path: string, headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = httpRequest(origin + path, { headers }, (response) => {
          resolve(response.statusCode);
          response.destroy();
        });
        asked.on("error", reject).end();
      });
    const authorization = "Bearer a-token-for-this-test";
    expect(await statusOf("/", {})).toBe(200);
    expect(await statusOf("/api/runs", {})).toBe(401);
    expect(await statusOf("/api/runs", { authorization })).toBe(200);
    expect(await statusOf("/api/runs/latest/events", {})).toBe(401);
    expect(await statusOf("/api/runs/latest/events", { authorization })).toBe(200);
    expect(await statusOf("/api/runs/nothing/events", { authorization })).toBe(404);
    expect(await statusOf("/", { host: "evil.example" })).toBe(403);
    expect(await statusOf("/api/runs", { authorization, origin: "http://evil.example" })).toBe(403);
    // The page cannot change anything.
    expect(await statusOf("/api/agents", { authorization })).toBe(404);
    await answerNext(ANSWER);
    expect((await run.ended).code).toBe(0);
    await provider.close();
  });

  it("does not change a run's output, and does not start if no task is running", async () => {
    const line = `run -a baseline --dataset ${QUESTIONS} -l 3 --no-progress --quiet`;
    expect((await artE(`${line} -o plain.json`)).code).toBe(0);
    expect(await artE(`${line} -o watched-too.json --watch`)).toMatchObject({ code: 0, stderr: "" });
    const figures = (name: string) =>
      readJson(name).taskResults.map(({ taskId, agentAnswer, scores }: Record<string, unknown>) => ({
        taskId,
        agentAnswer,
        scores,
      }));
    expect(figures("watched-too.json")).toEqual(figures("plain.json"));
    const refused = await artE(`${line} --watch --dry-run`);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("--watch");
  });
});
