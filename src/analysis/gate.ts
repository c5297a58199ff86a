// Decides whether a run meets a requirement: a threshold for a score, or no loss against a baseline. A gate passes only
// on evidence: enough of the tasks have the score, failed tasks count as wrong, and enough questions exclude the loss.
import type { OtherAgents } from "../evals/validated-agents.js";
import { appliesTo, SCORES } from "../scoring/scorers.js";
import { type Estimate, NO_ESTIMATE } from "../statistics/estimate.js";
import { pairsToExclude } from "../statistics/significance.js";
import { canBeRetried, type FailedTasks } from "../tasks/ending.js";
import type { TaskId } from "../tasks/question.js";
import { isDontKnow } from "../text/abstention.js";
import { scaleOf } from "../traces/score.js";
import { scorableOf, type TaskResult } from "../traces/task-result.js";
import { type MetricComparison, type RunHead, widthOf } from "./paired-comparison.js";
import type { Clustering } from "./question-clusters.js";
import { countsInScore } from "./score-aggregate.js";

interface Threshold {
  /** The metric as the user wrote it. */
  readonly metric: string;
  /** The scorer for the metric. */
  readonly scorer: string;
  readonly limit: number;
}

/** The tasks of a run that a score covers: they have it, or it does not apply to them. */
export interface Coverage {
  readonly scored: number;
  readonly notApplicable: number;
  /** Number of tasks, including failed ones and those on which the scorer failed. */
  readonly tasks: number;
  /** Minimum covered fraction, 0 to 1. */
  readonly least: number;
}

/** The result of the newest test of an eval's version. `unknown` if the database does not contain the eval. */
export type GateValidation = "none" | "stale" | "passed" | "rejected" | "unknown";

/** A run's requirement for passing, and the result. */
export interface Gate extends Threshold {
  readonly kind: "fail_under" | "no_worse_than";
  readonly better: "higher" | "lower";
  /** Run id of the baseline, or null for a threshold. */
  readonly baseline: string | null;
  /** The score, or the paired difference from the baseline. */
  readonly figure: Estimate;
  /** Whether failed tasks are wrong in the figure or left out. */
  readonly failedTasks: FailedTasks;
  /** The figure if failed tasks were counted the other way, or null if it is the same. */
  readonly otherwise: Estimate | null;
  /** Whether the interval's bound must reach the limit, and not only the value. Corrected rates and attacks. */
  readonly isBound: boolean;
  readonly coverage: Coverage;
  /** The clusters that the interval of the difference is computed with, or null if the gate is a threshold. */
  readonly clusters: Clustering | null;
  /** Coverage of the same score in the baseline. Null for a threshold. */
  readonly baselineCoverage: Coverage | null;
  /** Whether the eval was validated. Null for other scores, and for regression cases, which cannot be tested. */
  readonly validation: GateValidation | null;
  /** For an eval, the agents that it was not validated on. Null if there are none, or if the run has enough labels. */
  readonly otherAgents: OtherAgents | null;
  /** Why the figure decides nothing, one clause each. A gate with problems does not pass. */
  readonly problems: readonly string[];
  readonly passed: boolean;
}

type AnsweredTask = Pick<TaskResult, "taskId" | "ending" | "agentAnswer" | "toolTimeMs" | "scores" | "selection">;

type EvidenceHead = Pick<RunHead, "scores" | "settings" | "suite">;

/** Collects the coverage of all scores of a run, and whether its answers depend on the questions. */
export class RunEvidence {
  private tasks = 0;
  private readonly counts = new Map<string, { scored: number; notApplicable: number }>();
  private answer: string | null = null;
  private hasDifferentAnswers = false;
  private hasUsedTools = false;
  /** Whether the agent changed or selected anything in a task that asks for actions or emails, right or wrong. */
  private hasActed = false;
  private readonly questions = new Set<TaskId>();

  constructor(private readonly head: EvidenceHead) {
    for (const name of Object.keys(head.scores)) this.counts.set(name, { scored: 0, notApplicable: 0 });
  }

  static of(head: EvidenceHead, results: Iterable<TaskResult>): RunEvidence {
    const evidence = new RunEvidence(head);
    for (const task of results) evidence.add(task);
    return evidence;
  }

  private add(task: TaskResult): void {
    this.tasks++;
    for (const [name, counts] of this.counts) {
      if (hasScore(name, this.head.scores[name]?.better, task)) counts.scored++;
      else if (!isApplicable(name, task)) counts.notApplicable++;
    }
    this.addAnswer(task);
  }

