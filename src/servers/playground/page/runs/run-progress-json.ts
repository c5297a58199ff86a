import type { RetryJson } from "../api-types.js";

/** What this page reads of a run's events; /openapi.json describes all of it. */

export interface RunProgressJson {
  readonly runId: string;
  readonly name: string | null;
  readonly agentId: string;
  readonly model: string;
  readonly dataset: string;
  readonly split: string;
  readonly status: "running" | "completed" | "interrupted";
  readonly startedAt: string;
  readonly totalTasks: number;
  readonly doneTasks: number;
  readonly failedTasks: number;
  readonly scores: readonly ScoreJson[];
  readonly costUsd: number | null;
  readonly maxCostUsd: number | null;
  readonly tokens: number;
  readonly retries: number;
  readonly tasksPerMinute: number | null;
  readonly msLeft: number | null;
  readonly newest: readonly FinishedTaskJson[];
  readonly failures: readonly FinishedTaskJson[];
  readonly process: ProcessStateJson | null;
}

export interface ScoreJson {
  readonly scorer: string;
  readonly label: string;
  readonly value: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
}

export interface FinishedTaskJson {
  readonly taskId: number | string;
  readonly epoch: number;
  readonly traceId: string;
  readonly question: string;
  readonly ending: string;
  readonly error: string | null;
  readonly score: number | null;
  readonly costUsd: number | null;
  readonly durationMs: number;
  readonly waitedMs: number | null;
  readonly retries: number;
  readonly endedAt: string;
}

export interface ProcessStateJson {
  readonly stopping: boolean;
  readonly underWay: readonly UnderWayJson[];
  readonly underWayCount: number;
  readonly limiter: {
    readonly limit: number;
    readonly running: number;
    readonly waiting: number;
    readonly why: WaitsFor | null;
    readonly refused: number;
  } | null;
  readonly workers: {
    readonly workers: readonly { readonly name: string; readonly perSecond: number }[];
    readonly active: number;
    readonly waitingFor: WaitsFor | null;
  } | null;
  readonly retries: readonly {
    readonly taskId: number | string;
    readonly epoch: number;
    readonly attempt: number;
    readonly reason: string;
    readonly waitedMs: number;
    readonly at: string;
  }[];
}

export interface UnderWayJson {
  readonly taskId: number | string;
  readonly epoch: number;
  readonly startedAt: string;
  readonly activity: ActivityJson | null;
  readonly since: string;
}

export type ActivityJson =
  | { readonly type: "queued" | "calling" | "judging" }
  | { readonly type: "tool"; readonly name: string }
  | { readonly type: "retry"; readonly retry: RetryJson };

export type WaitsFor = "concurrency" | "rate" | "tokens" | "server";
