// Writes a run as an Inspect log in an `.eval` file.
import { addCost, addUsage, NO_USAGE, type Usage } from "../../models/usage.js";
import type { JsonObject, JsonValue } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { programVersion } from "../../platform/program-files.js";
import { toWellFormedJson } from "../../platform/well-formed-json.js";
import { isScorerName, SCORERS } from "../../scoring/scorers.js";
import type { TaskId } from "../../tasks/question.js";
import type { RunRow } from "../../traces/runs-store.js";
import { type RunStatus, sumCost, sumUsage } from "../../traces/task-result.js";
import {
  type BinaryFormat,
  type ExportContext,
  type ExportedTrace,
  epochOf,
  taskIdOf,
} from "../export-traces/exported-trace.js";
import { inspectSample, inspectSummary, isError, modelUsage, taskCostLimit } from "./inspect-write-sample.js";
import { DeflatedList, ZipWriter } from "./zip-writer.js";

/**
 * An Inspect log in an `.eval` file, which is a zip with the start of the log, one entry per sample, the summaries, the
 * reductions over epochs and, at the end, the header. Only the compressed summaries stay in memory until the samples
 * are written.
 */
export const inspectFormat: BinaryFormat = {
  *bytes(traces, context) {
    const tally = new LogTally(traces);
    const zip = new ZipWriter(context.run?.startedAt ?? tally.startedAt);
    const summaries = new DeflatedList();
    zip.addText("_journal/start.json", toWellFormedJson({ version: VERSION, ...specAndPlan(tally, context) }));
    for (const trace of traces) {
      const name = `samples/${taskIdOf(trace)}_epoch_${epochOf(trace)}.json`.toWellFormed();
      zip.addText(name, toWellFormedJson(inspectSample(trace, context)));
      summaries.push(inspectSummary(trace, context));
      yield* zip.take();
    }
    summaries.end();
    zip.add("_journal/summaries/1.json", summaries);
    zip.add("summaries.json", summaries);
    const reductions = new DeflatedList();
    for (const reduction of tally.reductions()) reductions.push(reduction);
    reductions.end();
    zip.add("reductions.json", reductions);
    zip.addText("header.json", toWellFormedJson(logHeader(tally, context)));
    zip.end();
    yield* zip.take();
  },
};

/** Version of Inspect's log format: https://inspect.aisi.org.uk/eval-logs.html */
const VERSION = 2;

const STATUS: Readonly<Record<RunStatus, string>> = {
  running: "started",
  completed: "success",
  interrupted: "cancelled",
};

