import type { GuidanceComparison } from "../../domain/runs/suite-analysis.js";
import { type InstructionStyle, instructionStyleOf } from "../../domain/tasks/instruction-style.js";
import { pairTasks } from "../../domain/tasks/pair-tasks.js";
import { meanOf } from "../../statistics/mean.js";
import { comparePairs, type MetricDescription } from "../compare-pairs.js";
import type { AnalysedTask } from "./analysed-task.js";

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

interface Pair {
  readonly abstract: GuidedTask;
  readonly verbose: GuidedTask;
}

/** Pairs each task with its counterpart, so that tasks are compared with themselves and not with others. */
export function compareInstructionStyles(results: readonly AnalysedTask[]): GuidanceComparison {
  const tasks = groupRepeats(results);
  const counterparts = pairTasks([...tasks.values()]);
  const pairs: Pair[] = [];
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
