import type { RunPlan } from "../../app/run/plan-new-run.js";
import { cacheWrites, type Usage } from "../../domain/models/model.js";
import { isRemote } from "../../models/provider-names.js";
import { count, duration, usd } from "../../reports/text/format-number.js";
import { summaryBox } from "../../reports/text/summary-box.js";
import type { Db } from "../../store/connection/open-store.js";
import { type AverageTask, averageTask } from "../../store/runs/results.js";
import type { CommandContext } from "../cli/command.js";
import type { RunFlags } from "./run-flags.js";

/** What a task of an agent that searches and reads takes with most models, where no earlier run tells better. */
const GUESS: AverageTask = {
  tasks: 0,
  inputTokens: 14_000,
  outputTokens: 500,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  turns: 4,
  seconds: 12,
};

/** Tasks at once that `auto` is taken to reach. */
const AUTO_CONCURRENCY = 20;

/** The tokens of so many tasks, or of a part of one. */
function usageOf(each: AverageTask, tasks: number): Usage {
  return {
    inputTokens: each.inputTokens * tasks,
    outputTokens: each.outputTokens * tasks,
    cachedInputTokens: each.cachedInputTokens * tasks,
    ...cacheWrites(each.cacheWriteTokens * tasks),
  };
}

function rounded(usage: Usage): Usage {
  return {
    inputTokens: Math.round(usage.inputTokens),
    outputTokens: Math.round(usage.outputTokens),
    cachedInputTokens: Math.round(usage.cachedInputTokens),
    ...cacheWrites(Math.round(usage.cacheWriteTokens ?? 0)),
  };
}

/** Tells what a run would take, by the earlier runs of its agent and model, and begins nothing. */
export async function printEstimate(db: Db, plan: RunPlan, flags: RunFlags, { out }: CommandContext): Promise<void> {
  const { settings, model } = plan;
  const tasks = await plan.tasks();
  const isLocal = !isRemote(settings.model.split("/")[0] as Parameters<typeof isRemote>[0]);
  const known = averageTask(db, settings.agentId, settings.model);
  const each = known ?? (isLocal ? { ...GUESS, inputTokens: 0, outputTokens: 0, seconds: 0.02 } : GUESS);
  const usage = rounded(usageOf(each, tasks));
  // Call by call, as it is billed: what is dearer for a long prompt is not so for many short ones.
  const calls = Math.max(1, each.turns);
  const costOfCall = model.priceOf(usageOf(each, 1 / calls));
  const costUsd = costOfCall === null ? null : costOfCall * calls * tasks;
  const atOnce = flags.concurrency === "auto" ? AUTO_CONCURRENCY : flags.concurrency;
  const byRate = flags.rpm === undefined ? 0 : (tasks * each.turns * 60) / flags.rpm;
  const seconds = Math.max((tasks * each.seconds) / Math.min(atOnce, tasks || 1), byRate);
  const basis =
    known === null ? "a guess: no earlier run of this agent and model" : `${count(known.tasks)} tasks of earlier runs`;
  const { judge } = settings;
  const judgeCalls = judge === null ? 0 : tasks * judge.votes;
  out.result({ tasks, usage, costUsd, judgeCalls, seconds, basis }, () =>
    summaryBox(`ART-E Dry Run: ${settings.agentId} (${settings.model})`, [
      ["Tasks", count(tasks)],
      ["Tokens", `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`],
      ["Cost", costUsd === null ? "unknown (give --price IN,OUT)" : usd(costUsd)],
      ...(judge === null ? [] : [["Judge", `${count(judgeCalls)} calls of ${judge.model}, not in the cost`] as const]),
      ["Time", duration(seconds * 1_000)],
      ["Basis", basis],
    ]),
  );
}
