import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { type Browser, chromium, type Page } from "playwright-core";
import { CHROMIUM } from "../test/machine-requirements.js";
import { type Answer, startFakeProvider } from "../test/providers/fake-provider.js";
import type { ParsedRequest } from "../test/providers/wire-request.js";
import { everyPage, type ShownIds } from "../test/server/every-page.js";
import { startPage } from "../test/started-page.js";

/**
 * `npm run pictures [-- --every DIR [--mail MAIL --questions FILE]]`: takes the pictures of the docs from the demo, in a
 * real browser. With --every, takes pictures of every page instead, wide and narrow, light and dark, over the demo or
 * over other mail.
 */

const ROOT = join(import.meta.dirname, "..");
const IMAGES = join(ROOT, "docs/images");
const BIN = join(ROOT, "bin/art-e.js");
const MARCUS = "marcus.hale@kestrelplains.example";

/** Milliseconds per reply of the model in the live run. Long enough for a picture in the middle. */
const LATENCY_MS = 900;

const { values } = parseArgs({
  options: {
    every: { type: "string" },
    mail: { type: "string", default: join(ROOT, "fixtures/demo/maildir") },
    questions: { type: "string", default: join(ROOT, "fixtures/demo/questions.jsonl") },
  },
});
interface DemoTask {
  readonly id: number;
  readonly question: string;
  readonly answer: string;
  readonly inbox_address: string;
  readonly message_ids: readonly string[];
}

const tasks = readFileSync(values.questions, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as DemoTask);

const UNKNOWN: DemoTask = { id: 0, question: "", answer: "", inbox_address: "", message_ids: [] };

const ART_PROMPT = `You are an assistant for {{inbox_address}}. Search the emails, read them, and answer the question.`;

function artE(folder: string, args: readonly string[]): string {
  return execFileSync(process.execPath, [BIN, ...args, "--quiet"], { cwd: folder, encoding: "utf8" });
}

async function openPage(browser: Browser, url: string, height: number): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1200, height }, reducedMotion: "reduce" });
  await page.goto(url);
  return page;
}

async function takePicture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
  await page.close();
  console.log(`docs/images/${name}.png`);
}

async function takeReports(browser: Browser, folder: string): Promise<void> {
  artE(folder, ["report", "first", "-o", "report.html"]);
  artE(folder, ["report", "first", "second", "-o", "comparison.html"]);
  for (const [name, height] of [
    ["report", 820],
    ["comparison", 690],
  ] as const) {
    const page = await openPage(browser, pathToFileURL(join(folder, `${name}.html`)).href, height);
    await page.locator("tr[data-index]").first().waitFor();
    await takePicture(page, name);
  }
}

async function takeServedPages(browser: Browser, folder: string): Promise<void> {
  const { child, url } = await startPage(folder, ["serve", "--port", "0"]);
  try {
    const chat = await openPage(browser, url, 820);
    await chat.getByLabel("Agent").selectOption("baseline");
    await chat.getByLabel("Mailbox").fill(MARCUS);
    await chat.getByRole("textbox", { name: "Question" }).fill("How much are the softball dues?");
    await chat.keyboard.press("Enter");
    const trace = await chat.getByRole("link", { name: "Open the trace" }).getAttribute("href");
    await takePicture(chat, "playground");

    const tracePage = await openPage(browser, new URL(trace ?? "", url).href, 900);
    await tracePage.getByRole("heading", { level: 2 }).first().waitFor();
    await takePicture(tracePage, "trace");

    const runs = await openPage(browser, `${url}#runs`, 420);
    await runs.getByRole("link", { name: "first" }).waitFor();
    await takePicture(runs, "runs");

    const task = await openPage(browser, `${url}#runs/first`, 820);
    await task.locator("tr[data-index]").first().click();
    await task.getByRole("heading", { name: "Conversation" }).waitFor();
    await takePicture(task, "task");

    const label = await openPage(browser, `${url}#label`, 820);
    await label.getByRole("link", { name: "first" }).click();
    await label.locator(".judged .question").waitFor();
    await takePicture(label, "label");

    const coding = await openPage(browser, `${url}#code/first`, 700);
    for (const note of ["too long", "too long", null, "number missing", null, "too long"])
      await writeNote(coding, note);
    await takePicture(coding, "code");
  } finally {
    child.kill("SIGKILL");
  }
}

