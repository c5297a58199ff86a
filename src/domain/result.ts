import type { Elsewhere } from "./elsewhere.js";
import type { Ending } from "./ending.js";
import type { Usage } from "./model.js";

/** One line of the results file. The first nine names are those of the published runner. */
export interface TaskResult {
  readonly taskId: number;
  /** Which repeat of the question, from 1. */
  readonly epoch: number;
  readonly inbox: string;
  /** `YYYY-MM-DD`: the day the question is asked on. */
  readonly queryDate: string;
  /** 0 to 1, as the dataset rates the question. */
  readonly howRealistic: number;
  /** How many mails the dataset names as holding the answer. */
  readonly goldSources: number;
  readonly question: string;
  readonly groundTruth: string;
  /** Empty where the agent gave none. */
  readonly agentAnswer: string;
  /** Scores are null where the task failed: a failure is never graded. */
  readonly exactMatch: boolean | null;
  readonly semanticScore: number | null;
  readonly executionTimeMs: number;
  readonly traceId: string;
  readonly error?: string;
  readonly ending: Ending;
  readonly turns: number;
  readonly usage: Usage;
  /** Null: the price of the model is not known. */
  readonly costUsd: number | null;
  readonly sources: readonly string[];
  readonly sourcesCorrect: boolean | null;
  readonly foundGold: boolean | null;
  readonly readGold: boolean | null;
  readonly retries: number;
  /** By scorer; null where it could not be told. Empty where the task failed. */
  readonly scores: Readonly<Record<string, number | null>>;
}

/** Shares and means from 0 to 1; null where there is nothing to take them over. */
export interface Averages {
  /** How many tasks the averages are taken over. */
  readonly tasks: number;
  readonly exactMatchAccuracy: number | null;
  readonly avgSemanticScore: number | null;
  readonly sourcesCorrect: number | null;
  readonly foundGold: number | null;
  readonly readGold: number | null;
}

/** What makes a run repeatable. */
export interface RunSettings {
  readonly agentId: string;
  /** Which version of the agent: its prompt, model, settings and tools are kept whole under this number. */
  readonly agentVersion: number;
  /** The run that this one repeats. */
  readonly repeats?: string;
  readonly model: string;
  readonly baseUrl: string | null;
  readonly wireApi: "chat" | "responses" | null;
  readonly prompt: string;
  readonly tools: readonly string[];
  /** SHA-256 over what the model is told of the tools and how they are configured. */
  readonly toolsDigest: string;
  readonly maxTurns: number;
  readonly maxTokens: number;
  readonly temperature: number | null;
  readonly toolCalls: string;
  readonly toolChoice: string;
  readonly cutoff: "query_date" | "off";
  readonly taskTimeoutMs: number;
  readonly maxTaskCostUsd: number | null;
  /** US dollars for a million tokens, where --price gave it; null: by the price table. */
  readonly price: { readonly input: number; readonly output: number; readonly cachedInput: number } | null;
  readonly concurrency: number | "auto";
  readonly selection: Readonly<Record<string, unknown>>;
  /** Repeats of every question. */
  readonly epochs: number;
  /** Where the agent lives, if not in this program: its prompt, tools and limits are then its own affair. */
  readonly elsewhere?: Elsewhere;
  /** Settings that were changed when the run went on (--resume --force): what differed, in words. */
  readonly changes?: readonly string[];
}

/** The totals of a run; the averages at the top are over the completed tasks, as the published runner takes them. */
export interface RunTotals extends Omit<Averages, "tasks"> {
  readonly runId: string;
  readonly agentId: string;
  readonly model: string;
  readonly split: string;
  readonly totalTasks: number;
  readonly completedTasks: number;
  readonly failedTasks: number;
  readonly avgExecutionTimeMs: number | null;
  readonly totalTimeMs: number;
  readonly startedAt: string;
  readonly completedAt: string;
  /** The same averages over every task asked, failures counted as wrong. */
  readonly overAllTasks: Averages;
  readonly endings: Readonly<Partial<Record<Ending, number>>>;
  readonly turns: number;
  readonly usage: Usage;
  /** Null: the price of the model is not known. */
  readonly costUsd: number | null;
  readonly retries: number;
}

/** The results file. */
export interface BenchmarkResult extends RunTotals {
  readonly settings: RunSettings;
  readonly versions: Readonly<Record<string, string>>;
  readonly dataset: { readonly source: string; readonly revision: string | null; readonly sha256: string };
  readonly corpusFingerprint: string;
  readonly taskResults: readonly TaskResult[];
}
