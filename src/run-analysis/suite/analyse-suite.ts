import { sampleRankCorrelation } from "simple-statistics";
import type { DurationFigures, StateCell, StepFigures, SuiteAnalysis } from "../../domain/runs/suite-analysis.js";
import { BANDS, bandOf } from "../../domain/scores/score-bands.js";
import { DIFFICULTIES, difficultyOf } from "../../domain/tasks/difficulty.js";
import { TASK_STATES } from "../../domain/tasks/task-state.js";
import { meanOf } from "../../statistics/mean.js";
import { quantile } from "../../statistics/quantile.js";
import type { AnalysedTask } from "./analysed-task.js";
import { compareInstructionStyles } from "./compare-instruction-styles.js";

/** Failures, steps, durations and styles of instruction, over all tasks of a run over a suite. */
export function analyseSuite(tasks: readonly AnalysedTask[]): SuiteAnalysis {
  // Tasks whose machine did not start, or whose model never answered, say nothing of steps and time.
  const worked = tasks.filter(({ turns }) => turns > 0);
  return {
    profile: profileOf(tasks),
    steps: stepsOf(worked),
    stepCorrelation: {
      turns: correlation(worked, ({ turns }) => turns),
      toolCalls: correlation(worked, ({ toolCalls }) => toolCalls),
    },
    durations: durationsOf(worked),
    guidance: compareInstructionStyles(tasks),
  };
}

function profileOf(tasks: readonly AnalysedTask[]): StateCell[] {
  return TASK_STATES.flatMap((state) =>
    [...BANDS, "unscored" as const].map((band) => ({
      state,
      band,
      tasks: tasks.filter((task) => task.state === state && bandOf(task.score) === band).length,
    })),
  ).filter((cell) => cell.tasks > 0);
}

function stepsOf(tasks: readonly AnalysedTask[]): StepFigures[] {
  return DIFFICULTIES.flatMap((difficulty) => {
    const some = tasks.filter(({ actionNumber }) => difficultyOf(actionNumber) === difficulty);
    const mean = (read: (task: AnalysedTask) => number | null) => meanOf(some.flatMap((task) => read(task) ?? []));
    const turns = mean((task) => task.turns);
    if (turns === null) return [];
    const [actions, toolCalls] = [mean(({ actionNumber }) => actionNumber), mean((task) => task.toolCalls)];
    return [{ difficulty, tasks: some.length, actions, turns, toolCalls }];
  });
}

/** Null of fewer than three tasks, or where one side does not vary. */
function correlation(tasks: readonly AnalysedTask[], read: (task: AnalysedTask) => number | null): number | null {
  const points = tasks.flatMap((task) => {
    const steps = read(task);
    return task.actionNumber === null || steps === null ? [] : [[task.actionNumber, steps] as const];
  });
  const [actions, steps] = [points.map(([action]) => action), points.map(([, step]) => step)];
  if (points.length < 3 || new Set(actions).size < 2 || new Set(steps).size < 2) return null;
  return sampleRankCorrelation(actions, steps);
}

function durationsOf(tasks: readonly AnalysedTask[]): DurationFigures[] {
  const tools = [...new Set(tasks.map(({ tool }) => tool))].sort();
  return tools.flatMap((tool) => {
    const times = tasks.filter((task) => task.tool === tool).map(({ ms }) => ms);
    const [mean, p50, p95] = [meanOf(times), quantile(times, 0.5), quantile(times, 0.95)];
    return mean === null || p50 === null || p95 === null ? [] : [{ tool, tasks: times.length, mean, p50, p95 }];
  });
}