/** Writes a note about the trace on the page, or none if nothing is wrong, and waits for the next trace. */
async function writeNote(page: Page, note: string | null): Promise<void> {
  await page.locator(".judged .question").waitFor();
  await page.keyboard.press(note === null ? "n" : "w");
  if (note !== null) await page.keyboard.type(`${note}\n`);
  await page
    .getByRole("status")
    .filter({ hasText: `Saved: ${note ?? "nothing wrong."}` })
    .waitFor();
  await page.locator("[aria-busy=true]").waitFor({ state: "detached" });
}

/** Searches, then answers two of three questions with the gold answer. */
async function answerSlowly({ question, turn }: ParsedRequest): Promise<Answer> {
  await new Promise((resolve) => setTimeout(resolve, LATENCY_MS));
  const { id, answer, inbox_address: inbox } = tasks.find((task) => task.question === question) ?? UNKNOWN;
  const isRight = id % 3 !== 0;
  const call =
    turn === 0
      ? { name: "email_search", arguments: { query: question, inbox_id: inbox } }
      : { name: "return_final_answer", arguments: { answer: isRight ? answer : "I could not tell.", sources: [] } };
  return { toolCalls: [call], usage: { inputTokens: 2_400, outputTokens: 90, cachedInputTokens: 0 } };
}

async function takeLiveRun(browser: Browser, folder: string): Promise<void> {
  const provider = await startFakeProvider(answerSlowly);
  const { child, url } = await startPage(folder, [
    "run",
    "-a",
    "email-search",
    "--dataset",
    "questions.jsonl",
    "-l",
    "0",
    "--concurrency",
    "6",
    "--no-judge",
    "--model-id",
    "openai/demo",
    "--base-url",
    provider.baseUrl("openai-chat"),
    "--wire-api",
    "chat",
    "--price",
    "1,4",
    "--watch",
    "--no-progress",
  ]);
  try {
    const page = await openPage(browser, url, 1_000);
    await page
      .getByText(/^[34]\d of 73 tasks done/)
      .first()
      .waitFor();
    await takePicture(page, "live-run");
  } finally {
    child.kill("SIGKILL");
    await provider.close();
  }
}

const WINDOWS = [
  { name: "wide-light", width: 1280, height: 900, colorScheme: "light" },
  { name: "wide-dark", width: 1280, height: 900, colorScheme: "dark" },
  { name: "narrow-light", width: 390, height: 844, colorScheme: "light" },
  { name: "narrow-dark", width: 390, height: 844, colorScheme: "dark" },
] as const;

/** Maximum height of a picture. A page can be much longer. */
const MAX_HEIGHT = 6_000;

