import type { MetricComparison } from "../scores/metric-comparison.js";
import type { Band } from "../scores/score-bands.js";
import type { Difficulty } from "../tasks/difficulty.js";
import type { TaskState } from "../tasks/task-state.js";

/** Tasks of one state and one band of the task score; unscored: not graded. */
export interface StateCell {
  readonly state: TaskState;
  readonly band: Band | "unscored";
  readonly tasks: number;
}

/** What tasks of one difficulty took, as means over those that the agent worked on. */
export interface StepFigures {
  readonly difficulty: Difficulty;
  readonly tasks: number;
  /** Steps that a person takes; null where the tasks do not say. */
  readonly actions: number | null;
  readonly turns: number;
  /** Null: not known, of results files. */
  readonly toolCalls: number | null;
}

/** Model and tool time of the tasks that the agent worked on, in ms. */
export interface DurationFigures {
  /** The folder of the suite that the tasks are in. */
  readonly tool: string;
  readonly tasks: number;
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
}

/** Tasks with an abstract instruction against their counterparts with a verbose one. */
export interface GuidanceComparison {
  /** Pairs that are compared: both are graded. */
  readonly pairs: number;
  /** Pairs of which one or both are not graded. */
  readonly ungradedPairs: number;
  /** Pairs that are not one abstract and one verbose. */
  readonly sameGuidance: number;
  /** Tasks without a pair, by why. */
  readonly unpaired: {
    /** Their counterpart is not in the run. */
    readonly notInRun: number;
    /** They name themselves. */
    readonly own: number;
    /** They name none. */
    readonly none: number;
    /** They name a task that is another's counterpart. */
    readonly notMutual: number;
  };
  /** Before: abstract; after: verbose. */
  readonly metrics: readonly MetricComparison[];
}

/** What a run over a suite shows beside its totals. */
export interface SuiteAnalysis {
  readonly profile: readonly StateCell[];
  readonly steps: readonly StepFigures[];
  /** Spearman's rank correlation with the steps that a person takes; null where there is none to tell. */
  readonly stepCorrelation: { readonly turns: number | null; readonly toolCalls: number | null };
  readonly durations: readonly DurationFigures[];
  readonly guidance: GuidanceComparison;
}
