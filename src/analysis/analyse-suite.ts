// Analyses a run over a suite: failures, steps, durations, and abstract versus verbose instructions.
import { sampleRankCorrelation } from "simple-statistics";
import { meanOf } from "../statistics/intervals.js";
import { quantile } from "../statistics/quantile.js";
import { pairTasks, TASK_STATES, type TaskState } from "../tasks/suite-task.js";
import {
  DIFFICULTIES,
  type Difficulty,
  difficultyOf,
  type InstructionStyle,
  instructionStyleOf,
} from "../tasks/task-groups.js";
import { BANDS, type Band, bandOf } from "../traces/score-bands.js";
import { modelAndToolTimeOf, type TaskResult } from "../traces/task-result.js";
import { comparePairs, type MetricComparison, type MetricDescription } from "./paired-comparison.js";

/** A task with all of its epochs. */
interface GuidedTask {
  readonly id: string;
  readonly counterpart: string | null;
  readonly guidance: InstructionStyle | null;
  /** Scores of the graded epochs. */
  readonly scores: number[];
}

interface TaskPair {
  readonly abstract: GuidedTask;
  readonly verbose: GuidedTask;
}

type SuiteFacts = NonNullable<TaskResult["suite"]>;

export interface AnalysedTask
  extends Pick<SuiteFacts, "tool" | "tags" | "counterpart" | "actionNumber" | "state" | "score">,
    Pick<TaskResult, "turns"> {
  readonly taskId: string;
  /** Null if unknown, and for runs from results files, which do not contain tool calls. */
  readonly toolCalls: number | null;
  /** Model and tool time in milliseconds. */
  readonly ms: number;
}

interface StateCell {
  readonly state: TaskState;
  readonly band: Band | "unscored";
  readonly tasks: number;
}

/** Mean effort for the tasks of one difficulty, over the tasks that the agent worked on. */
interface StepFigures {
  readonly difficulty: Difficulty;
  readonly tasks: number;
  /** Number of steps a person takes, or null if the tasks do not specify it. */
  readonly actions: number | null;
  readonly turns: number | null;
  /** Null for runs from results files, which do not contain tool calls. */
  readonly toolCalls: number | null;
}

interface DurationFigures {
  /** The suite folder that contains the tasks. */
  readonly tool: string;
  readonly tasks: number;
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
}

/** Compares abstract instructions with the verbose instructions of the same tasks. */
export interface GuidanceComparison {
  /** Compared pairs. Both tasks are graded. */
  readonly pairs: number;
  /** Pairs with at least one ungraded task. */
  readonly ungradedPairs: number;
  /** Pairs without one abstract and one verbose task. */
  readonly sameGuidance: number;
  /** Number of tasks without a pair, per reason. */
  readonly unpaired: {
    /** The counterpart is not in the run. */
    readonly notInRun: number;
    /** The task names itself as its counterpart. */
    readonly own: number;
    /** The task does not name a counterpart. */
    readonly none: number;
    /** The named counterpart belongs to another pair. */
    readonly notMutual: number;
  };
  /** `before` is abstract, `after` is verbose. */
  readonly metrics: readonly MetricComparison[];
}

export interface SuiteAnalysis {
  readonly profile: readonly StateCell[];
  readonly steps: readonly StepFigures[];
  /** Spearman's rank correlation with the steps that a person takes, or null if it cannot be computed. */
  readonly stepCorrelation: { readonly turns: number | null; readonly toolCalls: number | null };
  readonly durations: readonly DurationFigures[];
  readonly guidance: GuidanceComparison;
}

/** Analyses failures, steps, durations and instruction styles over all tasks of a suite run. */
export function analyseSuite(tasks: readonly AnalysedTask[]): SuiteAnalysis {
  // Tasks without a started machine or a model reply carry no information about steps and time.
  const worked = tasks.filter(({ turns }) => turns !== 0);
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
    if (some.length === 0) return [];
    const [turns, toolCalls] = [mean((task) => task.turns), mean((task) => task.toolCalls)];
    const actions = mean(({ actionNumber }) => actionNumber);
    return [{ difficulty, tasks: some.length, actions, turns, toolCalls }];
  });
}

/** Returns Spearman's rank correlation, or null for fewer than three tasks or if one side does not vary. */
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

/** Pairs each task with its counterpart, so that each task is compared only with its own variant. */
function compareInstructionStyles(results: readonly AnalysedTask[]): GuidanceComparison {
  const tasks = groupRepeats(results);
  const counterparts = pairTasks([...tasks.values()]);
  const pairs: TaskPair[] = [];
  let sameGuidance = 0;
  for (const task of tasks.values()) {
    const other = tasks.get(counterparts.get(task.id) ?? "");
    // Visits each pair once.
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

/** Returns null for a question about a mailbox. */
export function analysedTask(result: TaskResult, toolCalls: number | null): AnalysedTask | null {
  if (result.suite === undefined) return null;
  const { tool, tags, counterpart, actionNumber, state, score } = result.suite;
  const ms = modelAndToolTimeOf(result);
  const { turns } = result;
  return { taskId: String(result.taskId), tool, tags, counterpart, actionNumber, state, score, turns, toolCalls, ms };
}
