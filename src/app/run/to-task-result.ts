import { answeredByField, repliesBy } from "../../domain/models/answered-by.js";
import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import { sumCost, sumUsage, taskCost } from "../../domain/runs/cost.js";
import { timesOf } from "../../domain/runs/task-times.js";
import type { Trace } from "../../domain/runs/trace.js";
import { isFailure } from "../../domain/tasks/task-ending.js";

/** A trace as its line of the results file. */
export function toTaskResult(trace: Trace): TaskResult {
  const score = (name: string) => trace.scores[name]?.value ?? null;
  const truth = (name: string) => (score(name) === null ? null : score(name) === 1);
  const { spent, judgeCostUsd } = taskCost(trace);
  return {
    taskId: trace.taskId,
    epoch: trace.epoch,
    inbox: trace.task.inbox_address,
    queryDate: trace.task.query_date,
    howRealistic: trace.task.how_realistic,
    goldSources: trace.task.message_ids.length,
    question: trace.task.question,
    groundTruth: trace.task.answer,
    agentAnswer: trace.answer ?? "",
    exactMatch: truth("exactMatch"),
    semanticScore: score("semanticScore"),
    executionTimeMs: Math.round(trace.durationMs),
    ...roundedTimes(trace),
    traceId: trace.traceId,
    ...(isFailure(trace.ending) ? { error: trace.error ?? trace.ending } : {}),
    ending: trace.ending,
    turns: trace.turns.length,
    ...answeredByField(repliesBy(trace.turns)),
    usage: sumUsage(trace.turns),
    costUsd: sumCost(trace.turns),
    judgeCostUsd,
    sources: trace.sources,
    sourcesCorrect: truth("sourcesCorrect"),
    foundGold: truth("foundGold"),
    readGold: truth("readGold"),
    retries: trace.turns.reduce((sum, turn) => sum + turn.retries.length, 0),
    cachedReplies: trace.turns.filter((turn) => turn.cached).length,
    spent,
    scores: Object.fromEntries(Object.entries(trace.scores).map(([name, { value }]) => [name, value])),
  };
}

/** To a hundredth: a tool often takes less than a millisecond. */
function roundedTimes(trace: Trace) {
  const rounded = (ms: number) => Math.round(ms * 100) / 100;
  const { modelTimeMs, toolTimeMs, waitingTimeMs } = timesOf(trace);
  return {
    modelTimeMs: rounded(modelTimeMs),
    toolTimeMs: rounded(toolTimeMs),
    waitingTimeMs: rounded(waitingTimeMs),
  };
}
