import type { SuiteAnalysis } from "../analysis/analyse-suite.js";
import type { MetricComparison } from "../analysis/paired-comparison.js";
import type { SliceName } from "../traces/task-slices.js";
import type { TimelineSegment } from "../traces/timeline.js";

/** The data embedded in a report's page: written by `src/reports/html`, read by the page. */

/** A score and its description for the reader. */
export interface ScoreMeaning {
  readonly name: string;
  readonly label: string;
  readonly kind: "rate" | "mean";
  readonly better: "higher" | "lower";
  readonly meaning: string;
}

/** A rate or mean over `n` tasks with its 95 % interval; nulls where `n` is 0. */
export interface Figure {
  readonly value: number | null;
  readonly n: number;
  readonly low: number | null;
  readonly high: number | null;
}

type Figures = Readonly<Record<string, Figure>>;

/** The scores of the tasks with one value in common. */
export interface Slice {
  readonly label: string;
  readonly tasks: number;
  readonly scores: Figures;
}

/** How far an agent came on the way to the gold mail. */
export const STAGES = ["read", "found", "missed", "none", "failed"] as const;

export type Stage = (typeof STAGES)[number];

/** The band of the report's leading score, or why there is none. */
export const OUTCOMES = ["high", "medium", "low", "unscored", "failed"] as const;

export type Outcome = (typeof OUTCOMES)[number];

export interface ProfileCell {
  readonly stage: Stage;
  readonly outcome: Outcome;
  readonly tasks: number;
}

export interface ToolUse {
  readonly name: string;
  readonly calls: number;
  readonly errors: number;
  /** Tasks that called it at least once. */
  readonly tasks: number;
  readonly meanMs: number;
}

export interface RunFigures {
  readonly runId: string;
  /** What a person calls it; null: nothing. */
  readonly name: string | null;
  /** Short, and unique in the report. */
  readonly label: string;
  readonly agentId: string;
  readonly model: string;
  /** Models that replies name, where some are not the model asked. */
  readonly answeredBy: readonly string[];
  readonly split: string;
  readonly status: string;
  /** False: read from a results file, which has none. */
  readonly hasConversations: boolean;
  readonly startedAt: string;
  readonly dataset: string;
  readonly corpusFingerprint: string;
  readonly plannedTasks: number;
  readonly tasks: number;
  readonly completed: number;
  readonly failed: number;
  /** Over the completed tasks. */
  readonly scores: Figures;
  /** Null: the price of the model is not known. */
  readonly costUsd: number | null;
  /**
   * Time in the model and tools over the completed tasks, in milliseconds; `waiting`: the mean time spent waiting
   * besides.
   */
  readonly latency: {
    readonly mean: number | null;
    readonly p50: number | null;
    readonly p95: number | null;
    readonly waiting: number | null;
  };
  readonly tokens: { readonly input: number; readonly cached: number; readonly output: number };
  readonly retries: number;
  readonly endings: Readonly<Record<string, number>>;
  readonly profile: readonly ProfileCell[];
  /** Errors of failed tasks, most frequent first. */
  readonly errors: readonly { readonly message: string; readonly tasks: number }[];
  readonly refusals: readonly { readonly message: string; readonly tasks: number }[];
  /** By score: the histogram over 0 to 1 in twenty bins. Scores outside this range have none. */
  readonly distribution: Readonly<Record<string, readonly number[]>>;
  /** Index: turns; value: tasks that took as many. */
  readonly turns: readonly number[];
  readonly tools: readonly ToolUse[];
  /** What the run's tasks can be divided by. */
  readonly slices: Readonly<Partial<Record<SliceName, readonly Slice[]>>>;
  /** Of a run over a suite; null of questions. */
  readonly suite: SuiteFigures | null;
}

/** What an eval says of a run, and what its newest test says of the eval. */
export interface EvalFigures {
  /** `eval:NAME`: one of the head's scores. */
  readonly score: string;
  /** Index of the run. */
  readonly run: number;
  readonly name: string;
  /** Null: the version is not known here. */
  readonly version: number | null;
  /** It sees gold. */
  readonly reference: boolean;
  readonly passRate: Figure;
  /** Without the errors that the test measured; null: it was never tested. */
  readonly corrected: Figure | null;
  /** Share of the good traces that it fails; null: it was never tested. */
  readonly falseAlarms: Figure | null;
  /** Labels of the held-out half, and whether its thresholds were met. */
  readonly test: {
    readonly good: number;
    readonly bad: number;
    readonly thresholds: string;
    readonly passed: boolean;
  } | null;
}

export interface ReportHead {
  readonly version: string;
  readonly createdAt: string;
  readonly scores: readonly ScoreMeaning[];
  /** The score that bands and outcomes are computed from. */
  readonly leading: string;
  readonly runs: readonly RunFigures[];
  /** By eval, and of each by run. */
  readonly evals: readonly EvalFigures[];
  /** Each run but the first against the first. */
  readonly comparisons: readonly ReportComparison[];
  /** Where the conversations are; `folder` is relative to the page. */
  readonly traces: { readonly kind: "embed" | "none" } | { readonly kind: "folder"; readonly folder: string };
}

/** As in the results: a number or a text. */
export type TaskKey = number | string;