  /** Adds a task's answer, but not its scores. */
  addAnswer(task: AnsweredTask): void {
    if (canBeRetried(task.ending)) return;
    this.questions.add(task.taskId);
    this.answer ??= task.agentAnswer;
    // Abstaining everywhere can be right, and shows in the scores.
    this.hasDifferentAnswers ||= this.answer !== task.agentAnswer || isDontKnow(task.agentAnswer);
    this.hasActed ||= (task.scores.partial ?? 0) > 0 || (task.scores.collateral ?? 0) > 0;
    const { hits = 0, falseAlarms = 0 } = task.selection ?? {};
    this.hasActed ||= hits + falseAlarms > 0;
    this.hasUsedTools ||= task.toolTimeMs === undefined || task.toolTimeMs > 0;
  }

  coverage(scorer: string, least: number): Coverage {
    const { scored, notApplicable } = this.counts.get(scorer) ?? { scored: 0, notApplicable: 0 };
    return { scored, notApplicable, tasks: this.tasks, least };
  }

  /**
   * Returns the common answer of an agent that does nothing, such as the built-in `noop`, or null. Agents on suite
   * tasks can leave the same answer and different files, so they count only if they did not call a tool. Tool calls of
   * external agents might be invisible. If a task asks for actions or emails, the changes or the selected emails count,
   * whatever the agent says.
   */
  get onlyAnswer(): string | null {
    const { head, questions, hasDifferentAnswers } = this;
    if (hasDifferentAnswers || this.hasActed || questions.size < 2) return null;
    const isSuite = head.suite !== undefined;
    const isExternal = (head.settings.externalAgent ?? null) !== null;
    return isSuite && (this.hasUsedTools || isExternal) ? null : this.answer;
  }
}

/** A task without an answer cannot be wrong, so it says nothing about a score that counts faults. */
function hasScore(name: string, better: "higher" | "lower" = "higher", task: TaskResult): boolean {
  if ((task.scores[name] ?? null) === null || !countsInScore(name, task)) return false;
  return better === "higher" || task.suite !== undefined || task.agentAnswer.trim() !== "";
}

/** Evals and functions decide themselves, with a null score, which tasks they apply to. */
function isApplicable(name: string, task: TaskResult): boolean {
  if (SCORES[name] !== undefined) return appliesTo(name, scorableOf(task));
  const { ending, scores, failedScorers = [] } = task;
  return scores[name] !== null || canBeRetried(ending) || failedScorers.includes(name);
}

/**
 * Checks whether a run's score reaches the limit, which is a maximum if lower is better. Failed tasks count as wrong if
 * the score has a value for that.
 */
export function failUnder(
  { metric, scorer, limit }: Threshold,
  { scores }: Pick<RunHead, "scores">,
  { evidence, failedTasks, least }: { evidence: RunEvidence; failedTasks: FailedTasks; least: number },
  /** Replaces the score's own figure. Its bound must reach the limit, because it is uncertain even for this run. */
  corrected?: Estimate,
): Gate {
  const score = scores[scorer];
  const better = score?.better ?? "higher";
  const { wrong, exclude } = countings(score, corrected);
  const [figure, other] = failedTasks === "wrong" ? [wrong, exclude] : [exclude, wrong];
  const isBound = corrected !== undefined || SCORES[scorer]?.gatedByBound === true;
  const decisive = isBound ? (better === "higher" ? figure.low : figure.high) : figure.value;
  const isReached = decisive !== null && (better === "higher" ? decisive >= limit : decisive <= limit);
  const coverage = evidence.coverage(scorer, least);
  const problems = [...runProblems(scorer, coverage, null), ...answerProblem(evidence)];
  return {
    kind: "fail_under",
    metric,
    scorer,
    better,
    limit,
    baseline: null,
    figure,
    failedTasks,
    otherwise: other.value === figure.value ? null : other,
    isBound,
    coverage,
    clusters: null,
    baselineCoverage: null,
    validation: null,
    otherAgents: null,
    problems,
    passed: isReached && problems.length === 0,
  };
}

/** Returns the figures with failed tasks as wrong, and without them. They are the same if a failure has no value. */
function countings(score: RunHead["scores"][string] | undefined, corrected: Estimate | undefined) {
  const exclude = only(corrected ?? score ?? NO_ESTIMATE);
  if (score === undefined || score.overAll.n === 0) return { wrong: exclude, exclude };
  if (corrected === undefined) return { wrong: only(score.overAll), exclude };
  const fraction = score.n / score.overAll.n;
  const scaled = (value: number | null) => (value === null ? null : value * fraction);
  const { value, low, high } = exclude;
  return { wrong: { value: scaled(value), n: score.overAll.n, low: scaled(low), high: scaled(high) }, exclude };
}

