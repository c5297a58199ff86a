import type { JsonObject, JsonValue } from "../../domain/json.js";
import type { RunStatus } from "../../domain/runs/run-status.js";
import type { RunRow } from "../../store/runs/runs.js";
import type { ExportContext } from "../trace-format.js";
import type { LogTally } from "./log-tally.js";

/** Of Inspect's log files: https://inspect.aisi.org.uk/eval-logs.html */
const VERSION = 2;

const STATUS: Readonly<Record<RunStatus, string>> = {
  running: "started",
  completed: "success",
  interrupted: "cancelled",
};

/** What an EvalLog begins with, in the order in which its reader expects it. */
export function logHeader(tally: LogTally, context: ExportContext): JsonObject {
  const { run } = context;
  return {
    version: VERSION,
    status: run === null ? "success" : STATUS[run.status],
    ...specAndPlan(tally, context),
    results: tally.results(context),
    stats: {
      started_at: tally.startedAt,
      completed_at: tally.endedAt,
      model_usage: tally.usageByModel(),
      role_usage: {},
      connection_limit_history: [],
    },
    invalidated: false,
    tags: run?.tags ?? [],
    metadata: { run_id: runId(context) },
  };
}

/** What is known before the first sample. */
export function logStart(tally: LogTally, context: ExportContext): JsonObject {
  return { version: VERSION, ...specAndPlan(tally, context) };
}

function specAndPlan(
  tally: LogTally,
  context: ExportContext,
): { readonly eval: JsonObject; readonly plan: JsonObject } {
  const { run, programVersion } = context;
  const agent = tally.first?.agentId ?? run?.agentId ?? "agent";
  const generate = generateConfig(run);
  return {
    eval: {
      ...{ eval_id: runId(context), run_id: runId(context), created: run?.startedAt ?? tally.startedAt },
      ...{ task: taskName(tally, run), task_id: runId(context), task_version: 0, task_attribs: {} },
      ...{ task_args: taskArgs(run), task_args_passed: {}, solver: agent },
      dataset: { name: datasetName(run), samples: tally.tasks, shuffled: false },
      model: tally.first?.model ?? run?.model ?? "none/none",
      ...{ model_generate_config: generate, model_args: {} },
      config: { epochs: tally.epochs, epochs_reducer: ["mean"], fail_on_error: false, ...limits(run) },
      packages: { "art-e": programVersion },
      metadata: run === null ? {} : runMetadata(run),
    },
    plan: { name: "plan", steps: [{ solver: agent, params: {}, params_passed: {} }], config: generate },
  };
}

/** What the other fields of the header cannot hold, or not as exactly. */
function runMetadata({ corpusFingerprint, dataset, settings }: RunRow): JsonObject {
  return {
    corpus_fingerprint: corpusFingerprint,
    agent_version: settings.agentVersion,
    task_timeout_ms: settings.taskTimeoutMs,
    ...(dataset.revision === null ? {} : { dataset_revision: dataset.revision }),
  };
}

function runId({ run }: ExportContext): string {
  return run?.id ?? "chats";
}

/** The name of a suite, or the benchmark's. */
function taskName({ first }: LogTally, run: RunRow | null): string {
  if (run === null) return "chats";
  return first !== null && "grade" in first ? first.task.suite : "art-e";
}

/** The name of a local file alone: its path may be private. */
function datasetName(run: RunRow | null): string {
  if (run === null) return "chats";
  const { source, revision } = run.dataset;
  return revision === null ? (source.split(/[\\/]/).at(-1) ?? "") : source;
}

function taskArgs(run: RunRow | null): JsonObject {
  if (run === null) return {};
  const selected = Object.entries(run.settings.selection).filter(([, value]) => value !== null && value !== undefined);
  return { split: run.split, ...(Object.fromEntries(selected) as Record<string, JsonValue>) };
}

function generateConfig(run: RunRow | null): JsonObject {
  const { maxTokens, temperature } = run?.settings ?? {};
  return {
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(temperature === undefined || temperature === null ? {} : { temperature }),
  };
}

function limits(run: RunRow | null): JsonObject {
  if (run === null) return {};
  const { maxTurns, taskTimeoutMs, maxTaskCostUsd } = run.settings;
  return {
    turn_limit: maxTurns,
    time_limit: Math.ceil(taskTimeoutMs / 1000),
    ...(maxTaskCostUsd === null ? {} : { cost_limit: maxTaskCostUsd }),
  };
}
