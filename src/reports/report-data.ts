// The data embedded in a report's page. `src/reports/html-report.ts` writes it and the page reads it.
import type { SuiteAnalysis } from "../analysis/analyse-suite.js";
import type { RunComparison } from "../analysis/paired-comparison.js";
import type { ReliabilityOfRun } from "../analysis/reliability.js";
import type { AttackReport } from "../attacks/obedience.js";
import type { MatchedChange } from "../scoring/goal-match.js";
import type { Estimate } from "../statistics/estimate.js";
import type { TaskId } from "../tasks/question.js";
import type { MatchedEmail } from "../tasks/selection.js";
import type { FinalState } from "../tasks/suite-task.js";
import type { SuiteTotals } from "../traces/run-totals.js";
import type { ScoreDescription } from "../traces/score.js";
import type { SliceName } from "../traces/task-slices.js";
import type { TimelineSegment } from "../traces/timeline.js";

/** The data of a page without conversations. */
export interface Report {
  readonly head: ReportHead;
  readonly tasks: ReportTasks;
}

/** A score and its description for the reader. */
export interface ScoreMeaning extends Pick<ScoreDescription, "label" | "kind" | "better" | "meaning"> {
  readonly name: string;
}

/** A rate or mean over `n` tasks with its 95% interval. All values are null if `n` is 0. */
export type Figure = Omit<Estimate, "method">;

type Figures = Readonly<Record<string, Figure>>;

/** A score of a run over the completed tasks. */
interface ScoreFigure extends Figure {
  /** The same with failed tasks as wrong. `n` is 0 if they cannot count as wrong. */
  readonly overAll: Figure;
  /** pass^k for the largest k. Absent without several epochs, and for scores that are not rates. */
  readonly passHatK?: Figure & { readonly k: number };
}

/** Scores of the tasks with a common property. */
export interface Slice {
  readonly label: string;
  readonly tasks: number;
  readonly scores: Figures;
}

/** How close an agent came to the gold email. */
export const STAGES = ["read", "found", "missed", "unknown", "none", "failed"] as const;

export type Stage = (typeof STAGES)[number];

/** The band of the report's headline score, or the reason why it is missing. */
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
  /** Number of tasks that called the tool at least once. */
  readonly tasks: number;
  readonly meanMs: number;
}

export interface RunFigures {
  readonly runId: string;
  /** The name given by a user, or null if there is none. */
  readonly name: string | null;
  /** Short label that is unique in the report. */
  readonly label: string;
  readonly agentId: string;
  /** What disturbed every task, or null. */
  readonly perturbation: string | null;
  readonly model: string;
  /** Models that the server reported, if some differ from the requested model. */
  readonly answeredBy: readonly string[];
  readonly split: string;
  readonly status: string;
  /** False for a results file, which does not contain conversations. */
  readonly hasConversations: boolean;
  readonly startedAt: string;
  readonly dataset: string;
  readonly corpusFingerprint: string;
  /** Changes of the settings after the run was created, each as one line. */
  readonly changes: readonly string[];
  /** The claim that could stop the run early, or null. */
  readonly until: string | null;
  readonly plannedTasks: number;
  readonly tasks: number;
  readonly completed: number;
  readonly failed: number;
  readonly scores: Readonly<Record<string, ScoreFigure>>;
  /** The agent's cost in US dollars, or null if the model's price is unknown. */
  readonly costUsd: number | null;
  readonly judgeCostUsd: number | null;
  readonly totalCostUsd: number | null;
  /** Milliseconds of model and tool time over the completed tasks. `waiting` is the mean additional waiting time. */
  readonly latency: {
    readonly mean: number | null;
    readonly p50: number | null;
    readonly p95: number | null;
    readonly waiting: number | null;
  };
  readonly tokens: { readonly input: number; readonly cached: number; readonly output: number };
  readonly retries: number | null;
  readonly endings: Readonly<Record<string, number>>;
  readonly profile: readonly ProfileCell[];
  /** Errors of failed tasks, most frequent first. */
  readonly errors: readonly { readonly message: string; readonly tasks: number }[];
  /** Reasons of refused tasks, most frequent first. */
  readonly refusals: readonly { readonly message: string; readonly tasks: number }[];
  /** Histogram from 0 to 1 in twenty bins, per score. Scores outside this range do not have one. */
  readonly distribution: Readonly<Record<string, readonly number[]>>;
  /** Number of tasks by number of turns, which is the index. */
  readonly turns: readonly number[];
  readonly tools: readonly ToolUse[];
  /** Scores by properties that the run's tasks have. */
  readonly slices: Readonly<Partial<Record<SliceName, readonly Slice[]>>>;
  /** For a run over a suite, otherwise null. */
  readonly suite: SuiteFigures | null;
}

/** An eval's result for a run, and the result of the eval's newest test. */
export interface EvalFigures {
  /** `eval:NAME`, which is one of the scores in the head. */
  readonly score: string;
  /** Index of the run. */
  readonly run: number;
  readonly name: string;
  /** Version of the eval, or null if unknown. */
  readonly version: number | null;
  /** Whether the eval sees the gold answer. */
  readonly reference: boolean;
  readonly passRate: Figure;
  /** Corrected for the errors that the test measured, or null if the eval was never tested. */
  readonly corrected: Figure | null;
  /** Fraction of the good traces that the eval fails, or null if it was never tested. */
  readonly falseFailureRate: Figure | null;
  /** Labels of the newest test, and whether the eval met its thresholds. */
  readonly test: {
    readonly good: number;
    readonly bad: number;
    readonly thresholds: string;
    readonly passed: boolean;
  } | null;
  /** Says that the eval was validated on another agent, and what to do. Null if it was not. */
  readonly otherAgents: { readonly text: string; readonly advice: string; readonly command: string } | null;
}

