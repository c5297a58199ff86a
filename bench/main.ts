import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "../src/text/format.js";
import { benchExport, type ExportLine } from "./export.js";
import { benchHarness, type HarnessBench } from "./harness.js";
import { benchImport, IMPORT_KINDS, type ImportBench, type ImportFiles, importOurs } from "./import.js";
import { benchLiveOtlp, type LiveOtlpBench } from "./live-otlp.js";
import { benchSearch, type SearchLine } from "./search.js";
import { fillArtTables, fillNaiveTables } from "./sql-tables.js";
import { writeKaggleCsv } from "./synthetic-corpus.js";

/**
 * `npm run bench -- import|search|search-quality|get|harness|otlp|suite|export|evals|yield|queue|env|sequential|
 * reliability|drift|actions|hostile|start|page|lists|viewer|threads|future|all
 * [--mails N | --csv FILE] [--tasks N] [--runs N] [--keep DIR] [--workers N,N] [--json]`: compares art-e with its
 * alternatives in the same run, over a corpus made from a seed or over a real file in Kaggle's format.
 *
 * `suite` measures the built program over the demo suite, by default with 100 tasks. `export` writes one trace per task
 * in each format. `evals` processes as many traces, simulates the intervals of corrected rates, searches for planted
 * faults in --runs label sets per fault, and codes --runs runs with six failure modes each. `--part speed|estimators|
 * planted|enriched|coding|rates` selects one of these.
 * `otlp` measures --runs pairs of runs, with and without sending traces.
 *
 * Fifteen are not in `all`. `yield` codes --runs runs per world and condition, and counts the failure modes that become
 * evals. `--part "clinic desk"` selects one world. `actions` starts 1,024 states of a mailbox among --mails emails, and acts
 * in them. `hostile` shows how often scripted agents count as obedient in --tasks tasks (100) per kind of attack, and
 * what the agents without a language model achieve in --runs epochs of the demo. `sequential` simulates --runs runs (2,000) that stop when
 * they are better than a baseline, with each of several tests. `reliability` simulates --runs runs (1,000) and counts
 * how often the intervals of the reliability card contain the true value. `drift` simulates --runs streams (300) of watches in which the judge or the
 * agent changes. `env` plays one episode per task against the built program's training environment, over
 * the demo's mail and over --mails emails. `queue` runs over Redis with each number of workers (1,2,4), and in one
 * process with the same number of slots. `search-quality` needs the real mail in ART_E_ENRON or the judged topics in
 * ART_E_RULERS, does not measure time, and ends with 1 if plain bm25 is significantly better on any of them. `search`
 * prints its tables too if there is such a folder.
 * `start` starts short commands of the built program --runs times (10). `page` opens the page of a run of --tasks tasks
 * (10,000) --runs times (5), in the built program's server and in its report file. `lists` searches and sorts 1,000 runs
 * and 25,000 traces. `viewer` measures the requests of the served pages over these and a run of --tasks tasks (20,000),
 * each --runs times (5). `threads` needs the real mail in ART_E_ENRON and compares rules with threads labeled by hand.
 * `future` needs it too: it compares the gold of tasks about the future of a mailbox with a reader's, and runs the built
 * program's agents without a language model on these tasks and on the demo's.
 */

const SUBJECTS = [
  "import",
  "search",
  "get",
  "harness",
  "otlp",
  "suite",
  "export",
  "evals",
  "yield",
  "queue",
  "env",
  "sequential",
  "reliability",
  "drift",
  "actions",
  "hostile",
  "start",
  "page",
  "lists",
  "viewer",
  "search-quality",
  "threads",
  "future",
  "all",
];

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    mails: { type: "string", default: "20000" },
    csv: { type: "string" },
    runs: { type: "string", default: "1" },
    part: { type: "string" },
    tasks: { type: "string", default: "2000" },
    keep: { type: "string" },
    workers: { type: "string", default: "1,2,4" },
    json: { type: "boolean", default: false },
  },
});
const subject = positionals[0] ?? "all";
const mails = Number(values.mails);
if (!SUBJECTS.includes(subject) || !Number.isInteger(mails) || mails < 1) {
  console.error(
    `usage: npm run bench -- ${SUBJECTS.join("|")} [--mails N | --csv FILE] [--tasks N] [--runs N] [--keep DIR] [--workers N,N] [--json]`,
  );
  process.exit(2);
}

