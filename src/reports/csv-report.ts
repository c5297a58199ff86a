import { BYTE_ORDER_MARK, type Cell, csvLineOf } from "../platform/files.js";
import { SLICES } from "../traces/run-totals.js";
import type { TaskResult } from "../traces/task-result.js";
import type { Figure, ReportHead, RunFigures, ScoreMeaning, SuiteFigures } from "./report-data.js";

interface Summary {
  readonly columns: readonly string[];
  rows(run: RunFigures): readonly (readonly Cell[])[];
}

const FIGURE_COLUMNS = ["value", "low", "high", "n"];

/** By file name, without those of suites. */
const OF_ALL: Readonly<Record<string, Summary>> = {
  "scores.csv": {
    columns: ["score", ...FIGURE_COLUMNS],
    rows: ({ scores }) => Object.entries(scores).map(([score, figure]) => [score, ...figureCells(figure)]),
  },
  "slices.csv": {
    columns: ["slice", "part", "tasks", "score", ...FIGURE_COLUMNS],
    rows: ({ slices }) =>
      SLICES.flatMap((slice) =>
        (slices[slice] ?? []).flatMap(({ label, tasks, scores }) =>
          Object.entries(scores).map(([score, figure]) => [slice, label, tasks, score, ...figureCells(figure)]),
        ),
      ),
  },
  "tools.csv": {
    columns: ["tool", "calls", "errors", "tasks", "meanMs"],
    rows: ({ tools }) => tools.map(({ name, calls, errors, tasks, meanMs }) => [name, calls, errors, tasks, meanMs]),
  },
};

const OF_SUITES: Readonly<Record<string, Summary>> = {
  "states.csv": {
    columns: ["state", "scoreBand", "tasks"],
    rows: rowsOfSuite(({ profile }) => profile.map(({ state, band, tasks }) => [state, band, tasks])),
  },
  "steps.csv": {
    columns: ["difficulty", "tasks", "actions", "turns", "toolCalls"],
    rows: rowsOfSuite(({ steps }) =>
      steps.map(({ difficulty, tasks, actions, turns, toolCalls }) => [difficulty, tasks, actions, turns, toolCalls]),
    ),
  },
  "durations.csv": {
    columns: ["suiteTool", "tasks", "meanMs", "medianMs", "p95Ms"],
    rows: rowsOfSuite(({ durations }) =>
      durations.map(({ tool, tasks, mean, p50, p95 }) => [tool, tasks, mean, p50, p95]),
    ),
  },
  "pairs.csv": {
    columns: [
      ...["score", "pairs", "ungradedPairs", "abstract", "verbose", "difference", "low", "high"],
      ...["p", "test", "verboseBetter", "verboseWorse", "same"],
    ],
    rows: rowsOfSuite(({ guidance: { metrics, ungradedPairs } }) =>
      metrics.map(({ metric, baseline, candidate, difference, p, test, wins, losses, ties }) => [
        ...[
          metric,
          difference.n,
          ungradedPairs,
          baseline,
          candidate,
          difference.value,
          difference.low,
          difference.high,
        ],
        ...[p, test, wins, losses, ties],
      ]),
    ),
  },
};

/** Names of all files that may be written. */
export const SUMMARY_FILES: readonly string[] = [...Object.keys(OF_ALL), ...Object.keys(OF_SUITES)];

/** Summaries of runs as tables, by file name; those of suites only where a run is over one. */
export function csvSummaries({ runs }: ReportHead): ReadonlyMap<string, Iterable<string>> {
  const hasSuites = runs.some(({ suite }) => suite !== null);
  const summaries = { ...OF_ALL, ...(hasSuites ? OF_SUITES : {}) };
  return new Map(Object.entries(summaries).map(([name, summary]) => [name, linesOf(summary, runs)]));
}

