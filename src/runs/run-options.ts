// Which options apply to which kind of run, and the files that a run reads and writes.
import type { NamedAgentFunction } from "../agents/external-agent.js";
import { isEvalScore } from "../evals/definition.js";
import { commandLine, flagName } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { traitsOf } from "../platform/flag-values.js";
import type { SelectedQuestions } from "../questions/dataset.js";
import type { FunctionScorer } from "../scoring/function-scorers.js";
import { judgeUse, RESULT_FILE_SCORERS, SCORER_NAMES, SUITE_SCORERS } from "../scoring/scorers.js";
import { taskKindOf } from "../tasks/task-kind.js";
import type { LiveOptions } from "../trace-formats/otlp-live.js";
import { type InputFile, type OutputFile, replayFile } from "../trace-formats/output-files.js";
import {
  flagsWhere,
  RUN_FLAGS,
  RUN_KINDS,
  type RunFlagName,
  type RunKind,
  type RunOptions,
  type ScorerChoice,
} from "./run-flags.js";

export interface RunRequest extends RunOptions {
  /** Names of explicitly given options. All others have their defaults. */
  readonly explicitFlags: ReadonlySet<string>;
  /** Tags for a new run. */
  readonly tags?: readonly string[];
  /** The agent, if it is a function of a program that uses art-e as a library. */
  readonly agentFunction?: NamedAgentFunction;
  /** The questions of a new run, if a program passes them. */
  readonly questions?: SelectedQuestions;
  /** Scorers that are functions of a program. */
  readonly functionScorers?: readonly FunctionScorer[];
}

/** Throws a UserError for the first given flag that does not apply to runs of this kind. */
export function refuseFlags(kind: RunKind, explicitFlags: ReadonlySet<string>): void {
  const [other] = flagsWhere(({ notFor = [] }) => notFor.includes(kind)).filter((name) => explicitFlags.has(name));
  if (other === undefined) return;
  const { name, todo }: { readonly name: string; readonly todo?: string } = RUN_KINDS[kind];
  const flag = flagName(other);
  const hint = `Remove ${flag}${todo === undefined ? "" : `, ${todo}`}.`;
  throw new UserError("flags_contradict", `${flag} does not apply to ${name}.`, hint);
}

/** The files that a run writes. */
export function outputsOf(options: Partial<RunOptions>): readonly OutputFile[] {
  return flagsWhere(({ writes }) => writes !== undefined).flatMap((name) => {
    const { writes } = RUN_FLAGS[name];
    return writes === undefined ? [] : [{ flag: flagName(name), path: pathIn(options, name), kind: writes }];
  });
}

/** The files that a run reads. */
export function inputsOf(options: Partial<RunOptions>): readonly InputFile[] {
  return flagsWhere(({ reads }) => reads !== undefined).map((name) => {
    const { reads = "", schema } = RUN_FLAGS[name];
    const path = pathIn(options, name);
    return { name: reads, path: traitsOf(schema).path === "model" ? replayFile(path) : path };
  });
}

function pathIn(options: Partial<RunOptions>, name: RunFlagName): string | undefined {
  const path = options[name];
  return typeof path === "string" ? path : undefined;
}

/** Returns whether to send traces. Throws a UserError for `--scores` without a server. */
export function sendsTraces({ otlp, otlpEndpoint, scores }: LiveOptions): boolean {
  const sends = otlp || otlpEndpoint !== undefined;
  if (!sends && scores !== undefined) {
    const message = "--scores only applies if traces are sent.";
    throw new UserError("flags_contradict", message, "Add --otlp-endpoint URL or --otlp.");
  }
  return sends;
}

export function agentOfNewRun(request: RunRequest): string {
  const { agent, agentCommand, agentFunction, explicitFlags } = request;
  if (agentFunction !== undefined) return agentFunction.name;
  if (agent === undefined && agentCommand === undefined) {
    throw new UserError(
      "flag_missing",
      "--agent is required.",
      `Pass an agent: ${commandLine`art-e run -a baseline`} (${commandLine`art-e agents list`} lists them).`,
    );
  }
  refuseFlags("new", explicitFlags);
  return agent ?? "agent-command";
}

/**
 * Returns the requested scorers plus the ones that always run, in table order. The default is all scorers that can run.
 * If only evals are requested, they run in addition to the default scorers. Throws if a requested scorer needs a
 * verdict and there is no judge.
 */
export function chosenScorers(choices: readonly ScorerChoice[] | undefined, hasVerdicts: boolean): ScorerChoice[] {
  if (choices === undefined || choices.every(isEvalScore))
    return [...SCORER_NAMES.filter((name) => hasVerdicts || judgeUse(name) !== "needed"), ...(choices ?? [])];
  const without = choices.find((name) => !isEvalScore(name) && judgeUse(name) === "needed");
  if (without !== undefined && !hasVerdicts) {
    throw new UserError(
      "judge_missing",
      `--scorers: ${without} requires a judge.`,
      "Pass one, for example --judge anthropic/claude-haiku-5-5, or leave it out.",
    );
  }
  const names = new Set<string>([...RESULT_FILE_SCORERS, ...choices]);
  return [...SCORER_NAMES.filter((name) => names.has(name)), ...choices.filter(isEvalScore)];
}

/** Returns the scorer names that a run records. Suite tasks also have the scores of their evaluation functions. */
export function recordedScorers(split: string, scorers: readonly string[]): string[] {
  return taskKindOf({ split }) === "suite" ? [...scorers, ...Object.keys(SUITE_SCORERS)] : [...scorers];
}

/** Throws a UserError if a judge was selected whose verdicts no scorer would use. */
export function refuseUnusedJudge({
  judge,
  scorers,
}: {
  readonly judge?: string | undefined;
  readonly scorers?: readonly ScorerChoice[] | undefined;
}): void {
  if (judge === undefined || judge === "off" || wantsJudge(scorers)) return;
  throw new UserError(
    "flags_contradict",
    `--judge ${judge}: no scorer in --scorers uses its verdicts, which cost money.`,
    "Add judgeCorrect to --scorers, or remove --judge.",
  );
}

export function wantsJudge(choices: readonly ScorerChoice[] | undefined): boolean {
  return choices === undefined || choices.some((name) => isEvalScore(name) || judgeUse(name) !== null);
}
