// Runs as CSV: tables of their figures, and one line per task.
import { BYTE_ORDER_MARK, type Cell, csvLineOf } from "../platform/csv.js";
import { TASK_COLUMNS, type TaskResultRow, toCell } from "../trace-formats/tables.js";
import { SLICES } from "../traces/task-slices.js";
import type { Figure, ReportHead, RunFigures, ScoreMeaning, SuiteFigures } from "./report-data.js";

interface Summary {
  readonly columns: readonly string[];
  rows(run: RunFigures): readonly (readonly Cell[])[];
}

const FIGURE_COLUMNS = ["value", "low", "high", "n"];

/** Summaries for all reports, by file name. */
const OF_ALL: Readonly<Record<string, Summary>> = {
  "scores.csv": {
    columns: ["score", ...FIGURE_COLUMNS, "overAll", "overAllN"],
    rows: ({ scores }) =>
      Object.entries(scores).map(([score, figure]) => [
        score,
        ...figureCells(figure),
        figure.overAll.value,
        figure.overAll.n,
      ]),
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
      "score",
      "pairs",
      "ungradedPairs",
      "abstract",
      "verbose",
      "difference",
      "low",
      "high",
      "p",
      "test",
      "verboseBetter",
      "verboseWorse",
      "same",
    ],
    rows: rowsOfSuite(({ guidance: { metrics, ungradedPairs } }) =>
      metrics.map(({ metric, baseline, candidate, difference, p, test, wins, losses, ties }) => [
        metric,
        difference.n,
        ungradedPairs,
        baseline,
        candidate,
        difference.value,
        difference.low,
        difference.high,
        p,
        test,
        wins,
        losses,
        ties,
      ]),
    ),
  },
};

/** Names of all files that can be written. */
export const SUMMARY_FILES: readonly string[] = [...Object.keys(OF_ALL), ...Object.keys(OF_SUITES)];

/**
 * Returns the summaries of runs as tables, by file name. Summaries for suites are included only if a run is over one.
 */
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

/** The header of the task table. `ofSuites` adds the columns about suite tasks. */
export function csvHead(meanings: readonly ScoreMeaning[], ofSuites = false): string {
  return BYTE_ORDER_MARK + csvLineOf([...columnsOf(ofSuites), ...meanings.map(({ name }) => name)]);
}

export function csvLine(row: TaskResultRow, meanings: readonly ScoreMeaning[], ofSuites = false): string {
  const cells = columnsOf(ofSuites).map((name) => toCell(READ.get(OTHER_NAMES[name] ?? name)?.(row) ?? null));
  return csvLineOf([...cells, ...meanings.map(({ name }) => row.result.scores[name] ?? null)]);
}

/** The original columns of the task table. Later columns are not included. */
// biome-ignore format: column names in rows
const COLUMNS = [
  "runId", "agentId", "model", "runName", "taskId", "epoch", "inbox", "queryDate", "howRealistic", "goldSources",
  "question", "groundTruth", "agentAnswer", "ending", "error", "turns", "executionTimeMs", "modelTimeMs",
  "toolTimeMs", "waitingTimeMs", "inputTokens", "cachedInputTokens", "outputTokens", "costUsd", "retries",
  "sources", "traceId",
];

/** Empty for questions. */
const SUITE_COLUMNS = "suite tool snapshot tags relatedApps actionNumber counterpart state reason".split(" ");

const OTHER_NAMES: Readonly<Record<string, string>> = { tool: "suiteTool" };

const READ = new Map(TASK_COLUMNS.map(({ name, read }) => [name, read]));

function columnsOf(ofSuites: boolean): readonly string[] {
  return ofSuites ? [...COLUMNS, ...SUITE_COLUMNS] : COLUMNS;
}