/** taskId, question, gold answer, inbox, day, realism, number of gold mails; of a suite's task what that says of it. */
export type QuestionRow = readonly [TaskKey, string, string, string, string, number, number, SuiteTaskRow | null];

/**
 * Index of the question, epoch, answer, ending, turns, ms, US dollars, stage, scores in the head's order, error; of a
 * suite's task how that ended.
 */
export type TaskRow = readonly [
  number,
  number,
  string,
  string,
  number,
  number,
  number | null,
  Stage,
  readonly (number | null)[],
  string | null,
  SuiteOutcomeRow | null,
];

export interface ReportTasks {
  readonly questions: readonly QuestionRow[];
  /** By run, in the head's order. */
  readonly rows: readonly (readonly TaskRow[])[];
}

export interface MailView {
  readonly messageId: string;
  readonly subject: string;
  readonly sender: string;
  readonly recipients: readonly string[];
  readonly date: string | null;
  readonly body: string;
}

/** A gold mail, and what the agent did with it or a copy of it. */
export interface GoldMailView extends MailView {
  readonly reached: "read" | "found" | "missed";
  readonly cited: boolean;
}

/** A call as it was made; `arguments` is raw text where it could not be parsed. */
export interface CallView {
  readonly name: string;
  readonly arguments: unknown;
  readonly result: unknown;
  readonly error: string | null;
  readonly durationMs: number | null;
}

export interface TurnView {
  readonly latencyMs: number;
  readonly waitedMs: number;
  readonly tokens: { readonly input: number; readonly output: number } | null;
  readonly costUsd: number | null;
  readonly finishReason: string;
  readonly retries: number;
}

export interface StepView {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  readonly calls: readonly CallView[];
  readonly turn: TurnView | null;
}

/** One conversation with its gold mails and scores. */
export interface TraceView {
  readonly traceId: string;
  /** What its time went into, in order. */
  readonly timeline: readonly TimelineSegment[];
  readonly maxTurns: number;
  readonly steps: readonly StepView[];
  readonly sources: readonly string[];
  readonly gold: readonly GoldMailView[];
  /** Gold Message-IDs that are not in the database. */
  readonly goldMissing: readonly string[];
  /** Message-IDs of this conversation that are a gold mail or a copy of one. */
  readonly goldIds: readonly string[];
  readonly scores: Readonly<
    Record<string, { readonly value: number | null; readonly explanation?: string | undefined }>
  >;
  readonly judge: { readonly verdict: string; readonly reason: string | null } | null;
  /** Of a task of a suite: what the agent left behind; null of questions. */
  readonly left: { readonly pictures: readonly PictureView[]; readonly omitted: number } | null;
}

/**
 * The key of a task's conversation in the page, and its file's name in the folder beside it. Ids of a suite's tasks may
 * be any text: what is not a letter, a digit or a dash is written as its code.
 */
export function traceKey(run: number, taskId: TaskKey, epoch: number): string {
  const safe = String(taskId).replace(/[^A-Za-z0-9-]/g, (character) => `_${character.charCodeAt(0).toString(16)}_`);
  return `${run}-${safe}-${epoch}`;
}

/** What a report's page knows of runs over task suites. */

/** The totals of a run over a suite, and their analysis. */
export interface SuiteFigures extends SuiteAnalysis {
  readonly name: string;
  /** Tasks that have a score. */
  readonly graded: number;
  readonly states: Readonly<Record<string, { readonly tasks: number; readonly graded: number }>>;
}

/** Tool, snapshot, tags, applications, action number, counterpart. */
export type SuiteTaskRow = readonly [
  string,
  string,
  readonly string[],
  readonly string[],
  number | null,
  string | null,
];

/** State, why it is not solved, tool calls; null: not known, of a results file. */
type SuiteOutcomeRow = readonly [string, string, number | null];

/** A picture that the agent left behind. */
export interface PictureView {
  readonly path: string;
  /** Of a notebook: the index of the cell that shows it, from 0. */
  readonly cell: number | null;
  readonly width: number;
  readonly height: number;
  /** A PNG in base64. */
  readonly data: string;
}

/** A run of a report against the report's first. */
export interface ReportComparison {
  /** Its index in the report. */
  readonly candidate: number;
  readonly questions: { readonly common: number; readonly onlyBaseline: number; readonly onlyCandidate: number };
  /** Of runs over suites: tasks that are not graded, and so in no comparison of scores. Null: of questions. */
  readonly ungraded: { readonly baseline: number; readonly candidate: number } | null;
  /** What makes them incomparable, in words; empty where nothing does. */
  readonly incomparable: readonly string[];
  /** Settings in which they differ. */
  readonly settings: readonly string[];
  /** The score that the verdict is about; null: they have none in common. */
  readonly headline: string | null;
  /** Scores, then cost, time and turns; none where they are not comparable. */
  readonly metrics: readonly MetricComparison[];
  /**
   * By score, a letter for each task of the first run, in the order in which they appear: w won, l lost, t tied, `-`
   * where one of the two has no value.
   */
  readonly outcomes: Readonly<Record<string, string>>;
}

/** Where the conversations of a report are: in the page, in a folder beside it, or nowhere. */
export const TRACE_PLACEMENTS = ["auto", "embed", "folder", "none"] as const;
