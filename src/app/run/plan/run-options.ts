import { UserError } from "../../../domain/errors.js";
import type { RunSettings } from "../../../domain/runs/benchmark-result.js";
import type { RunLimits } from "../../../domain/runs/run-limits.js";
import type { GateOptions } from "../../gates/gate-options.js";
import type { OutputFile } from "../../output-files/check-outputs.js";
import type { DatasetOptions, SelectionOptions } from "../../questions/load-dataset.js";
import type { ScorerChoice } from "../../score/choose-scorers.js";
import type { JudgeOptions } from "../../score/judge-settings.js";
import type { SuiteSelectionOptions } from "../../suites/select-suite-tasks.js";
import type { LiveOptions } from "../../traces/live-traces.js";

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
  /** Folder of a task suite, instead of questions about mailboxes. */
  readonly suite?: string | undefined;
  /** Oracle file of the model offline/oracle. */
  readonly oracle?: string | undefined;
  /** The user's module of set-up and evaluation functions. */
  readonly functions?: string | undefined;
  /** Folder of the settings of accounts that tasks of a suite take. */
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
  /** Of a new run. */
  readonly name?: string | undefined;
  /** Of a new run. */
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

/** The files that a run writes. */
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

/** The agent of a new run. Throws where none is named, or where an option is only for a run that goes on. */
export function agentOfNewRun(options: RunOptions): string {
  if (options.agent === undefined && options.agentCommand === undefined) {
    throw new UserError(
      "flag_missing",
      "--agent is missing.",
      "Name one: art-e run -a baseline (art-e agents list shows all).",
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
