import type { RunHead } from "../../domain/scores/comparison.js";
import { duration } from "./format-number.js";

export type MeanTimes = Pick<RunHead, "avgExecutionTimeMs" | "avgModelTimeMs" | "avgToolTimeMs" | "avgWaitingTimeMs">;

/** Model and tool time of a task, without waiting; for runs that did not record these, the total time. */
export function workTime({
  avgModelTimeMs: model,
  avgToolTimeMs: tools,
  avgExecutionTimeMs: total,
}: MeanTimes): string {
  if (model == null || tools == null) return total === null ? "-" : `${duration(total)} with waiting`;
  return duration(model + tools);
}

/**
 * `1.2 s (model 1.1 s, tools 86 ms); waiting 3.9 s`: waiting is throttling and failed calls, no property of the agent.
 */
export function timePerTask(times: MeanTimes): string {
  const { avgModelTimeMs: model, avgToolTimeMs: tools, avgWaitingTimeMs: waiting } = times;
  if (model == null || tools == null || waiting == null) return workTime(times);
  return `${workTime(times)} (model ${duration(model)}, tools ${duration(tools)}); waiting ${duration(waiting)}`;
}
