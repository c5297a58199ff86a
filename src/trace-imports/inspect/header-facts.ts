import { SPLITS } from "../../domain/tasks/question.js";
import type { RunFacts } from "../imported-trace.js";
import type { LogHeader } from "./log-schema.js";
import { isoTime } from "./sample-times.js";

/** The run that a log is of. */
export function headerFacts({ status, eval: spec, tags }: LogHeader): RunFacts {
  const { config, model_generate_config: generate, metadata, dataset } = spec;
  const { split, ...selection } = spec.task_args ?? {};
  const { agent_version, task_timeout_ms, corpus_fingerprint, dataset_revision } = metadata ?? {};
  const seconds = config.time_limit;
  const taskTimeoutMs = positive(task_timeout_ms) ?? positive(seconds == null ? null : seconds * 1_000);
  const settings = {
    agentVersion: Number.isSafeInteger(agent_version) ? Math.max(0, Number(agent_version)) : undefined,
    maxTurns: wholePositive(config.turn_limit),
    maxTokens: wholePositive(generate?.max_tokens),
    temperature: generate?.temperature ?? undefined,
    maxTaskCostUsd: config.cost_limit ?? undefined,
    taskTimeoutMs,
    selection,
  };
  return {
    // A log that nobody finished has nobody working on it here.
    status: status == null || status === "success" ? "completed" : "interrupted",
    startedAt: isoTime(spec.created) ?? undefined,
    tags: tags ?? [],
    split: [...SPLITS, "suite"].find((known) => known === split),
    dataset: { source: dataset.name ?? spec.task, revision: textOrNull(dataset_revision) },
    corpusFingerprint: textOrNull(corpus_fingerprint) ?? undefined,
    settings: Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)),
  };
}

function positive(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
}

function wholePositive(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? positive(value) : undefined;
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