/** The first fields of an EvalLog, in the order that Inspect's reader expects. */
function logHeader(tally: LogTally, context: ExportContext): JsonObject {
  const { run } = context;
  return {
    version: VERSION,
    status: run === null ? "success" : STATUS[run.status],
    ...specAndPlan(tally, context),
    results: tally.results(),
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

/** The fields that are known before the first sample. */
function specAndPlan(tally: LogTally, context: ExportContext): JsonObject {
  const { run } = context;
  const agent = tally.first?.agentId ?? run?.agentId ?? "agent";
  const generate = generateConfig(run);
  return {
    eval: {
      eval_id: runId(context),
      run_id: runId(context),
      created: run?.startedAt ?? tally.startedAt,
      task: taskName(tally, run),
      task_id: runId(context),
      task_version: 0,
      task_attribs: {},
      task_args: taskArgs(run),
      task_args_passed: {},
      solver: agent,
      // `read_eval_log_samples` raises an error if a log has no `sample_ids`.
      dataset: { name: datasetName(run), samples: tally.taskIds.length, sample_ids: tally.taskIds, shuffled: false },
      model: tally.first?.model ?? run?.model ?? "none/none",
      model_generate_config: generate,
      model_args: {},
      config: { epochs: tally.epochs, epochs_reducer: ["mean"], fail_on_error: false, ...limits(run) },
      packages: { "art-e": programVersion() },
      metadata: run === null ? {} : runMetadata(run),
    },
    plan: { name: "plan", steps: [{ solver: agent, params: {}, params_passed: {} }], config: generate },
  };
}

/** Facts about the run without an exact equivalent in the other header fields. */
function runMetadata({ corpusFingerprint, dataset, settings }: RunRow): JsonObject {
  return {
    corpus_fingerprint: corpusFingerprint,
    ...(settings.kind === "external" || settings.agentVersion === undefined
      ? {}
      : { agent_version: settings.agentVersion }),
    ...presentProperties({ task_timeout_ms: settings.taskTimeoutMs, dataset_revision: dataset.revision }),
  };
}

function runId({ run }: ExportContext): string {
  return run?.id ?? "chats";
}

/** The suite's name, or `art-e` for the benchmark. */
function taskName({ first }: LogTally, run: RunRow | null): string {
  if (run === null) return "chats";
  return first?.kind === "suite" ? first.task.suite : "art-e";
}

/** Returns only the base name of a local file, because its path may be private. */
function datasetName(run: RunRow | null): string {
  if (run === null) return "chats";
  const { source, revision } = run.dataset;
  return revision === null ? (source.split(/[\\/]/).at(-1) ?? "") : source;
}

function taskArgs(run: RunRow | null): JsonObject {
  if (run === null) return {};
  return { split: run.split, ...(presentProperties(run.settings.selection ?? {}) as Record<string, JsonValue>) };
}

function generateConfig(run: RunRow | null): JsonObject {
  if (run === null || run.settings.kind === "external" || run.settings.kind === "training") return {};
  const { maxTokens, temperature } = run.settings;
  const reasoningEffort = run.settings.kind === "own" ? run.settings.reasoningEffort : undefined;
  return presentProperties({ max_tokens: maxTokens, reasoning_effort: reasoningEffort, temperature });
}

function limits(run: RunRow | null): JsonObject {
  if (run === null) return {};
  const { maxTurns, taskTimeoutMs } = run.settings;
  const maxTaskCostUsd = taskCostLimit(run);
  return {
    turn_limit: maxTurns,
    ...(taskTimeoutMs === undefined ? {} : { time_limit: Math.ceil(taskTimeoutMs / 1000) }),
    ...presentProperties({ cost_limit: maxTaskCostUsd }),
  };
}

/**
 * Collects the header's facts about all samples, one trace at a time. Expects traces in the order of their task ids.
 */
class LogTally {
  first: ExportedTrace | null = null;
  samples = 0;
  completed = 0;
  epochs = 1;
  readonly taskIds: TaskId[] = [];
  startedAt = "";
  endedAt = "";
  private readonly usage = new Map<string, { usage: Usage; costUsd: number | null }>();
  private readonly scorers = new Map<string, ScorerTally>();

  constructor(traces: Iterable<ExportedTrace>) {
    for (const trace of traces) this.add(trace);
  }

  private add(trace: ExportedTrace): void {
    const task = taskIdOf(trace);
    this.first ??= trace;
    this.samples++;
    if (!isError(trace)) this.completed++;
    if (task !== this.taskIds.at(-1)) this.taskIds.push(task);
    this.epochs = Math.max(this.epochs, epochOf(trace));
    if (this.startedAt === "" || trace.startedAt < this.startedAt) this.startedAt = trace.startedAt;
    if (trace.endedAt > this.endedAt) this.endedAt = trace.endedAt;
    this.addUsage(trace);
    for (const [name, { value }] of Object.entries(trace.scores)) {
      if (value === null) continue;
      const tally = this.scorers.get(name) ?? new ScorerTally();
      this.scorers.set(name, tally);
      tally.add(task, value);
    }
  }

  private addUsage({ model, turns }: ExportedTrace): void {
    const billedTurns = turns.filter(({ usage }) => usage !== null);
    if (billedTurns.length === 0) return;
    const { usage, costUsd } = this.usage.get(model) ?? { usage: NO_USAGE, costUsd: 0 };
    this.usage.set(model, {
      usage: addUsage(usage, sumUsage(billedTurns)),
      costUsd: addCost(costUsd, sumCost(billedTurns)),
    });
  }

  usageByModel(): JsonObject {
    return Object.fromEntries([...this.usage].map(([model, sum]) => [model, modelUsage(sum.usage, sum.costUsd)]));
  }

  /** EvalResults: each scorer's mean over tasks, with each task's mean over its epochs. */
  results(): JsonObject {
    const scores = [...this.scorers].map(([name, tally]) => {
      const metric = isScorerName(name) && SCORERS[name].kind === "rate" ? "accuracy" : "mean";
      return {
        name,
        scorer: name,
        reducer: "mean",
        params: {},
        scored_samples: tally.scored,
        unscored_samples: this.samples - tally.scored,
        metrics: { [metric]: { name: metric, value: tally.mean(), params: {} } },
      };
    });
    return { total_samples: this.samples, completed_samples: this.completed, scores };
  }

  /** EvalSampleReductions in JSON: each scorer's mean over the epochs of each task. */
  *reductions(): Generator<JsonObject> {
    for (const [scorer, { tasks, means }] of this.scorers) {
      const samples = tasks.map((sample_id, i) => ({ value: means[i] ?? 0, sample_id, history: [] }));
      yield { scorer, reducer: "mean", samples };
    }
  }
}

class ScorerTally {
  readonly tasks: TaskId[] = [];
  readonly means: number[] = [];
  scored = 0;
  private epochs = 0;

  add(task: TaskId, value: number): void {
    this.scored++;
    const at = this.means.length - 1;
    if (this.tasks[at] === task) {
      this.epochs++;
      this.means[at] = (this.means[at] ?? 0) + (value - (this.means[at] ?? 0)) / this.epochs;
      return;
    }
    this.epochs = 1;
    this.tasks.push(task);
    this.means.push(value);
  }

  mean(): number {
    return this.means.reduce((sum, mean) => sum + mean, 0) / this.means.length;
  }
}
