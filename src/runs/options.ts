import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type EvalScore, isEvalScore } from "../evals/definition.js";
import { readImportFilter } from "../mail/corpus.js";
import { commandLine } from "../platform/command-line.js";
import type { AppContext } from "../platform/context.js";
import { UserError } from "../platform/errors.js";
import type { DatasetOptions, SelectionOptions } from "../questions/dataset.js";
import type { JudgeOptions } from "../scoring/judge-settings.js";
import { judgeUse, RESULT_FILE_SCORERS, SCORER_NAMES, type ScorerName, SUITE_SCORERS } from "../scoring/scorers.js";
import type { Db } from "../store/open-store.js";
import { findOracleFile } from "../suites/oracle.js";
import type { SuiteSelectionOptions } from "../suites/select-tasks.js";
import type { SuiteFolder } from "../suites/suite-folder.js";
import type { LiveOptions } from "../trace-formats/otlp-live.js";
import type { OutputFile } from "../trace-formats/output-files.js";
import type { RunLimits, RunSettings } from "../traces/run-settings.js";
import type { GateOptions } from "./gates.js";

export function noteUnsetConditions(
  { protocol }: { protocol?: "art" | undefined },
  db: Db,
  { note }: AppContext,
): void {
  if (protocol === undefined || readImportFilter(db) === "art") return;
  note(
    `--protocol art: the mail in ${db.name} was imported without ART's filter. For it, import into a file of its own: art-e import --filter art --db FILE.`,
  );
}

const ORACLE_MODEL = "offline/oracle";

export function refuseOracle(model: string, named: string | undefined): void {
  if (model !== ORACLE_MODEL && named === undefined) return;
  throw new UserError(
    "flags_contradict",
    `${named === undefined ? `The model ${model}` : "--oracle"} is for tasks of a suite.`,
    "Add --suite DIR, or name another agent.",
  );
}

export function oracleSettings(model: string, named: string | undefined, folder: SuiteFolder) {
  if (model === ORACLE_MODEL) return { oracle: findOracleFile(named, folder) };
  if (named !== undefined) throw notFor(model);
  return {};
}

export function requestedOracle(stored: RunSettings, named: string | undefined) {
  if (named === undefined) return {};
  if (stored.oracle === undefined) throw notFor(stored.model);
  return { oracle: resolve(named) };
}

function notFor(model: string): UserError {
  const what = `--oracle is for the agent oracle, and the agent's model is ${model}.`;
  return new UserError("flags_contradict", what, "Leave it out, or run -a oracle.");
}

export function limitsOf(options: RunOptions, stored: RunLimits): RunLimits {
  return {
    maxCostUsd: options.maxCost ?? stored.maxCostUsd,
    maxTokens: options.maxRunTokens ?? stored.maxTokens,
    maxTimeMs: options.maxTime === undefined ? stored.maxTimeMs : options.maxTime * 60_000,
    maxFailures: options.maxFailures ?? stored.maxFailures,
  };
}

/** As flags: `--max-cost 0.5, --max-failures 5%`. Empty where there is no limit. */
export function limitsText({ maxCostUsd, maxTokens, maxTimeMs, maxFailures }: RunLimits): string {
  return [
    ...(maxCostUsd === null ? [] : [`--max-cost ${maxCostUsd}`]),
    ...(maxTokens === null ? [] : [`--max-run-tokens ${maxTokens}`]),
    ...(maxTimeMs === null ? [] : [`--max-time ${maxTimeMs / 60_000}`]),
    ...(maxFailures === null ? [] : [`--max-failures ${failuresText(maxFailures)}`]),
  ].join(", ");
}

function failuresText(limit: NonNullable<RunLimits["maxFailures"]>): string {
  return "tasks" in limit ? `${limit.tasks}` : `${Number((limit.share * 100).toFixed(6))}%`;
}

/** The path that a resumed run writes its results to again. Null for a pipe or a device, which may be gone by then. */
export function outputToKeep(path: string | undefined): string | null {
  if (path === undefined) return null;
  return (statSync(path, { throwIfNoEntry: false })?.isFile() ?? true) ? resolve(path) : null;
}

/** Everything a user may ask of a run. What is undefined comes from the agent, the stored run or a default. */
export interface RunOptions
  extends DatasetOptions,
    SelectionOptions,
    SuiteSelectionOptions,
    JudgeOptions,
    GateOptions,
    LiveOptions {
  readonly agent?: string | undefined;
  /** Questions; 0: all. */
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
  /** Address of a queue, whose workers answer. May hold a password. */
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
  readonly price?: RunSettings["price"] | undefined;
  readonly maxTurns?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  readonly temperature?: number | undefined;
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

/** What a user asks of a run, with the names of what was really given: the rest of `options` are defaults. */
export interface RunRequest {
  readonly options: RunOptions;
  readonly given: ReadonlySet<string>;
  /** False: no model is called from here. It is an estimate, or workers call it. */
  readonly callsModel: boolean;
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
 * The scorers asked for and those that always run, in the order of their table; by default all that can be told.
 * Evals alone are asked for besides those.
 * Throws where one is asked for that needs a verdict and there is no judge.
 */
export function chosenScorers(asked: readonly ScorerChoice[] | undefined, hasVerdicts: boolean): ScorerChoice[] {
  if (asked === undefined || asked.every(isEvalScore))
    return [...SCORER_NAMES.filter((name) => hasVerdicts || judgeUse(name) !== "needed"), ...(asked ?? [])];
  const without = asked.find((name) => needsJudge(name));
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

function needsJudge(name: ScorerChoice): boolean {
  return !isEvalScore(name) && judgeUse(name) === "needed";
}

/** The names that a run records: those of a suite's tasks have what their evaluation functions gave too. */
export function recordedScorers(split: string, scorers: readonly string[]): string[] {
  return split === "suite" ? [...scorers, ...Object.keys(SUITE_SCORERS)] : [...scorers];
}

export function wantsJudge(asked: readonly ScorerChoice[] | undefined): boolean {
  return asked === undefined || asked.some((name) => isEvalScore(name) || judgeUse(name) !== null);
}
