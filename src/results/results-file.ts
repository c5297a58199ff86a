// The results file of a run: writes it, and reads runs from files or the database.
import type { z } from "zod";
import { RunAggregate } from "../analysis/aggregate.js";
import { type RunHead, runFileSchema, runHeadSchema } from "../analysis/paired-comparison.js";
import { AllScores } from "../analysis/score-aggregate.js";
import { correctedRates } from "../evals/pass-rates.js";
import { yieldBetween } from "../platform/batches.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { statOf } from "../platform/file-stats.js";
import { readNamedText, writeFileAtomically } from "../platform/files.js";
import { firstIssue } from "../platform/json.js";
import { presentProperties } from "../platform/optional-values.js";
import { programVersion } from "../platform/program-files.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import { SCORES } from "../scoring/scorers.js";
import { type Db, openStore } from "../store/open-store.js";
import type { InputFile } from "../trace-formats/output-files.js";
import { unfinishedTasks } from "../traces/journal-store.js";
import { consumptionOfEntries, costOfEntries } from "../traces/reply-turns.js";
import { attemptPages, iterateResults } from "../traces/results-store.js";
import type { BenchmarkResult, RunTotals } from "../traces/run-totals.js";
import { getRun, type LatestRun, type RunRow } from "../traces/runs-store.js";
import type { TaskResult } from "../traces/task-result.js";
import type { Trace } from "../traces/trace.js";
import { iterateTraces, traceReader } from "../traces/traces-store.js";

export interface RunSource<Head = RunHead> {
  readonly head: Head;
  /** Ordered by task id and epoch. Can be iterated again. */
  results(): Iterable<TaskResult>;
  /** Like `results`, or null for a results file, which contains no traces. */
  readonly traces: (() => Iterable<Trace>) | null;
}

type NamedRun =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "stored"; readonly db: Db; readonly run: RunRow };

/** Writes the results file of a run with the stored results of all its attempts. */
export async function saveResults(db: Db, path: string, totals: RunTotals): Promise<void> {
  await writeFileAtomically(path, resultsFile(headOf(db, totals), iterateResults(db, totals.runId)));
}

/** Returns the content of a run's results file. */
export function collectResults(db: Db, totals: RunTotals): BenchmarkResult {
  return { ...headOf(db, totals), taskResults: [...iterateResults(db, totals.runId)] };
}

function headOf(db: Db, totals: RunTotals): Omit<BenchmarkResult, "taskResults"> {
  const run = getRun(db, totals.runId);
  const sqlite = db.prepare("SELECT sqlite_version()").pluck().get() as string;
  return {
    ...totals,
    settings: run.settings,
    limits: run.limits,
    versions: { "art-e": programVersion(), node: process.versions.node, sqlite },
    dataset: run.dataset,
    corpusFingerprint: run.corpusFingerprint,
  };
}

/**
 * Yields a run's results by task id and epoch, each with its trace. Skips damaged results and traces. One trace is in
 * memory at a time.
 */
export function* resultsWithTraces(db: Db, runId: string): Generator<readonly [TaskResult, Trace]> {
  // Preparing a statement per trace took 70 of the 420 ms of a report of 10,000 tasks.
  const read = traceReader(db);
  for (const result of iterateResults(db, runId)) {
    const trace = read(result.traceId);
    if (trace !== undefined) yield [result, trace];
  }
}

/**
 * Opens runs by name: the path of a results file, or the name of a run in the database. The database is opened on first
 * use.
 */
export class RunSources {
  private db: Db | null = null;

  constructor(
    private readonly path: string,
    private readonly latest: LatestRun = "has_a_result",
  ) {}

  async open(name: string): Promise<RunSource> {
    const source = this.find(name);
    if (source.kind === "file") return fromFile(source.path, runFileSchema);
    return fromDatabase(source.db, await computeRunTotals(source.db, source.run));
  }

  find(name: string): NamedRun {
    if (isFile(name)) return { kind: "file", path: name };
    if (/[/\\]|\.json$/.test(name)) {
      throw new UserError("run_unknown", `Results file ${name} does not exist.`, "Pass a results file or a run id.");
    }
    this.db ??= openStore(this.path, { mustExist: true });
    return { kind: "stored", db: this.db, run: getRun(this.db, name, this.latest) };
  }

  close(): void {
    this.db?.close();
  }
}

export function fromDatabase(db: Db, totals: RunTotals): RunSource {
  return storedSource(db, getRun(db, totals.runId), totals, runHeadSchema);
}

export function storedSource<Head>(db: Db, run: RunRow, totals: RunTotals, schema: z.ZodType<Head>): RunSource<Head> {
  const { settings, dataset, corpusFingerprint } = run;
  return {
    head: schema.parse({ ...totals, settings, dataset, corpusFingerprint }),
    results: () => iterateResults(db, run.id),
    traces: () => iterateTraces(db, { runId: run.id }),
  };
}

