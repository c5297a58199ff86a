import type { RunHead } from "../../domain/scores/comparison.js";
import { duration } from "./format-number.js";

export type MeanTimes = Pick<RunHead, "avgExecutionTimeMs" | "avgModelTimeMs" | "avgToolTimeMs" | "avgWaitingTimeMs">;

/** What model and tools took of a task, without waiting; of a run that does not tell it apart, the whole. */
export function workTime({
  avgModelTimeMs: model,
  avgToolTimeMs: tools,
  avgExecutionTimeMs: whole,
}: MeanTimes): string {
  if (model == null || tools == null) return whole === null ? "-" : `${duration(whole)} with waiting`;
  return duration(model + tools);
}

/** `1.2 s (model 1.1 s, tools 86 ms); waiting 3.9 s`: the last is throttling and failed calls, which say nothing of the agent. */
export function timePerTask(times: MeanTimes): string {
  const { avgModelTimeMs: model, avgToolTimeMs: tools, avgWaitingTimeMs: waiting } = times;
  if (model == null || tools == null || waiting == null) return workTime(times);
  return `${workTime(times)} (model ${duration(model)}, tools ${duration(tools)}); waiting ${duration(waiting)}`;
}
