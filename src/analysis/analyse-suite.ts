import { sampleRankCorrelation } from "simple-statistics";
import { meanOf, quantile } from "../statistics/intervals.js";
import {
  DIFFICULTIES,
  type Difficulty,
  difficultyOf,
  type InstructionStyle,
  instructionStyleOf,
} from "../tasks/difficulty.js";
import { pairTasks, TASK_STATES, type TaskState } from "../tasks/suite-task.js";
import { BANDS, type Band, bandOf } from "../traces/score.js";
import { modelAndToolTimeOf, type TaskResult } from "../traces/task-result.js";
import { comparePairs, type MetricComparison, type MetricDescription } from "./paired-comparison.js";

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

const SCORE: MetricDescription = { metric: "taskScore", label: "Task score", kind: "mean", better: "higher" };
const SOLVED: MetricDescription = { metric: "taskSolved", label: "Solved", kind: "rate", better: "higher" };

/** A task with its repeats together. */
interface GuidedTask {
  readonly id: string;
  readonly counterpart: string | null;
  readonly guidance: InstructionStyle | null;
  /** Of the graded repeats. */
  readonly scores: number[];
}

interface TaskPair {
  readonly abstract: GuidedTask;
  readonly verbose: GuidedTask;
}

/** Pairs each task with its counterpart, so that tasks are compared with themselves and not with others. */
function compareInstructionStyles(results: readonly AnalysedTask[]): GuidanceComparison {
  const tasks = groupRepeats(results);
  const counterparts = pairTasks([...tasks.values()]);
  const pairs: TaskPair[] = [];
  let sameGuidance = 0;
  for (const task of tasks.values()) {
    const other = tasks.get(counterparts.get(task.id) ?? "");
    // Each pair once.
    if (other === undefined || task.id > other.id) continue;
    if (task.guidance === null || other.guidance === null || task.guidance === other.guidance) sameGuidance++;
    else
      pairs.push(
        task.guidance === "abstract" ? { abstract: task, verbose: other } : { abstract: other, verbose: task },
      );
  }
  const graded = pairs.filter(({ abstract, verbose }) => abstract.scores.length > 0 && verbose.scores.length > 0);
  const values = (read: (task: GuidedTask) => number) =>
    graded.map(({ abstract, verbose }) => ({ before: read(abstract), after: read(verbose) }));
  return {
    pairs: graded.length,
    ungradedPairs: pairs.length - graded.length,
    sameGuidance,
    unpaired: countUnpaired(
      [...tasks.values()].filter(({ id }) => !counterparts.has(id)),
      tasks,
    ),
    metrics: [
      comparePairs(
        SCORE,
        values(({ scores }) => meanOf(scores) ?? 0),
      ),
      comparePairs(
        SOLVED,
        values(({ scores }) => scores.filter((score) => score === 1).length / scores.length),
      ),
    ],
  };
}

function groupRepeats(results: readonly AnalysedTask[]): Map<string, GuidedTask> {
  const tasks = new Map<string, GuidedTask>();
  for (const { taskId, counterpart, tags, score } of results) {
    const task = tasks.get(taskId) ?? { id: taskId, counterpart, guidance: instructionStyleOf(tags), scores: [] };
    tasks.set(taskId, task);
    if (score !== null) task.scores.push(score);
  }
  return tasks;
}

function countUnpaired(
  unpaired: readonly GuidedTask[],
  tasks: ReadonlyMap<string, GuidedTask>,
): GuidanceComparison["unpaired"] {
  const counts = { notInRun: 0, own: 0, none: 0, notMutual: 0 };
  for (const { id, counterpart } of unpaired) {
    if (counterpart === null) counts.none++;
    else if (counterpart === id) counts.own++;
    else if (tasks.has(counterpart)) counts.notMutual++;
    else counts.notInRun++;
  }
  return counts;
}

export interface AnalysedTask {
  readonly taskId: string;
  readonly tool: string;
  readonly tags: readonly string[];
  readonly counterpart: string | null;
  readonly actionNumber: number | null;
  readonly state: TaskState;
  /** Null: not graded. */
  readonly score: number | null;
  readonly turns: number;
  /** Null: not known, as results files do not have them. */
  readonly toolCalls: number | null;
  /** Model and tool time. */
  readonly ms: number;
}

/** Null for a question about a mailbox. */
export function analysedTask(result: TaskResult, toolCalls: number | null): AnalysedTask | null {
  if (result.suite === undefined) return null;
  const { tool, tags, counterpart, actionNumber, state, score } = result.suite;
  const ms = modelAndToolTimeOf(result) ?? result.executionTimeMs;
  const { turns } = result;
  return { taskId: String(result.taskId), tool, tags, counterpart, actionNumber, state, score, turns, toolCalls, ms };
}

interface StateCell {
  readonly state: TaskState;
  readonly band: Band | "unscored";
  readonly tasks: number;
}

/** What tasks of one difficulty took, as means over those that the agent worked on. */
interface StepFigures {
  readonly difficulty: Difficulty;
  readonly tasks: number;
  /** Steps that a person takes; null where the tasks do not say. */
  readonly actions: number | null;
  readonly turns: number;
  /** Null: not known, of results files. */
  readonly toolCalls: number | null;
}

interface DurationFigures {
  /** The folder of the suite that the tasks are in. */
  readonly tool: string;
  readonly tasks: number;
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
}

/** Tasks with an abstract instruction against their counterparts with a verbose one. */
export interface GuidanceComparison {
  /** Pairs that are compared: both are graded. */
  readonly pairs: number;
  /** Pairs of which one or both are not graded. */
  readonly ungradedPairs: number;
  /** Pairs that are not one abstract and one verbose. */
  readonly sameGuidance: number;
  /** Tasks without a pair, by why. */
  readonly unpaired: {
    /** Their counterpart is not in the run. */
    readonly notInRun: number;
    /** They name themselves. */
    readonly own: number;
    /** They name none. */
    readonly none: number;
    /** They name a task that is another's counterpart. */
    readonly notMutual: number;
  };
  /** Before: abstract; after: verbose. */
  readonly metrics: readonly MetricComparison[];
}

export interface SuiteAnalysis {
  readonly profile: readonly StateCell[];
  readonly steps: readonly StepFigures[];
  /** Spearman's rank correlation with the steps that a person takes; null where there is none to tell. */
  readonly stepCorrelation: { readonly turns: number | null; readonly toolCalls: number | null };
  readonly durations: readonly DurationFigures[];
  readonly guidance: GuidanceComparison;
}