function* linesOf({ columns, rows }: Summary, runs: readonly RunFigures[]): Generator<string> {
  yield BYTE_ORDER_MARK + csvLineOf(["runId", "agentId", "model", "runName", ...columns]);
  for (const run of runs) {
    for (const row of rows(run)) yield csvLineOf([run.runId, run.agentId, run.model, run.name, ...row]);
  }
}

function figureCells({ value, low, high, n }: Figure): Cell[] {
  return [value, low, high, n];
}

function rowsOfSuite(rows: (suite: SuiteFigures) => readonly (readonly Cell[])[]): Summary["rows"] {
  return ({ suite }) => (suite === null ? [] : rows(suite));
}

/** One line per task. `ofSuites`: with what suites say of their tasks. */
export function csvHead(meanings: readonly ScoreMeaning[], ofSuites = false): string {
  const columns = ofSuites ? [...COLUMNS, ...SUITE_COLUMNS] : COLUMNS;
  return BYTE_ORDER_MARK + csvLineOf([...columns.map(([name]) => name), ...meanings.map(({ name }) => name)]);
}

export function csvLine(
  run: RunCells,
  result: TaskResult,
  meanings: readonly ScoreMeaning[],
  ofSuites = false,
): string {
  const scores = meanings.map(({ name }) => result.scores[name] ?? null);
  const columns = ofSuites ? [...COLUMNS, ...SUITE_COLUMNS] : COLUMNS;
  return csvLineOf([...columns.map(([, read]) => read({ ...result, ...run })), ...scores]);
}

interface RunCells {
  readonly runId: string;
  readonly agentId: string;
  readonly model: string;
  readonly runName: string | null;
}

type Line = TaskResult & RunCells;

const COLUMNS: readonly (readonly [name: string, read: (line: Line) => Cell])[] = [
  ["runId", (line) => line.runId],
  ["agentId", (line) => line.agentId],
  ["model", (line) => line.model],
  ["runName", (line) => line.runName],
  ["taskId", (line) => line.taskId],
  ["epoch", (line) => line.epoch],
  ["inbox", (line) => line.inbox],
  ["queryDate", (line) => line.queryDate],
  ["howRealistic", (line) => line.howRealistic],
  ["goldSources", (line) => line.goldSources],
  ["question", (line) => line.question],
  ["groundTruth", (line) => line.groundTruth],
  ["agentAnswer", (line) => line.agentAnswer],
  ["ending", (line) => line.ending],
  ["error", (line) => line.error ?? null],
  ["turns", (line) => line.turns],
  ["executionTimeMs", (line) => line.executionTimeMs],
  ["modelTimeMs", (line) => line.modelTimeMs ?? null],
  ["toolTimeMs", (line) => line.toolTimeMs ?? null],
  ["waitingTimeMs", (line) => line.waitingTimeMs ?? null],
  ["inputTokens", (line) => line.usage.inputTokens],
  ["cachedInputTokens", (line) => line.usage.cachedInputTokens],
  ["outputTokens", (line) => line.usage.outputTokens],
  ["costUsd", (line) => line.costUsd],
  ["retries", (line) => line.retries],
  ["sources", (line) => line.sources.join(" ")],
  ["traceId", (line) => line.traceId],
];

/** Empty for questions. */
const SUITE_COLUMNS: typeof COLUMNS = [
  ["suite", ({ suite }) => suite?.name ?? null],
  ["tool", ({ suite }) => suite?.tool ?? null],
  ["snapshot", ({ suite }) => suite?.snapshot ?? null],
  ["tags", ({ suite }) => suite?.tags.join(" ") ?? null],
  ["relatedApps", ({ suite }) => suite?.relatedApps.join(" ") ?? null],
  ["actionNumber", ({ suite }) => suite?.actionNumber ?? null],
  ["counterpart", ({ suite }) => suite?.counterpart ?? null],
  ["state", ({ suite }) => suite?.state ?? null],
  ["reason", ({ suite }) => suite?.reason ?? null],
];