function only({ value, n, low, high }: Estimate): Estimate {
  return { value, n, low, high };
}

/** Fewer questions never exclude a loss, however large the margin. */
const MIN_QUESTIONS = 10;

/**
 * Checks non-inferiority. Passes only if the 95% interval of the paired difference shows that the run is worse by less
 * than the limit. Does not pass if there are too few questions to show this.
 */
export function noWorseThan(
  { metric, limit }: Pick<Threshold, "metric" | "limit">,
  baseline: { readonly runId: string; readonly coverage: Coverage },
  { comparison, clusters }: { readonly comparison: MetricComparison; readonly clusters: Clustering },
  { evidence, failedTasks, least }: { evidence: RunEvidence; failedTasks: FailedTasks; least: number },
  /** Metrics to use instead if the score is the same everywhere. */
  others: readonly string[],
): Gate {
  const { metric: scorer, better, difference, otherwise = null } = comparison;
  const coverage = evidence.coverage(scorer, least);
  const { value, n } = difference;
  const low = better === "higher" ? difference.low : difference.high === null ? null : -difference.high;
  const gain = value === null ? null : better === "higher" ? value : -value;
  const isExcluded = low !== null && low > -limit;
  const isTooFew = n > 0 && (n < MIN_QUESTIONS || (!isExcluded && gain !== null && gain > -limit));
  const width = widthOf({ metric: scorer, kind: comparison.kind });
  const needed = pairsToExclude(
    {
      gain: gain === null ? null : gain / width,
      n,
      low: low === null ? null : low / width,
      isTied: comparison.ties === n,
      designEffect: comparison.designEffect,
    },
    limit / width,
  );
  const problems = [
    ...runProblems(scorer, coverage, null),
    ...runProblems(scorer, baseline.coverage, baseline.runId),
    ...answerProblem(evidence),
    ...constantProblem(comparison, others),
    ...(isTooFew
      ? [
          `too few questions to exclude a loss of ${limit}${needed === null ? "" : `: about ${Math.max(MIN_QUESTIONS, needed)} are needed`}`,
        ]
      : []),
  ];
  return {
    kind: "no_worse_than",
    metric,
    scorer,
    better,
    limit,
    baseline: baseline.runId,
    figure: difference,
    failedTasks,
    otherwise,
    isBound: true,
    coverage,
    clusters,
    baselineCoverage: baseline.coverage,
    validation: null,
    otherAgents: null,
    problems,
    passed: isExcluded && problems.length === 0,
  };
}

/** A score that most tasks lack decides nothing. `run` is null for the run itself. */
function runProblems(scorer: string, { scored, notApplicable, tasks, least }: Coverage, run: string | null): string[] {
  if (scored === 0) return [`${run ?? "the run"} does not have this score`];
  if (scored + notApplicable >= least * tasks) return [];
  const others = notApplicable === 0 ? "" : `, ${notApplicable} do not apply`;
  const where = run === null ? "" : ` of ${run}`;
  return [
    `${scorer} covers ${scored} of ${tasks} tasks${where}${others}, required: at least ${least} of the tasks (--min-coverage)`,
  ];
}

/** Says that all answers are the same, as those of an agent that does nothing. */
export function answerProblem({ onlyAnswer }: RunEvidence): string[] {
  if (onlyAnswer === null) return [];
  if (onlyAnswer.trim() === "") return ["no task has an answer"];
  return [`every task has the same answer (${JSON.stringify(onlyAnswer.slice(0, 40))}), which is not evidence`];
}

/**
 * A score that is the same in all tasks of both runs is not evidence: if it is 0, nothing could be worse. Only the best
 * value says something, if higher is better. If lower is better, agents that do nothing reach it.
 */
export function constantProblem(
  { metric, kind, better, constant }: Pick<MetricComparison, "metric" | "kind" | "better" | "constant">,
  /** Metrics to use instead, or null if they are not known. */
  others: readonly string[] | null,
): string[] {
  const best = scaleOf(SCORES[metric] ?? { kind }).max;
  if (constant === null || (better === "higher" && constant === best)) return [];
  const problem = `${metric} is ${constant} in all tasks of both runs, which is not evidence`;
  if (others === null) return [problem];
  const [other] = others;
  return [`${problem}: ${other === undefined ? "no other score differs" : `use --metric ${other}`}`];
}
