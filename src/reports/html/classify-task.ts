import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import { bandOf } from "../../domain/scores/score-bands.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import type { Outcome, Stage } from "../page/report-data.js";

/** How far the agent got: it opened a gold mail, only had it listed, or never saw it; `none`: there is no gold mail. */
export function stageOf(result: TaskResult): Stage {
  if (isFailure(result.ending)) return "failed";
  if (result.readGold === null || result.foundGold === null) return "none";
  if (result.readGold) return "read";
  return result.foundGold ? "found" : "missed";
}

/** The band of the leading score. A task of a suite is graded or not, whatever its ending; its state tells the rest. */
export function classifyTask(result: TaskResult, leading: string): Outcome {
  if (isFailure(result.ending) && result.suite === undefined) return "failed";
  return bandOf(result.scores[leading] ?? null);
}