if (subject === "suite") {
  const { printSuiteBench } = await import("./print-suite-bench.js");
  await printSuiteBench(Number(process.argv.includes("--tasks") ? values.tasks : 100), values.json);
  process.exit(0);
}

if (subject === "env") {
  const { printEnvironmentBench } = await import("./env.js");
  const { tasks, keep, json } = values;
  await printEnvironmentBench({ episodes: Number(tasks), mails, keep, json });
  process.exit(0);
}

if (subject === "sequential") {
  const { printSequentialBench } = await import("./sequential.js");
  printSequentialBench(Number(process.argv.includes("--runs") ? values.runs : 2_000), values.json);
  process.exit(0);
}

if (subject === "reliability") {
  const { printReliabilityBench } = await import("./reliability.js");
  printReliabilityBench(Number(process.argv.includes("--runs") ? values.runs : 1_000), values.json);
  process.exit(0);
}

if (subject === "drift") {
  const { printDriftBench } = await import("./drift.js");
  printDriftBench(Number(process.argv.includes("--runs") ? values.runs : 300), values.json);
  process.exit(0);
}

if (subject === "actions" || subject === "hostile") {
  const { keep, json } = values;
  if (subject === "actions") {
    const { printActionsBench } = await import("./actions.js");
    await printActionsBench({ mails, keep, json });
  } else {
    const { printHostileBench } = await import("./attacks.js");
    await printHostileBench(process.argv.includes("--tasks") ? Number(values.tasks) : 100, Number(values.runs), json);
  }
  process.exit(0);
}

if (subject === "start") {
  const { benchStart } = await import("./start/start-times.js");
  const times = await benchStart(Number(process.argv.includes("--runs") ? values.runs : 10));
  const rows = times.map(({ command, cpuMs, clockMs, ratio }) => [
    command,
    `${cpuMs.toFixed(0)}`,
    `${clockMs.toFixed(0)}`,
    ratio.toFixed(1),
  ]);
  console.log(values.json ? JSON.stringify(times, null, 2) : table(["", "CPU, ms", "clock, ms", "CPU / node"], rows));
  process.exit(0);
}

if (subject === "page") {
  const { printPageBench } = await import("./page.js");
  const given = (flag: string, value: string, otherwise: number) =>
    process.argv.includes(flag) ? Number(value) : otherwise;
  await printPageBench(given("--tasks", values.tasks, 10_000), given("--runs", values.runs, 5), values.json);
  process.exit(0);
}

if (subject === "lists") {
  const { benchLists } = await import("./lists.js");
  const lines = await benchLists({ runs: 1_000, tasks: 25 });
  const rows = lines.map(({ list, query, ...ms }) => [
    list,
    query,
    ...[ms.cpuMs, ms.clockMs, ms.blockedMs].map((each) => each.toFixed(0)),
  ]);
  if (values.json) console.log(JSON.stringify(lines));
  else console.log(table(["list", "query", "CPU, ms", "clock, ms", "longest block, ms"], rows));
  process.exit(0);
}

if (subject === "viewer") {
  const { printViewerBench } = await import("./viewer.js");
  const given = (flag: string, value: string, otherwise: number) =>
    process.argv.includes(flag) ? Number(value) : otherwise;
  const kept = values.keep ?? mkdtempSync(join(tmpdir(), "art-e-viewer-"));
  const size = { runs: 1_000, tasks: 25, largest: given("--tasks", values.tasks, 20_000) };
  await printViewerBench(kept, size, given("--runs", values.runs, 5), values.json);
  if (values.keep === undefined) rmSync(kept, { recursive: true, force: true });
  process.exit(0);
}

if (subject === "queue") {
  const { printQueueBench } = await import("./print-queue-bench.js");
  await printQueueBench(Number(values.tasks), values);
  process.exit(0);
}

if (subject === "export") {
  const lines = benchExport(Number(values.tasks));
  console.log(values.json ? JSON.stringify(lines, null, 2) : exportTable(lines));
  process.exit();
}