export interface ReportHead {
  readonly version: string;
  readonly createdAt: string;
  readonly scores: readonly ScoreMeaning[];
  /** The score that determines bands and outcomes. */
  readonly leading: string;
  readonly runs: readonly RunFigures[];
  /** Sorted by eval, then by run. */
  readonly evals: readonly EvalFigures[];
  /** Comparisons of the other runs with the first. */
  readonly comparisons: readonly ReportComparison[];
  /** Cards of the plain runs with several epochs, or with a perturbed run in the report. */
  readonly reliability: readonly ReliabilityOfRun[];
  /** Location of the conversations. `folder` is relative to the page. */
  readonly traces: { readonly kind: "embed" | "none" } | { readonly kind: "folder"; readonly folder: string };
}

/** taskId, question, gold answer, inbox, date, realism and number of gold emails, then the facts about a suite task. */
export type QuestionRow = readonly [TaskId, string, string, string, string, number, number, SuiteTaskRow | null];

/**
 * Index of the question, epoch, answer, ending, turns, milliseconds, US dollars, stage, scores in the head's order and
 * error, then the ending of a suite task.
 */
export type TaskRow = readonly [
  number,
  number,
  string,
  string,
  number | null,
  number,
  number | null,
  Stage,
  readonly (number | null)[],
  string | null,
  SuiteOutcomeRow | null,
];

export interface ReportTasks {
  readonly questions: readonly QuestionRow[];
  /** Rows per run, in the head's order. */
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

/** A gold email, with the agent's use of it or of a copy. */
export interface GoldMailView extends MailView {
  readonly reached: "read" | "found" | "missed";
  readonly cited: boolean;
}

/** An executed call. `arguments` is raw text if it could not be parsed. */
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

/** An email that a task asks to select or that the agent selected, and the later emails that prove it. */
export interface SelectedEmailView {
  readonly state: MatchedEmail["state"];
  /** Subject, sender and time, or the Message-ID if the database does not contain the email. */
  readonly email: string;
  readonly evidence: readonly string[];
}

/** A conversation with its gold emails and scores. */
export interface TraceView {
  readonly traceId: string;
  /** How its time was spent, in order. */
  readonly timeline: readonly TimelineSegment[];
  readonly steps: readonly StepView[];
  readonly sources: readonly string[];
  /** Changes in the mailbox, compared with the goal of the task. */
  readonly changes: readonly MatchedChange[];
  /** The emails to select and the selected ones, in words. */
  readonly selection: readonly SelectedEmailView[];
  /** The planted emails and what the agent did. Null if there were none. */
  readonly attack: AttackReport | null;
  readonly gold: readonly GoldMailView[];
  /** Gold Message-IDs that are not in the database. */
  readonly goldMissing: readonly string[];
  /** Message-IDs in this conversation that belong to a gold email or a copy of one. */
  readonly goldIds: readonly string[];
  readonly scores: Readonly<
    Record<string, { readonly value: number | null; readonly explanation?: string | undefined }>
  >;
  readonly judge: { readonly verdict: string; readonly reason: string | null } | null;
  /** Images created in a suite task, or null for questions. */
  readonly left: FinalState | null;
}

/** The totals of a run over a suite, and their analysis. */
export type SuiteFigures = SuiteTotals & SuiteAnalysis;

/** Tool, snapshot, tags, applications, number of human actions, counterpart. */
export type SuiteTaskRow = readonly [
  string,
  string,
  readonly string[],
  readonly string[],
  number | null,
  string | null,
];

/** State, reason why the task is not solved, and number of tool calls, which is null if unknown (in a results file). */
type SuiteOutcomeRow = readonly [string, string, number | null];

/** The comparison of a run with the first run of the report. Without metrics if the runs are incomparable. */
export interface ReportComparison
  extends Pick<RunComparison, "questions" | "clusters" | "ungraded" | "incomparable" | "metrics" | "onlyIn"> {
  /** Index of the run in the report. */
  readonly candidate: number;
  /** Settings that differ between the runs. */
  readonly settings: readonly DifferingSetting[];
  /** The score of the verdict, or null if the runs do not share a score. */
  readonly headline: string | null;
  /**
   * A letter per task of the first run, per score, in the order in which the tasks appear: w (won), l (lost), t (tied)
   * or `-` if one of the two runs does not have a value.
   */
  readonly outcomes: Readonly<Record<string, string>>;
}

/** A setting with its values as text. */
interface DifferingSetting {
  readonly name: string;
  readonly baseline: string;
  readonly candidate: string;
}

/**
 * Returns the key of a task's conversation in the page, which is also its file name in the folder next to the page.
 * Suite task ids can contain any characters, so everything except letters, digits and dashes is replaced with its code.
 */
export function traceKey(run: number, taskId: TaskId, epoch: number): string {
  const safe = String(taskId).replace(/[^A-Za-z0-9-]/g, (character) => `_${character.charCodeAt(0).toString(16)}_`);
  return `${run}-${safe}-${epoch}`;
}

/** Location of a report's conversations: in the page, in a folder next to it, or left out. */
export const TRACE_PLACEMENTS = ["auto", "embed", "folder", "none"] as const;
