// Turns and costs of paid model replies.
import type { Completion } from "../models/model.js";
import type { JournalEntry } from "../models/reply-journal.js";
import { definedProperties } from "../platform/optional-values.js";
import { type Consumption, consumptionOf, sumCost, sumUsage, type TaskCost } from "./task-result.js";
import type { Turn } from "./trace.js";

/** Returns the trace's record of a model call. */
export function turnOf(reply: Completion, startedAt: string): Turn {
  return {
    startedAt,
    ...definedProperties({ model: reply.model, responseId: reply.responseId }),
    latencyMs: reply.latencyMs,
    waitedMs: reply.waitedMs ?? 0,
    ...(reply.waits === undefined ? {} : { waits: [...reply.waits] }),
    finishReason: reply.finishReason,
    rawFinishReason: reply.rawFinishReason,
    usage: reply.usage,
    costUsd: reply.costUsd ?? null,
    retries: [...reply.retries],
    ...definedProperties({ sent: reply.sent }),
    cached: reply.cached ?? false,
    ...(reply.resumed === true ? { resumed: true } : {}),
  };
}

/** Returns the consumption of an agent's paid replies. Judge calls are counted separately. */
export function consumptionOfEntries(entries: readonly JournalEntry[]): Consumption {
  return consumptionOf(turnsOf("agent", entries));
}

/** Returns the cost of paid replies, for the run's budget. */
export function costOfEntries(entries: readonly JournalEntry[]): TaskCost {
  const [agent, judge] = [turnsOf("agent", entries), turnsOf("judge", entries)];
  return { spent: { usage: sumUsage(agent), costUsd: sumCost(agent) }, judgeCostUsd: sumCost(judge) };
}

function turnsOf(caller: JournalEntry["caller"], entries: readonly JournalEntry[]): Turn[] {
  return entries.filter((entry) => entry.caller === caller).map(({ reply }) => turnOf(reply, ""));
}
