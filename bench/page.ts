import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { openStore } from "../src/store/open-store.js";
import { table } from "../src/text/format.js";
import { CHROMIUM } from "../test/machine-requirements.js";
import { saveSynthetic } from "../test/reports/synthetic-run.js";
import { startPage } from "../test/started-page.js";
import { median } from "./quantiles.js";

/** Waiting times on the page of a large run: in `art-e serve` and in the file of `art-e report`. */

const BIN = join(import.meta.dirname, "../bin/art-e.js");
const RUN = "run_large";
const TYPED = "gas contract";
const OPENED = 5;

/** Milliseconds from the event to the frame that shows its result. */
interface PageTimes {
  /** First contentful paint. */
  readonly firstPaint: number[];
  readonly firstRows: number[];
  readonly key: number[];
  readonly sort: number[];
  readonly open: number[];
  readonly next: number[];
}

interface ResponseSize {
  readonly ms: number;
  readonly megabytes: number;
}

interface PageBench {
  readonly tasks: number;
  readonly served: PageTimes;
  readonly report: PageTimes;
  readonly reportMegabytes: number;
  /** The data of the run's report from the API, with each encoding. */
  readonly responses: Readonly<Record<"identity" | "gzip", ResponseSize>>;
}

export async function printPageBench(tasks: number, runs: number, json: boolean): Promise<void> {
  const bench = await benchPage(tasks, runs);
  console.log(json ? JSON.stringify(bench, null, 2) : benchText(bench));
}

function benchText({ tasks, served, report, reportMegabytes, responses }: PageBench): string {
  const kinds = Object.keys(served) as (keyof PageTimes)[];
  const cells = (values: readonly number[]) => [median(values).toFixed(0), Math.max(...values).toFixed(0)];
  const { identity, gzip } = responses;
  return [
    table(
      [`page of ${tasks} tasks, ms`, "served: median", "maximum", "report: median", "maximum"],
      kinds.map((kind) => [kind, ...cells(served[kind]), ...cells(report[kind])]),
    ),
    table(
      ["size", "MB", "ms"],
      [
        ["report file", reportMegabytes.toFixed(1), ""],
        ["API response", identity.megabytes.toFixed(1), identity.ms.toFixed(0)],
        ["API response, gzip", gzip.megabytes.toFixed(1), gzip.ms.toFixed(0)],
      ],
    ),
  ].join("\n\n");
}

async function benchPage(tasks: number, runs: number): Promise<PageBench> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-page-"));
  const file = join(folder, "art-e.db");
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  const db = openStore(file, { mustExist: false });
  saveSynthetic(db, { id: RUN, tasks });
  db.close();
  const output = join(folder, "report.html");
  execFileSync(process.execPath, [BIN, "report", RUN, "-o", output, "--db", file, "--quiet"]);
  const { child, url } = await startPage(folder, ["serve", "--port", "0", "--db", file]);
  try {
    const path = `${url}/api/runs/${RUN}/report`;
    return {
      tasks,
      report: await measurePage(browser, pathToFileURL(output).href, runs),
      served: await measurePage(browser, `${url}/#runs/${RUN}`, runs),
      reportMegabytes: statSync(output).size / 1e6,
      responses: { identity: await measureResponse(path, "identity"), gzip: await measureResponse(path, "gzip") },
    };
  } finally {
    child.kill("SIGKILL");
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Measures the time until the whole response has arrived. */
function measureResponse(url: string, encoding: string): Promise<ResponseSize> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { headers: { "accept-encoding": encoding } }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on("end", () => resolve({ ms: performance.now() - started, megabytes: bytes / 1e6 }));
      response.on("error", reject);
    }).on("error", reject);
  });
}

/** In the page: functions that measure the time from the next event to the frame with its result. */
const STOPWATCH = `(() => {
  const painted = () => new Promise((resolve) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve(performance.now());
    port2.postMessage(null);
  }));
  const observe = (isDone) => new Promise((resolve) => {
    const observer = new MutationObserver((records) => {
      if (!isDone(records)) return;
      observer.disconnect();
      painted().then(resolve);
    });
    observer.observe(document, { childList: true, subtree: true });
  });
  const has = (selector) => () => document.querySelector(selector) !== null;
  window.firstRows = observe(has("tr[data-index]"));
  window.measure = (type, isDone) => {
    let start = 0;
    addEventListener(type, ({ timeStamp }) => { start = timeStamp; }, { capture: true, once: true });
    window.measured = observe(isDone).then((end) => end - start);
  };
  window.changedIn = (selector) => (records) => records.some(({ target }) => target.closest?.(selector));
})()`;

/** The browser can report the paint after the page has seen its rows. */
const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntriesByName("first-contentful-paint")) resolve(startTime);
  }).observe({ type: "paint", buffered: true });
})`;

async function measurePage(browser: Browser, url: string, runs: number): Promise<PageTimes> {
  const times: PageTimes = { firstPaint: [], firstRows: [], key: [], sort: [], open: [], next: [] };
  for (let run = 0; run < runs; run++) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" });
    await page.addInitScript(STOPWATCH);
    await page.goto(url);
    times.firstRows.push(await page.evaluate("window.firstRows"));
    times.firstPaint.push(await page.evaluate(FIRST_PAINT));
    await measureActions(page, times);
    await page.close();
  }
  return times;
}

async function measureActions(page: Page, times: PageTimes): Promise<void> {
  const measure = async (type: string, isDone: string, act: () => Promise<void>) => {
    await page.evaluate(`void window.measure("${type}", ${isDone})`);
    await act();
    return (await page.evaluate("window.measured")) as number;
  };
  const rows = `window.changedIn("table.tasks tbody")`;
  const conversation = `(records) => window.changedIn("dialog")(records) && document.querySelector("dialog .columns")`;
  await page.getByRole("searchbox", { name: "Search tasks" }).focus();
  for (const letter of TYPED) times.key.push(await measure("keydown", rows, () => page.keyboard.press(letter)));
  for (let key = 0; key < TYPED.length; key++) {
    times.key.push(await measure("keydown", rows, () => page.keyboard.press("Backspace")));
  }
  for (const name of ["Turns", "Time", "Task"]) {
    const button = page.getByRole("columnheader", { name }).getByRole("button");
    await button.scrollIntoViewIfNeeded();
    times.sort.push(await measure("click", rows, () => button.click()));
  }
  times.open.push(await measure("click", conversation, () => page.locator("tr[data-index]").first().click()));
  for (let task = 1; task < OPENED; task++) {
    times.next.push(await measure("keydown", conversation, () => page.keyboard.press("j")));
  }
}