async function takeEveryPage(browser: Browser, folder: string, output: string): Promise<void> {
  mkdirSync(output, { recursive: true });
  const take = async (page: string, url: string, last: string) => {
    for (const { name, width, height, colorScheme } of WINDOWS) {
      const view = await browser.newPage({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
      await view.goto(url);
      await view.locator(last).first().waitFor();
      // The charts are drawn after the layout.
      await view.waitForTimeout(500);
      const path = join(output, `${page}-${name}.png`);
      const length = Number(await view.evaluate("document.documentElement.scrollHeight"));
      const clip = { x: 0, y: 0, width, height: Math.min(MAX_HEIGHT, length) };
      await view.screenshot({ path, ...(last.startsWith("dialog") ? {} : { fullPage: true, clip }) });
      await view.close();
      console.log(path);
    }
  };
  const { child, url } = await startPage(folder, ["serve", "--port", "0"]);
  try {
    const ids = await fillPages(url);
    for (const { name, hash, last } of everyPage(ids)) await take(name, `${url}/#${hash}`, last);
    for (const [name, runs] of [
      ["report", ["first"]],
      ["report-compared", ["first", "second"]],
    ] as const) {
      artE(folder, ["report", ...runs, "-o", `${name}.html`]);
      const file = pathToFileURL(join(folder, `${name}.html`)).href;
      await take(name, file, "tr[data-index]");
      await take(`${name}-task`, `${file}#task=${ids.task}`, "dialog .columns");
    }
  } finally {
    child.kill("SIGKILL");
  }
  const review = await startPage(folder, ["questions", "review", "questions.jsonl", "--no-open"]);
  try {
    await take("review", review.url, ".labeling");
  } finally {
    review.child.kill("SIGKILL");
  }
}

/** Asks a question and writes notes, so that no page is empty. */
async function fillPages(url: string): Promise<ShownIds> {
  const send = async (method: string, path: string, body?: object) => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response;
  };
  const get = async <T>(path: string) => (await send("GET", path)).json() as Promise<T>;
  const { runs } = await get<{ runs: { id: string; name: string }[] }>("/api/runs");
  const idOf = (name: string) => runs.find((run) => run.name === name)?.id ?? "";
  const [first, second] = [idOf("first"), idOf("second")];
  const taskOf = async (run: string) => {
    const { taskResults } = await get<{ taskResults: { taskId: number | string }[] }>(`/api/runs/${run}/results`);
    return `${run}/${taskResults[0]?.taskId}/1`;
  };
  const { traces } = await get<{ traces: { id: string }[] }>(`/api/traces?run_id=${first}&limit=8`);
  const [{ question, inbox_address: inbox } = UNKNOWN] = tasks;
  const asked = await send("POST", "/api/agents/baseline/playground/chat", {
    messages: [{ role: "user", content: question }],
    variables: { inbox_address: inbox },
  });
  await asked.text();
  for (const [i, { id }] of traces.entries()) {
    const note = i === 0 ? null : i < 4 ? "took the answer from an older email" : "cited no source";
    await send("POST", "/api/evals/notes", { trace_id: id, note, drawn_from: traces.length });
  }
  const modes = [{ action: "assign", mode: "outdated_email", notes: ["took the answer from an older email"] }];
  for (const change of modes) await send("POST", "/api/evals/modes", change);
  const { sessions } = await get<{ sessions: { id: string }[] }>("/api/sessions");
  return {
    runs: [first, second],
    task: await taskOf(first),
    trace: traces[0]?.id ?? "",
    session: sessions[0]?.id ?? "",
    mail: tasks[0]?.message_ids[0] ?? "",
    others: { suite: await taskOf(idOf("suite")), attacked: await taskOf(idOf("attacked")) },
  };
}

const folder = mkdtempSync(join(tmpdir(), "art-e-pictures-"));
process.env.ART_E_DB = join(folder, "art-e.db");
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const questions = "questions.jsonl";
  copyFileSync(values.questions, join(folder, questions));
  artE(folder, ["import", resolve(values.mail)]);
  writeFileSync(join(folder, "prompt.txt"), ART_PROMPT);
  const tools = "search_emails,read_email,return_final_answer";
  artE(folder, [
    "agents",
    "create",
    "baseline-art",
    "--prompt",
    "@prompt.txt",
    "--model",
    "offline/baseline",
    "--tools",
    tools,
  ]);
  artE(folder, ["run", "-a", "baseline", "--dataset", questions, "-l", "0", "--name", "first"]);
  artE(folder, ["run", "-a", "baseline-art", "--dataset", questions, "-l", "0", "--name", "second"]);
  if (values.every === undefined) {
    await takeReports(browser, folder);
    await takeServedPages(browser, folder);
    await takeLiveRun(browser, folder);
  } else {
    artE(folder, ["run", "--repeat", "first", "--perturb", "hostile", "--name", "attacked"]);
    artE(folder, ["run", "-a", "noop", "--suite", join(ROOT, "fixtures/suites/demo"), "--name", "suite"]);
    await takeEveryPage(browser, folder, values.every);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
