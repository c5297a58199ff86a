import type { RunHead } from "../analysis/paired-comparison.js";
import { incomparable } from "../analysis/paired-comparison.js";
import {
  type PerturbedTasks,
  type ReliabilityCard,
  type ReliabilityTask,
  reliabilityCard,
} from "../analysis/reliability.js";
import type { AppContext } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { SCORES } from "../scoring/scorers.js";
import { canBeRetried } from "../tasks/ending.js";
import { isScored, scorerOfMetric } from "../traces/metrics.js";
import { PERTURBATIONS, type Perturbation } from "../traces/run-settings.js";
import { perturbedRepeats } from "../traces/runs-store.js";
import type { TaskResult } from "../traces/task-result.js";
import { type RunSource, RunSources, unfinished } from "./results-file.js";

interface ReliabilityOptions {
  /** The run, and perturbed repeats of it. Without repeats, the newest one of each perturbation in the database. */
  readonly runs: readonly string[];
  /** By default, the judge's verdict or, without a judge, whether a cited email contains the answer. */
  readonly metric?: string | undefined;
}

export interface ReliabilityOfRun extends ReliabilityCard {
  readonly runId: string;
  readonly scorer: string;
  readonly questions: number;
  readonly tasks: number;
  readonly perturbedRuns: readonly { readonly runId: string; readonly perturbation: Perturbation }[];
}

/** Computes the reliability card of a run. Throws a UserError if the runs do not belong together. */
export async function reliabilityOfRun(
  { runs: [name = "latest", ...others], metric }: ReliabilityOptions,
  context: AppContext,
): Promise<ReliabilityOfRun> {
  const sources = new RunSources(context.settings.db);
  try {
    const run = await sources.open(name);
    noteUnfinished(run, context);
    const scorer =
      metric === undefined && !isScored("judgeCorrect", run.head.scores)
        ? "sourcesCorrect"
        : scorerOfMetric(metric ?? "judgeCorrect", run.head.scores);
    const { min, max, isRate } = unitScale(scorer, run.head);
    if (min < 0 || max > 1) {
      throw new UserError(
        "metric_unbounded",
        `--metric ${metric} is not limited to 0 to 1.`,
        "Pass accuracy or a rate.",
      );
    }
    const stored = sources.find(name);
    const repeats = others.length > 0 || stored.kind === "file" ? others : perturbedRepeats(stored.db, stored.run.id);
    const perturbed: PerturbedTasks[] = [];
    for (const repeat of repeats) {
      const source = await sources.open(repeat);
      noteUnfinished(source, context);
      perturbed.push(perturbedTasks(source, run.head, scorer));
    }
    const tasks = tasksOf(run, scorer);
    return {
      runId: run.head.runId,
      scorer,
      questions: new Set(tasks.map(({ taskId }) => taskId)).size,
      tasks: tasks.length,
      perturbedRuns: perturbed.map(({ runId, perturbation }) => ({ runId, perturbation })),
      ...reliabilityCard(tasks, perturbed, { scorer, isRate }),
    };
  } finally {
    sources.close();
  }
}

function noteUnfinished({ head }: RunSource, { note }: AppContext): void {
  const why = unfinished(head);
  if (why !== null) note(`art-e: ${why}`);
}

function unitScale(scorer: string, { scores }: RunHead) {
  const kind = SCORES[scorer]?.kind ?? scores[scorer]?.kind ?? "rate";
  const { min = kind === "rate" ? 0 : -Infinity, max = kind === "rate" ? 1 : Infinity } = SCORES[scorer]?.scale ?? {};
  return { min, max, isRate: kind === "rate" };
}

function perturbedTasks(source: RunSource, baseline: RunHead, scorer: string): PerturbedTasks {
  const { runId, settings } = source.head;
  const perturbation = PERTURBATIONS.find((one) => one === settings.perturbation);
  if (perturbation === undefined) {
    throw new UserError(
      "run_unperturbed",
      `Run ${runId} is not perturbed.`,
      "Make a perturbed repeat: art-e run --repeat RUN --perturb shuffled.",
    );
  }
  const differences = incomparable(baseline, source.head);
  if (differences.length > 0) {
    throw new UserError(
      "runs_incomparable",
      `Run ${runId} differs from ${baseline.runId} in ${differences.join("; ")}.`,
      "Pass repeats of the same run.",
    );
  }
  return { perturbation, runId, tasks: tasksOf(source, scorer) };
}

function tasksOf({ results, traces }: RunSource, scorer: string): ReliabilityTask[] {
  const tools = new Map<string, string[]>();
  for (const trace of traces?.() ?? [])
    tools.set(
      trace.traceId,
      trace.toolCalls.map(({ name }) => name),
    );
  return [...results()].flatMap((result) => toReliabilityTask(result, scorer, tools.get(result.traceId) ?? null));
}

/** Returns no task if the score does not apply to the question. */
function toReliabilityTask(result: TaskResult, scorer: string, tools: readonly string[] | null): ReliabilityTask[] {
  const { taskId, ending, usage, scores } = result;
  const isFailed = canBeRetried(ending);
  const score = isFailed ? 0 : (scores[scorer] ?? null);
  if (score === null) return [];
  return [{ taskId, score, isAnswered: ending === "answered", tools, tokens: usage.inputTokens + usage.outputTokens }];
}
