import { z } from "zod";
import { benchmarkResultSchema, scoreFiguresSchema } from "../runs/benchmark-result.js";
import { runStatusSchema } from "../runs/run-status.js";
import { taskResultSchema } from "../runs/task-result.js";
import type { TaskId } from "../tasks/task-id.js";
import type { MetricComparison } from "./metric-comparison.js";

/** What comparing and gating read of a results file; what other versions write beside it does not matter. */
export const runHeadSchema = benchmarkResultSchema
  .pick({
    runId: true,
    name: true,
    agentId: true,
    model: true,
    split: true,
    totalTasks: true,
    completedTasks: true,
    failedTasks: true,
    avgExecutionTimeMs: true,
    avgModelTimeMs: true,
    avgToolTimeMs: true,
    avgWaitingTimeMs: true,
    totalTimeMs: true,
    turns: true,
    costUsd: true,
    dataset: true,
    corpusFingerprint: true,
    suite: true,
  })
  .extend({
    scores: z.record(z.string(), scoreFiguresSchema.strip()),
    settings: z.looseObject({ cutoff: z.string(), epochs: z.number() }),
    // Not in files of earlier versions.
    status: runStatusSchema.exactOptional(),
    plannedTasks: z.number().exactOptional(),
  })
  .strip();

export type RunHead = Readonly<z.output<typeof runHeadSchema>>;

export const runFileSchema = runHeadSchema.extend({ taskResults: z.array(taskResultSchema.strip()) });

/** One question of a run, its repeats together. */
export interface ComparedQuestion {
  readonly question: string;
  readonly inbox: string;
  /** The first that was given; empty where there is none. Of a task of a suite: its state, and why it is not solved. */
  readonly answer: string;
  /** By metric, the mean over the repeats that completed and have a value. */
  readonly values: Readonly<Record<string, number>>;
}

export interface ComparableRun {
  readonly head: RunHead;
  readonly questions: ReadonlyMap<TaskId, ComparedQuestion>;
}

/** A question that the two runs do not do equally well. */
export interface Flip {
  readonly taskId: TaskId;
  readonly inbox: string;
  readonly question: string;
  readonly baseline: number;
  readonly candidate: number;
  readonly baselineAnswer: string;
  readonly candidateAnswer: string;
}

export interface RunComparison {
  readonly baseline: string;
  readonly candidate: string;
  readonly questions: { readonly common: number; readonly onlyBaseline: number; readonly onlyCandidate: number };
  /** Of runs over suites: tasks that are not graded, and so in no comparison of scores. Null: of questions. */
  readonly ungraded: { readonly baseline: number; readonly candidate: number } | null;
  /** What makes them incomparable, in words; empty where nothing does. */
  readonly incomparable: readonly string[];
  /** Settings in which they differ. */
  readonly settings: readonly string[];
  readonly metrics: readonly MetricComparison[];
  /** Of the first metric, the largest losses first, then the largest wins. */
  readonly flips: { readonly metric: string; readonly lost: readonly Flip[]; readonly won: readonly Flip[] };
}
