import { answeredByField, repliesBy } from "../../domain/models/answered-by.js";
import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import { sumCost, sumUsage, taskCost } from "../../domain/runs/cost.js";
import { timesOf } from "../../domain/runs/task-times.js";
import { isSuiteTrace, type Trace } from "../../domain/runs/trace.js";
import { instructionOf, questionOf } from "../../domain/tasks/task.js";
import { isFailure } from "../../domain/tasks/task-ending.js";

/** A trace as its line of the results file. */
export function toTaskResult(trace: Trace): TaskResult {
  const score = (name: string) => trace.scores[name]?.value ?? null;
  const truth = (name: string) => (score(name) === null ? null : score(name) === 1);
  const { spent, judgeCostUsd } = taskCost(trace);
  return {
    taskId: trace.taskId,
    epoch: trace.epoch,
    ...taskFields(trace),
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

/** What the result says of its task: of a suite's, with its grade. */
function taskFields(trace: Trace) {
  const question = questionOf(trace.task);
  const fields = {
    inbox: question?.inbox_address ?? "",
    queryDate: question?.query_date ?? null,
    howRealistic: question?.how_realistic ?? null,
    goldSources: question?.message_ids.length ?? 0,
    question: instructionOf(trace.task),
    groundTruth: question?.answer ?? "",
  };
  if (!isSuiteTrace(trace)) return fields;
  const { suite: name, tool, snapshot, tags, relatedApps, actionNumber, counterpart } = trace.task;
  return {
    ...fields,
    suite: { name, tool, snapshot, tags, relatedApps, actionNumber, counterpart, ...trace.grade },
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
