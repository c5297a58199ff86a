import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { CHROMIUM } from "../machine-requirements.js";
import { type Answer, startFakeProvider } from "../providers/fake-provider.js";
import type { ParsedRequest } from "../providers/wire-request.js";

/** `npm run pictures`: takes the pictures of the docs from the demo, in a real browser. */

const ROOT = join(import.meta.dirname, "../..");
const IMAGES = join(ROOT, "docs/images");
const BIN = join(ROOT, "bin/art-e.js");
const MARCUS = "marcus.hale@kestrelplains.example";

/** Milliseconds per reply of the model in the live run. Long enough for a picture in the middle. */
const LATENCY_MS = 900;

interface DemoTask {
  readonly id: number;
  readonly question: string;
  readonly answer: string;
  readonly inbox_address: string;
}

const tasks = readFileSync(join(ROOT, "fixtures/demo/questions.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as DemoTask);

const UNKNOWN: DemoTask = { id: 0, question: "", answer: "", inbox_address: "" };

const ART_PROMPT = `You are an assistant for {{inbox_address}}. Search the emails, read them, and answer the question.`;

function artE(folder: string, args: readonly string[]): string {
  return execFileSync(process.execPath, [BIN, ...args, "--quiet"], { cwd: folder, encoding: "utf8" });
}

/** Starts a command and returns the page that it prints. */
async function startPage(folder: string, args: readonly string[]): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: folder,
    env: { ...process.env, OPENAI_API_KEY: "demo" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      text += chunk;
    });
  }
  for (;;) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+\S*(?=\s)/.exec(text) ?? [];
    if (url !== undefined) return { child, url };
    if (child.exitCode !== null) throw new Error(`art-e ${args.join(" ")} ended: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
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
  } finally {
    child.kill("SIGKILL");
  }
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
    ...["run", "-a", "email-search", "--dataset", "questions.jsonl", "-l", "0", "--concurrency", "6", "--no-judge"],
    ...["--model-id", "openai/demo", "--base-url", provider.baseUrl("openai-chat"), "--wire-api", "chat"],
    ...["--price", "1,4", "--watch", "--no-progress"],
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

const folder = mkdtempSync(join(tmpdir(), "art-e-pictures-"));
process.env.ART_E_DB = join(folder, "art-e.db");
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const questions = "questions.jsonl";
  copyFileSync(join(ROOT, "fixtures/demo", questions), join(folder, questions));
  artE(folder, ["import", join(ROOT, "fixtures/demo/maildir")]);
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
  await takeReports(browser, folder);
  await takeServedPages(browser, folder);
  await takeLiveRun(browser, folder);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