if (subject === "evals") {
  const { EVAL_PARTS, printEvalsBench } = await import("./print-evals-bench.js");
  const parts = EVAL_PARTS.filter((part) => values.part === undefined || part === values.part);
  if (parts.length === 0) {
    console.error(`Unknown part "${values.part}". The parts of evals are ${EVAL_PARTS.join(", ")}.`);
    process.exit(2);
  }
  await printEvalsBench(parts, { traces: Number(values.tasks), seeds: Number(values.runs) }, values.json);
  process.exit();
}

if (subject === "yield") {
  const { printYield } = await import("./mode-yield.js");
  await printYield(Number(values.runs), values.part, values.json);
  process.exit();
}

const rulers = { enron: process.env.ART_E_ENRON, topics: process.env.ART_E_RULERS };
const isAnyRulerThere = rulers.enron !== undefined || rulers.topics !== undefined;
if (subject === "search-quality" && !isAnyRulerThere) {
  console.error("search-quality needs real mail: set ART_E_ENRON or ART_E_RULERS to its folder (CONTRIBUTING.md).");
  process.exit(2);
}
if (subject === "search-quality" || (subject === "search" && isAnyRulerThere && !values.json)) {
  const { printSearchQuality } = await import("./search-quality/print-search-quality.js");
  const kept = values.keep ?? mkdtempSync(join(tmpdir(), "art-e-bench-"));
  mkdirSync(kept, { recursive: true });
  try {
    if (!(await printSearchQuality(rulers, kept, values.json))) process.exitCode = 1;
  } finally {
    if (values.keep === undefined) rmSync(kept, { recursive: true, force: true });
  }
  if (subject === "search-quality") process.exit();
}

const folder = values.keep ?? mkdtempSync(join(tmpdir(), "art-e-bench-"));
mkdirSync(folder, { recursive: true });

if (subject === "threads" || subject === "future") {
  if (rulers.enron === undefined) {
    console.error(`${subject} needs real mail: set ART_E_ENRON to its folder (CONTRIBUTING.md).`);
    process.exit(2);
  }
  if (subject === "threads") (await import("./threads.js")).printThreadsBench(rulers.enron, folder);
  else (await import("./future.js")).printFutureBench(rulers.enron, folder);
  if (values.keep === undefined) rmSync(folder, { recursive: true, force: true });
  process.exit();
}

const name = values.csv === undefined ? String(mails) : basename(values.csv);
const csv = values.csv ?? join(folder, `mail-${mails}.csv`);
const files = Object.fromEntries(
  IMPORT_KINDS.map((kind) => [kind, join(folder, `${kind}-${name}.db`)]),
) as unknown as ImportFiles;

try {
  // Created once for a folder that is kept, because the same seed makes the same mail.
  if (!existsSync(csv)) {
    console.error(`Creating ${mails.toLocaleString("en-US")} emails in ${folder} ...`);
    await writeKaggleCsv(csv, { mails, seed: 1 });
  }
  const comparesImports = subject === "import" || subject === "all";
  if (comparesImports) console.error("Importing them in each of the ways ...");
  const imported = comparesImports ? benchImport(csv, files, Number(values.runs)) : null;
  if (!existsSync(files.ours)) {
    console.error("Importing them ...");
    importOurs(csv, files.ours);
  }
  let searched: SearchLine[] = [];
  const harness: HarnessBench[] = [];
  let sent: LiveOtlpBench | null = null;
  if (subject === "harness" || subject === "all") {
    console.error("Running agents ...");
    const runs = Number(values.runs);
    harness.push(
      await benchHarness(files.ours, folder, { tasks: Number(values.tasks), atOnce: 64, latencyMs: 0, runs }),
    );
    harness.push(
      await benchHarness(files.ours, folder, { tasks: Number(values.tasks), atOnce: 256, latencyMs: 200, runs }),
    );
  }
  if (subject === "otlp") {
    console.error("Running agents with and without sending their traces ...");
    const size = { tasks: Number(values.tasks), atOnce: 64, latencyMs: 0, pairs: Number(values.runs) };
    sent = await benchLiveOtlp(files.ours, join(folder, "questions.jsonl"), size);
  }
  if (!["import", "harness", "otlp"].includes(subject)) {
    console.error("Filling the tables of other systems ...");
    fillArtTables(files.ours, files.art);
    fillNaiveTables(files.ours, files.naive);
    console.error("Searching ...");
    searched = benchSearch(files).filter(({ what }) => subject !== "get" || what === "email_get");
  }
  const machine = { node: process.version, cores: availableParallelism() };
  if (values.json)
    console.log(JSON.stringify({ machine, import: imported, search: searched, harness, otlp: sent }, null, 2));
  else {
    const tables = [
      ...(imported === null ? [] : [importTable(imported)]),
      ...(searched.length > 0 ? [searchTable(searched)] : []),
      ...(harness.length > 0 ? [harnessTable(harness)] : []),
      ...(sent === null ? [] : [liveOtlpTable(sent)]),
    ];
    console.log(tables.join("\n\n"));
  }
} finally {
  if (values.keep === undefined) rmSync(folder, { recursive: true, force: true });
}

