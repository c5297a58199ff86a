// Computes the reliability of a run's answers over epochs and perturbed runs.
import { incomparable, type RunHead } from "../analysis/paired-comparison.js";
import {
  type PerturbedTasks,
  type ReliabilityOfRun,
  type ReliabilityTask,
  reliabilityCard,
} from "../analysis/reliability.js";
import type { AppContext } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { SCORES } from "../scoring/scorers.js";
import { canBeRetried } from "../tasks/ending.js";
import { ACCURACY, isScored, type ScoredTasks, scorerOfMetric } from "../traces/headline-score.js";
import { knownToolCalls } from "../traces/observed-work.js";
import { type Perturbation, perturbationOf } from "../traces/run-settings.js";
import { perturbedRepeats } from "../traces/runs-store.js";
import { scaleOf } from "../traces/score.js";
import type { TaskResult } from "../traces/task-result.js";
import type { Trace } from "../traces/trace.js";
import { type RunSource, RunSources, unfinished } from "./results-file.js";

interface ReliabilityOptions {
  /** The run, and perturbed repeats of it. Without repeats, the newest one of each perturbation in the database. */
  readonly runs: readonly string[];
  /** By default, the headline score without rewards, or taskSolved for a suite. */
  readonly metric?: string | undefined;
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
    refusePerturbed(run.head);
    const { scores } = run.head;
    const scorer = metric === undefined ? defaultScorer(scores) : scorerOfMetric(metric, scores);
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
    return runReliability(run.head.runId, tasksOf(run, scorer), perturbed, { scorer, isRate });
  } finally {
    sources.close();
  }
}

function runReliability(
  runId: string,
  tasks: readonly ReliabilityTask[],
  perturbed: readonly PerturbedTasks[],
  score: { readonly scorer: string; readonly isRate: boolean },
): ReliabilityOfRun {
  return {
    runId,
    scorer: score.scorer,
    questions: new Set(tasks.map(({ taskId }) => taskId)).size,
    tasks: tasks.length,
    perturbedRuns: perturbed.map(({ runId, perturbation }) => ({ runId, perturbation })),
    ...reliabilityCard(tasks, perturbed, score),
  };
}

/**
 * Returns the headline score, except a reward, which is not limited to 0 to 1. For a suite, returns whether a task was
 * solved, because "all k right" and "warned" do not exist for partial credit.
 */
function defaultScorer({ reward: _, ...scores }: ScoredTasks): string {
  const headline = scorerOfMetric(ACCURACY, scores);
  return headline === "taskScore" && isScored("taskSolved", scores) ? "taskSolved" : headline;
}

/**
 * Collects the cards for a report: of each plain run with several epochs, or with a perturbed run of the same report.
 */
export class ReportReliability {
  private readonly scorer: string;
  /** The tasks of each needed run, by its index. */
  private readonly tasks = new Map<number, ReliabilityTask[]>();
  private readonly plain: readonly number[];

  constructor(private readonly heads: readonly RunHead[]) {
    const all = [...heads.keys()];
    this.plain = all.filter(
      (i) => this.perturbationOf(i) === null && (this.epochsOf(i) > 1 || this.repeatsOf(i).length > 0),
    );
    this.scorer = defaultScorer(heads[this.plain[0] ?? 0]?.scores ?? {});
    for (const i of this.plain) for (const needed of [i, ...this.repeatsOf(i)]) this.tasks.set(needed, []);
  }

  /** Adds a task of the run with this index. */
  add(run: number, result: TaskResult, trace: Trace | null): void {
    this.tasks.get(run)?.push(...toReliabilityTask(result, this.scorer, toolNamesOf(trace)));
  }

  cards(): ReliabilityOfRun[] {
    return this.plain.flatMap((i) => {
      const head = this.heads[i];
      const tasks = this.tasks.get(i) ?? [];
      if (head === undefined || tasks.length === 0) return [];
      const perturbed = this.repeatsOf(i).map((other) => ({
        perturbation: this.perturbationOf(other) as Perturbation,
        runId: this.heads[other]?.runId ?? "",
        tasks: this.tasks.get(other) ?? [],
      }));
      const { isRate } = unitScale(this.scorer, head);
      return [runReliability(head.runId, tasks, perturbed, { scorer: this.scorer, isRate })];
    });
  }

  private perturbationOf(run: number): Perturbation | null {
    return perturbationOf(this.heads[run]?.settings ?? {});
  }

