import { type EvalScore, isEvalScore } from "../evals/definition.js";
import type { ReasoningEffort } from "../models/reasoning-effort.js";
import type { GivenExtras } from "../models/request-extras.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { DatasetOptions, SelectionOptions } from "../questions/dataset.js";
import type { JudgeOptions } from "../scoring/judge-settings.js";
import { judgeUse, RESULT_FILE_SCORERS, SCORER_NAMES, type ScorerName, SUITE_SCORERS } from "../scoring/scorers.js";
import type { SuiteSelectionOptions } from "../suites/select-tasks.js";
import type { LiveOptions } from "../trace-formats/otlp-live.js";
import type { OutputFile } from "../trace-formats/output-files.js";
import type { OwnRunSettings, RunLimits } from "../traces/run-settings.js";
import type { GateOptions } from "./gates.js";

/** Options of a run. Undefined options come from the agent, the stored run or a default. */
export interface RunOptions
  extends DatasetOptions,
    SelectionOptions,
    SuiteSelectionOptions,
    JudgeOptions,
    GivenExtras,
    GateOptions,
    LiveOptions {
  readonly agent?: string | undefined;
  /** Maximum number of questions (0 = all). */
  readonly limit: number;
  readonly suite?: string | undefined;
  readonly oracle?: string | undefined;
  readonly functions?: string | undefined;
  readonly accountSettings?: string | undefined;
  readonly protocol?: "art" | undefined;
  readonly modelProvider?: string | undefined;
  readonly modelId?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly wireApi?: "chat" | "responses" | undefined;
  readonly concurrency: number | "auto";
  /** Address of a queue whose workers answer the tasks. Can contain a password. */
  readonly queue?: string | undefined;
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
  readonly epochs: number;
  readonly resume?: string | undefined;
  readonly repeat?: string | undefined;
  readonly name?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly retryFailed: boolean;
  readonly force: boolean;
  /** US dollars. */
  readonly maxCost?: number | undefined;
  readonly maxRunTokens?: number | undefined;
  /** Minutes. */
  readonly maxTime?: number | undefined;
  readonly maxFailures?: NonNullable<RunLimits["maxFailures"]> | undefined;
  readonly maxTaskCost?: number | undefined;
  readonly price?: OwnRunSettings["price"] | undefined;
  readonly maxTurns?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly reasoningEffort?: ReasoningEffort | undefined;
  /** Seconds. */
  readonly taskTimeout: number;
  /** Seconds. */
  readonly requestTimeout: number;
  readonly cutoff: "query_date" | "off";
  readonly partialInboxes: boolean;
  readonly cache: boolean;
  readonly unsafeHostPython: boolean;
  readonly scorers?: readonly ScorerChoice[] | undefined;
  readonly record?: string | undefined;
  readonly output?: string | undefined;
  readonly workspace?: string | undefined;
  readonly apiUrl?: string | undefined;
  readonly tellTask: boolean;
  readonly agentCommand?: string | undefined;
  readonly agentUrl?: string | undefined;
}

export type RunOptionName = keyof RunOptions;

export interface RunRequest extends RunOptions {
  /** Names of explicitly given options. All others have their defaults. */
  readonly given: ReadonlySet<string>;
  /** Only estimate the run. */
  readonly dryRun: boolean;
}

export function outputsOf({
  output,
  record,
  junit,
}: Pick<RunOptions, "output" | "record" | "junit">): readonly OutputFile[] {
  return [
    { flag: "--output", path: output, kind: "results" },
    { flag: "--record", path: record, kind: "recording" },
    { flag: "--junit", path: junit, kind: "junit" },
  ];
}

export function agentOfNewRun(options: RunOptions): string {
  if (options.agent === undefined && options.agentCommand === undefined) {
    throw new UserError(
      "flag_missing",
      "--agent is missing.",
      `Name one: ${commandLine`art-e run -a baseline`} (${commandLine`art-e agents list`} shows all).`,
    );
  }
  if (options.retryFailed || options.force) {
    throw new UserError(
      "flags_contradict",
      `${options.force ? "--force" : "--retry-failed"} is for --resume, which is not given.`,
      "Add --resume RUN, or leave it out.",
    );
  }
  return options.agent ?? "agent-command";
}

export type ScorerChoice = ScorerName | EvalScore;

/**
 * Returns the requested scorers plus the ones that always run, in table order. The default is all scorers that can run.
 * If only evals are requested, they run in addition to the default scorers. Throws if a requested scorer needs a
 * verdict and there is no judge.
 */
export function chosenScorers(asked: readonly ScorerChoice[] | undefined, hasVerdicts: boolean): ScorerChoice[] {
  if (asked === undefined || asked.every(isEvalScore))
    return [...SCORER_NAMES.filter((name) => hasVerdicts || judgeUse(name) !== "needed"), ...(asked ?? [])];
  const without = asked.find((name) => !isEvalScore(name) && judgeUse(name) === "needed");
  if (without !== undefined && !hasVerdicts) {
    throw new UserError(
      "judge_missing",
      `--scorers: ${without} needs a judge, and there is none.`,
      "Name one, for example --judge anthropic/claude-haiku-5-5, or leave it out.",
    );
  }
  const wanted = new Set<string>([...RESULT_FILE_SCORERS, ...asked]);
  return [...SCORER_NAMES.filter((name) => wanted.has(name)), ...asked.filter(isEvalScore)];
}

/** Returns the scorer names that a run records. Suite tasks also have the scores of their evaluation functions. */
export function recordedScorers(split: string, scorers: readonly string[]): string[] {
  return split === "suite" ? [...scorers, ...Object.keys(SUITE_SCORERS)] : [...scorers];
}

export function wantsJudge(asked: readonly ScorerChoice[] | undefined): boolean {
  return asked === undefined || asked.some((name) => isEvalScore(name) || judgeUse(name) !== null);
}