function exportTable(lines: readonly ExportLine[]): string {
  return table(
    ["export of traces of 30 KB", "traces/s", "MB/s", "growth after 10%, MB", "peak growth, MB"],
    lines.map(({ format, tracesPerSecond, megabytesPerSecond, megabytesHeldAtFirst, megabytesHeldAtMost }) => [
      format,
      ...[tracesPerSecond, megabytesPerSecond, megabytesHeldAtFirst, megabytesHeldAtMost].map((n) => n.toFixed(0)),
    ]),
  );
}

function liveOtlpTable({ tasks, atOnce, latencyMs, pairs, without, sending, ratio }: LiveOtlpBench): string {
  return table(
    ["tasks per second (3 turns), medians", "sending nothing", "--otlp-endpoint", "median of ratios"],
    [
      [
        `${pairs} pairs of ${tasks.toLocaleString("en-US")} tasks, ${atOnce} concurrent, ${latencyMs} ms per call`,
        without.toFixed(0),
        sending.toFixed(0),
        ratio.toFixed(3),
      ],
    ],
  );
}

function importTable({ mails: count, lines }: ImportBench): string {
  const whole = (value: number) => Math.round(value).toLocaleString("en-US");
  return table(
    [`import of ${count.toLocaleString("en-US")}`, "seconds", "mails/s", "peak MB", "file MB", "Message-IDs"],
    lines.map(({ name, seconds, mailsPerSecond, peakMegabytes, fileMegabytes, messageIds }) => [
      name,
      seconds.toFixed(1),
      whole(mailsPerSecond),
      whole(peakMegabytes),
      whole(fileMegabytes),
      whole(messageIds),
    ]),
  );
}

function searchTable(lines: readonly SearchLine[]): string {
  const ms = ({ p50, p95, p99 }: SearchLine["cold"]) => [p50, p95, p99].map((value) => value.toFixed(3)).join(" / ");
  return table(
    ["search, ms: p50 / p95 / p99", "ours, cold", "ours, warm", "their SQL", "warm p99", "same answers"],
    lines.map(({ what, cold, warm, sql, p99Ratio, overlap }) => [
      what,
      ms(cold),
      ms(warm),
      ms(sql),
      p99Ratio < 1 ? `1/${(1 / p99Ratio).toFixed(1)}` : `${p99Ratio.toFixed(1)} times`,
      overlap === null ? "-" : `${Math.round(overlap * 100)}%`,
    ]),
  );
}

function harnessTable(lines: readonly HarnessBench[]): string {
  return table(
    ["tasks per second (3 turns)", "ours", "bare openai SDK", "with a pool", "ours, peak MB"],
    lines.map(({ tasks, atOnce, latencyMs, ours, bareSdk, pooledSdk, peakMegabytes }) => [
      `${tasks.toLocaleString("en-US")} tasks, ${atOnce} concurrent, ${latencyMs} ms per call`,
      ours.toFixed(0),
      bareSdk.toFixed(0),
      pooledSdk.toFixed(0),
      peakMegabytes.toFixed(0),
    ]),
  );
}
