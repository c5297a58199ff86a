/** What a report's page knows of runs over task suites. */

/** One score over the pairs of abstract (baseline) and verbose (candidate) tasks. */
export interface PairedScore {
  readonly metric: string;
  readonly label: string;
  readonly baseline: number | null;
  readonly candidate: number | null;
  readonly difference: {
    readonly value: number | null;
    readonly n: number;
    readonly low: number | null;
    readonly high: number | null;
  };
  readonly p: number | null;
  readonly test: "mcnemar" | "sign_flip";
  readonly wins: number;
  readonly losses: number;
  readonly ties: number;
}

/** Pairs of a task and its counterpart, and what is in none. */
export interface GuidancePairs {
  readonly pairs: number;
  readonly ungradedPairs: number;
  readonly sameGuidance: number;
  readonly unpaired: {
    readonly notInRun: number;
    readonly own: number;
    readonly none: number;
    readonly notMutual: number;
  };
  readonly metrics: readonly PairedScore[];
}

export interface SuiteFigures {
  readonly name: string;
  /** Tasks that have a score. */
  readonly graded: number;
  readonly states: Readonly<Record<string, { readonly tasks: number; readonly graded: number }>>;
  /** Tasks by state and band of the task score. */
  readonly profile: readonly {
    readonly state: string;
    readonly band: "high" | "medium" | "low" | "unscored";
    readonly tasks: number;
  }[];
  /** Means over the tasks that the agent worked on. */
  readonly steps: readonly {
    readonly difficulty: string;
    readonly tasks: number;
    readonly actions: number | null;
    readonly turns: number;
    readonly toolCalls: number;
  }[];
  readonly stepCorrelation: { readonly turns: number | null; readonly toolCalls: number | null };
  /** Of the same tasks, in milliseconds. */
  readonly durations: readonly {
    readonly tool: string;
    readonly tasks: number;
    readonly mean: number;
    readonly p50: number;
    readonly p95: number;
  }[];
  readonly guidance: GuidancePairs;
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

/** State, why it is not solved, tool calls. */
export type SuiteOutcomeRow = readonly [string, string, number];

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