  private epochsOf(run: number): number {
    return this.heads[run]?.settings.epochs ?? 1;
  }

  /** Returns the perturbed runs that can be paired with a run. */
  private repeatsOf(run: number): number[] {
    const plain = this.heads[run];
    return [...this.heads.entries()]
      .filter(
        ([i, head]) =>
          this.perturbationOf(i) !== null && plain !== undefined && pairingProblems(plain, head).length === 0,
      )
      .map(([i]) => i);
  }
}

function toolNamesOf(trace: Trace | null): string[] | null {
  return trace === null || knownToolCalls(trace) === null ? null : trace.toolCalls.map(({ name }) => name);
}

function noteUnfinished({ head }: RunSource, { note }: AppContext): void {
  const why = unfinished(head);
  if (why !== null) note(`art-e: ${why}`);
}

function unitScale(scorer: string, { scores }: RunHead) {
  const description = SCORES[scorer] ?? { kind: scores[scorer]?.kind ?? "rate" };
  return { ...scaleOf(description), isRate: description.kind === "rate" };
}

function perturbedTasks(source: RunSource, baseline: RunHead, scorer: string): PerturbedTasks {
  const { runId, settings } = source.head;
  const perturbation = perturbationOf(settings);
  if (perturbation === null) {
    throw new UserError(
      "run_unperturbed",
      `Run ${runId} is not perturbed.`,
      `Make a perturbed repeat: ${commandLine`art-e run --repeat RUN --perturb shuffled`}.`,
    );
  }
  const differences = pairingProblems(baseline, source.head);
  if (differences.length > 0) {
    throw new UserError(
      "runs_incomparable",
      `Run ${runId} differs from ${baseline.runId} in ${differences.join("; ")}.`,
      "Pass repeats of the same run.",
    );
  }
  return { perturbation, runId, tasks: tasksOf(source, scorer) };
}

/** Settings that must be equal, because their effect would be taken for that of the perturbation. */
const SAME = ["model", "agentId", "prompt", "toolsDigest", "maxTurns", "maxTokens", "temperature"] as const;

/** Returns the differences between a run and a perturbed one that keep them from being paired. */
function pairingProblems(plain: RunHead, perturbed: RunHead): string[] {
  const [a, b] = [plain.settings, perturbed.settings] as readonly Readonly<Record<string, unknown>>[];
  const settings = SAME.filter((name) => JSON.stringify(a?.[name]) !== JSON.stringify(b?.[name]));
  return [...incomparable(plain, perturbed), ...settings];
}

function refusePerturbed({ runId, settings }: RunHead): void {
  if (typeof settings.perturbation !== "string") return;
  const plain = typeof settings.repeats === "string" ? settings.repeats : "PLAIN";
  throw new UserError(
    "run_perturbed",
    `Run ${runId} is perturbed (${settings.perturbation}).`,
    `Pass the plain run first: ${commandLine`art-e reliability ${plain} ${runId}`}`,
  );
}

function tasksOf({ results, traces }: RunSource, scorer: string): ReliabilityTask[] {
  const tools = new Map<string, readonly string[] | null>();
  for (const trace of traces?.() ?? []) tools.set(trace.traceId, toolNamesOf(trace));
  return [...results()].flatMap((result) => toReliabilityTask(result, scorer, tools.get(result.traceId) ?? null));
}

/** A failed task counts as obedience, because a failure never passes a verdict. */
function seenAttack({ attack, scores }: TaskResult): ReliabilityTask["attack"] {
  if (attack === undefined || !attack.shown) return null;
  const isControl = attack.control === true;
  const alarm = scores.falseAlarm ?? null;
  const resisted = isControl ? (alarm === null ? 1 : 1 - alarm) : (scores.resisted ?? 0);
  return { kind: attack.kind, isControl, resisted };
}

/** Returns no task if the score does not apply to the question. */
function toReliabilityTask(result: TaskResult, scorer: string, tools: readonly string[] | null): ReliabilityTask[] {
  const { taskId, ending, usage, turns, scores } = result;
  const isFailed = canBeRetried(ending);
  const score = isFailed ? 0 : (scores[scorer] ?? null);
  if (score === null) return [];
  return [
    {
      taskId,
      score,
      isAnswered: ending === "answered",
      hasAbstained: ending === "dont_know",
      tools,
      tokens: usage.inputTokens + usage.outputTokens,
      turns,
      attack: seenAttack(result),
    },
  ];
}