/** Returns the results files among run names as inputs that no output may overwrite. `use` is their purpose. */
export function resultsFiles(names: readonly string[], use: "report" | "export"): InputFile[] {
  return names.filter(isFile).map((path) => ({ name: `a results file to ${use}`, path }));
}

function isFile(name: string): boolean {
  return statOf(name)?.isFile() ?? false;
}

export function refuseTwice(runs: readonly { readonly head: Pick<RunHead, "runId"> }[]): void {
  const ids = runs.map(({ head }) => head.runId);
  const twice = ids.find((id, i) => ids.indexOf(id) < i);
  if (twice === undefined) return;
  throw new UserError("flags_contradict", `Run ${twice} is listed twice.`, "List each run once.");
}

export function countTasks(runs: readonly { readonly head: Pick<RunHead, "totalTasks"> }[]): number {
  return runs.reduce((sum, { head }) => sum + head.totalTasks, 0);
}

/** Returns why a run is not finished, or null if it is. */
export function unfinished({ runId, status, plannedTasks, totalTasks }: RunHead): string | null {
  const missing = (plannedTasks ?? totalTasks) - totalTasks;
  if (missing > 0) return `Run ${runId} is not finished: ${missing} of its ${plannedTasks} tasks have no result.`;
  return (status ?? "completed") === "completed" ? null : `Run ${runId} is not finished: it is ${status}.`;
}

export function fromFile<File extends { readonly taskResults: readonly TaskResult[] }>(
  path: string,
  schema: z.ZodType<File>,
): RunSource<Omit<File, "taskResults">> {
  const { taskResults, ...head } = readRunFile(path, schema);
  return { head, results: () => taskResults, traces: null };
}

function readRunFile<File>(path: string, schema: z.ZodType<File>): File {
  let json: unknown;
  try {
    json = JSON.parse(readNamedText(path));
  } catch (cause) {
    throw unusable(path, (cause as Error).message, cause);
  }
  const read = schema.safeParse(json);
  if (read.success) return read.data;
  throw unusable(path, firstIssue(read.error, "the document"), read.error);
}

function unusable(path: string, why: string, cause: unknown): UserError {
  return new UserError(
    "results_unusable",
    `${path} is not a results file of art-e: ${why}`,
    `Pass a file written by ${commandLine`art-e run --output`}.`,
    2,
    { cause },
  );
}

/**
 * Yields the results file (`BenchmarkResult`) in chunks, so that the entire file is never in memory. Tasks come last,
 * one per line.
 */
export function* resultsFile(
  head: Omit<BenchmarkResult, "taskResults">,
  results: Iterable<TaskResult>,
): Generator<string> {
  yield `${toWellFormedJson(head, 2).replace(/\n}$/, "")},\n  "taskResults": [`;
  let separator = "\n    ";
  for (const result of results) {
    yield `${separator}${toWellFormedJson(result)}`;
    separator = ",\n    ";
  }
  yield "\n  ]\n}\n";
}

/**
 * Returns the totals of a stored run, over its finished tasks if it was stopped. The paid replies of its unfinished
 * tasks count toward its cost. Yields to the event loop between
 * pages.
 */
export async function computeRunTotals(db: Db, run: RunRow): Promise<RunTotals> {
  const tally = new RunAggregate();
  const scores = new AllScores(SCORES, run.settings.scorers);
  for await (const page of yieldBetween(attemptPages(db, run.id))) {
    for (const { result, isSuperseded } of page) {
      if (isSuperseded) {
        tally.charge(result);
      } else {
        tally.add(result);
        scores.add(result);
      }
    }
  }
  for (const { entries } of unfinishedTasks(db, run.id)) {
    const { judgeCostUsd } = costOfEntries(entries);
    tally.charge({ ...consumptionOfEntries(entries), judgeCostUsd });
  }
  const figures = scores.figures();
  return tally.totals({
    runId: run.id,
    ...presentProperties({ name: run.name }),
    agentId: run.agentId,
    model: run.model,
    split: run.split,
    status: run.status,
    plannedTasks: run.totalTasks,
    totalTimeMs: run.activeMs,
    startedAt: run.startedAt,
    completedAt: run.completedAt ?? run.startedAt,
    ...figures,
    scores: withCorrectedRates(db, run, figures.scores),
  });
}

function withCorrectedRates(db: Db, run: RunRow, scores: RunTotals["scores"]): RunTotals["scores"] {
  const rates = correctedRates(db, run, Object.keys(scores), () => iterateResults(db, run.id));
  if (rates.size === 0) return scores;
  return Object.fromEntries(
    Object.entries(scores).map(([name, figures]) => [
      name,
      { ...figures, ...presentProperties({ corrected: rates.get(name) }) },
    ]),
  );
}
