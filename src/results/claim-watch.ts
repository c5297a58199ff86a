// `run --until`: stops a run when a claim about its gain over a baseline is settled. Questions are tested in the order
// of the run, not of their answers, because otherwise quick answers would count first and the test would be biased.
import { resolve } from "node:path";
import { answerProblem, constantProblem, RunEvidence } from "../analysis/gate.js";
import { type ComparableRun, comparableRun, incomparable, type RunIdentity } from "../analysis/paired-comparison.js";
import { type Clusters, clustersOf } from "../analysis/question-clusters.js";
import { isGraded } from "../analysis/score-aggregate.js";
import {
  type Claim,
  ClaimTest,
  type ExpectedStop,
  expectedStops,
  type UntilOutcome,
} from "../analysis/sequential-comparison.js";
import type { AppContext } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { didYouMean } from "../platform/near-names.js";
import { presentProperties } from "../platform/optional-values.js";
import { shuffled } from "../questions/dataset.js";
import { scaleOfScore } from "../scoring/scorers.js";
import { confidenceSequence } from "../statistics/confidence-sequence.js";
import { meanOf } from "../statistics/intervals.js";
import { pairedDifference } from "../statistics/significance.js";
import type { Db } from "../store/open-store.js";
import type { TaskEpoch } from "../tasks/epoch-key.js";
import type { TaskId } from "../tasks/question.js";
import { ACCURACY, isScored, JUDGED, type ScoredTasks, scorerOfMetric } from "../traces/headline-score.js";
import { plannedOrder } from "../traces/results-store.js";
import type { ExecutedRunSettings, UntilSettings } from "../traces/run-settings.js";
import { scaleText } from "../traces/score.js";
import type { TaskResult } from "../traces/task-result.js";
import { claimText, type TypedClaim } from "./claim-text.js";
import { RunSources } from "./results-file.js";

/** A question with the number of its epochs without a result, and its values so far. */
interface OpenQuestion {
  readonly taskId: TaskId;
  missing: number;
  values: number;
  sum: number;
}

type WatchedTask = Pick<TaskResult, "taskId" | "scores" | "ending" | "suite" | "agentAnswer" | "toolTimeMs">;

/** Returns the settings for a typed claim. Throws a UserError if the claim cannot be tested. */
export async function untilSettings(
  { run, metric = ACCURACY, ...margins }: TypedClaim,
  { scorers, ...settings }: Pick<ExecutedRunSettings, "scorers">,
  seed: number,
  context: AppContext,
): Promise<UntilSettings> {
  const baseline = await readBaseline(run, context);
  const baselineScores = baseline.run.head.scores;
  const own: ScoredTasks = Object.fromEntries(
    scorers.filter((name) => name !== JUDGED || hasJudge(settings)).map((name) => [name, { n: 1 }]),
  );
  const scorer = scorerOfMetric(metric, baselineScores, own);
  refuseUnscored(metric, scorer, baselineScores, `run ${run}`);
  refuseUnscored(metric, scorer, own, "this run");
  refuseScale({ metric, scorer, margin: Math.max(margins.by, margins.notBy ?? 0) });
  return { ...margins, baseline: baseline.name, metric: scorer, seed };
}

function hasJudge(settings: object): boolean {
  return "judge" in settings && settings.judge !== null;
}

function refuseUnscored(metric: string, scorer: string, scores: ScoredTasks, whose: string): void {
  if (isScored(scorer, scores)) return;
  const available = Object.keys(scores).filter((name) => isScored(name, scores));
  throw new UserError(
    "metric_unknown",
    `--until: unknown score "${metric}" of ${whose}.`,
    `${didYouMean(metric, available)}Available: ${available.join(", ")}.`,
  );
}

function refuseScale({ metric, scorer, margin }: { metric: string; scorer: string; margin: number }): void {
  const scale = scaleOfScore(scorer);
  const width = scale.max - scale.min;
  if (!Number.isFinite(width)) {
    throw new UserError(
      "metric_unbounded",
      `--until: cannot test ${metric}: it is ${scaleText(scale)}, and the test requires a scale with two ends.`,
      "Name a score from 0 to 1, such as accuracy.",
    );
  }
  if (margin < width) return;
  throw new UserError(
    "threshold_impossible",
    `--until: a difference of ${margin} is impossible: ${metric} is ${scaleText(scale)}.`,
    "Pass a smaller margin, such as 0.03.",
  );
}

/** `name` finds the baseline again, also from another folder. */
async function readBaseline(
  name: string,
  { settings }: AppContext,
): Promise<{ readonly name: string; readonly run: ComparableRun }> {
  const sources = new RunSources(settings.db);
  try {
    const source = sources.find(name);
    const { head, results } = await sources.open(name);
    const stored = source.kind === "file" ? resolve(source.path) : head.runId;
    return { name: stored, run: comparableRun(head, results()) };
  } finally {
    sources.close();
  }
}

/** Opens the claim of a run and reads its baseline. Throws a UserError if the runs are incomparable. */
export async function openUntil(settings: UntilSettings, identity: RunIdentity, context: AppContext): Promise<Until> {
  const { run } = await readBaseline(settings.baseline, context);
  const differ = incomparable(run.head, identity);
  if (differ.length === 0) return new Until(settings, run, identity.settings);
  throw new UserError(
    "runs_incomparable",
    `--until: cannot compare ${settings.baseline} with this run. They differ in ${differ.join("; ")}.`,
    "Run the baseline again on the same questions and the same mail.",
  );
}

/** A claim with the results of its baseline. */
export class Until {
  private readonly sign: 1 | -1;
  private readonly min: number;
  readonly width: number;

  constructor(
    private readonly settings: UntilSettings,
    private readonly baseline: ComparableRun,
    /** Settings of the run that makes the claim. */
    private readonly runSettings: RunIdentity["settings"],
  ) {
    const { min, max } = scaleOfScore(settings.metric);
    this.min = min;
    this.width = max - min;
    this.sign = baseline.head.scores[settings.metric]?.better === "lower" ? -1 : 1;
  }

  /** Starts the test of a created run. */
  watch(db: Db, runId: string): UntilWatch {
    return new UntilWatch(this, plannedOrder(db, runId));
  }

  /** The claim in fractions of the score's scale. */
  get claim(): Claim {
    const { relation } = this.settings;
    const by = this.settings.by / this.width;
    const notBy = this.settings.notBy === null ? null : this.settings.notBy / this.width;
    if (relation === "better") return { relation, by, notBy: notBy ?? by };
    return relation === "no_worse" ? { relation, by } : { relation, notBy };
  }

  get text(): string {
    return claimText(this.settings);
  }

  get metric(): string {
    return this.settings.metric;
  }

  /** Returns candidate minus baseline on a question, or null if the baseline does not have a value for it. */
  differenceOn(taskId: TaskId, value: number): number | null {
    const before = this.before(taskId);
    return before === undefined ? null : value - before;
  }

  /** Whether the baseline has a value for the question. Other questions cannot count. */
  isInBaseline(taskId: TaskId): boolean {
    return this.before(taskId) !== undefined;
  }

  /** Collects whether the answers of the run depend on the questions. */
  openEvidence(): RunEvidence {
    const { suite } = this.baseline.head;
    return new RunEvidence({ scores: {}, settings: this.runSettings, ...presentProperties({ suite }) });
  }

  /** Says that a score with the same value in all tasks of both runs is not evidence. */
  constantProblem(constant: number | null): string[] {
    const { metric } = this.settings;
    const { kind = "mean", better = "higher" } = this.baseline.head.scores[metric] ?? {};
    return constantProblem({ metric, kind, better, constant }, null);
  }

  /** Returns the clusters of the questions that can count. */
  clustersOf(taskIds: readonly TaskId[]): Clusters {
    const { questions } = this.baseline;
    return clustersOf(
      new Map(
        taskIds.flatMap((taskId) => {
          const question = questions.get(taskId);
          return question === undefined || !this.isInBaseline(taskId) ? [] : [[taskId, question]];
        }),
      ),
    );
  }

  /** Failed tasks of the baseline are wrong. */
  private before(taskId: TaskId): number | undefined {
    return this.baseline.questions.get(taskId)?.withFailed[this.metric];
  }

  /** Value of a failed task, or null if the score does not have one. */
  get failedValue(): number | null {
    return (this.baseline.head.scores[this.metric]?.overAll.n ?? 0) > 0 ? 0 : null;
  }

  /** Converts a difference to a gain in [-1, 1]. */
  gainOf(difference: number): number {
    return (this.sign * difference) / this.width;
  }

  /** Estimates the number of questions that the claim takes at several true gains, among them its own margins. */
  expectedStops(questions: number): ExpectedStop[] {
    const taskIds = [...this.baseline.questions.keys()].filter((taskId) => this.isInBaseline(taskId));
    const values = taskIds.flatMap((taskId) => this.before(taskId) ?? []);
    const asked = shuffled(taskIds, this.settings.seed).slice(0, questions);
    const clusters = this.clustersOf(asked);
    const level = ((meanOf(values) ?? this.min) - this.min) / this.width;
    const { by, notBy } = this.settings;
    const gains = new Set([...TYPICAL_GAINS, by / this.width, (notBy ?? 0) / this.width]);
    const accuracy = this.sign === 1 ? level : 1 - level;
    return expectedStops(
      this.claim,
      { accuracy, clusters: asked.map((taskId) => clusters.of(taskId)) },
      [...gains].sort((a, b) => a - b),
    );
  }
}

/** `--dry-run` estimates the number of questions for these true gains. */
const TYPICAL_GAINS = [0, 0.02, 0.05, 0.1] as const;

/**
 * Tests the claim of a run as results arrive in any order. A question counts when its own epochs and all earlier
 * questions have results.
 */
export class UntilWatch {
  private readonly test: ClaimTest;
  private readonly questions: OpenQuestion[] = [];
  private readonly byId = new Map<TaskId, OpenQuestion>();
  private readonly differences: number[] = [];
  private readonly differenceClusters: string[] = [];
  private next = 0;
  private readonly evidence: RunEvidence;
  /** The value of all tested questions in both runs, or null if they differ. */
  private constant: number | null = null;
  /** Number of planned questions that can count. */
  readonly countable: number;
  readonly clusters: Clusters;

  constructor(
    private readonly until: Until,
    order: readonly TaskEpoch[],
  ) {
    this.test = new ClaimTest(until.claim);
    this.evidence = until.openEvidence();
    for (const { taskId } of order) {
      const question = this.byId.get(taskId) ?? { taskId, missing: 0, values: 0, sum: 0 };
      if (question.missing++ === 0) this.questions.push(question);
      this.byId.set(taskId, question);
    }
    this.countable = this.questions.filter(({ taskId }) => until.isInBaseline(taskId)).length;
    this.clusters = until.clustersOf(this.questions.map(({ taskId }) => taskId));
    this.testNext();
  }

  /** Whether a question can count. The run does not answer the others. */
  canCount(taskId: TaskId): boolean {
    return this.until.isInBaseline(taskId);
  }

  get plannedQuestions(): number {
    return this.questions.length;
  }

  /** Adds the result of a task. Each task must be added only once. */
  add(task: WatchedTask): void {
    const { taskId, scores } = task;
    const question = this.byId.get(taskId);
    if (question === undefined) return;
    this.evidence.addAnswer(task);
    const value = scores[this.until.metric] ?? (isGraded(task) ? null : this.until.failedValue);
    question.missing--;
    if (value !== null) {
      question.values++;
      question.sum += value;
    }
    this.testNext();
  }

  /** Whether further questions cannot change the verdict: it is decided, or no planned question that counts is left. */
  get isSettled(): boolean {
    return this.decided !== null || this.next === this.questions.length;
  }

  /** Equal results are not evidence if nothing could be worse, and neither are the results of an idle agent. */
  private get problem(): string | null {
    return [...answerProblem(this.evidence), ...this.until.constantProblem(this.constant)][0] ?? null;
  }

  private get decided(): ClaimTest["decided"] {
    const { decided } = this.test;
    return decided?.verdict === "established" && this.problem !== null ? null : decided;
  }

  outcome(): UntilOutcome {
    const { metric, text, width } = this.until;
    const { differences, differenceClusters } = this;
    const scaled = differences.map((each) => each / width);
    const { low, high, value, n, method } = confidenceSequence(scaled, this.test.designEffect);
    const { by, n: clusters, mailboxes } = this.clusters;
    const inUnit = (fraction: number | null) => (fraction === null ? null : fraction * width);
    return {
      claim: text,
      metric,
      verdict: this.decided?.verdict ?? null,
      problem: this.problem,
      settledAfter: this.decided?.after ?? null,
      questions: n,
      plannedQuestions: this.countable,
      clusters: { by, n: clusters, mailboxes },
      isComplete: this.next === this.questions.length,
      alwaysValid: { value: inUnit(value), n, low: inUnit(low), high: inUnit(high), method },
      fixedN: pairedDifference(differences, width, differenceClusters),
    };
  }

  private testNext(): void {
    for (;;) {
      const question = this.questions[this.next];
      if (question === undefined || (question.missing > 0 && this.canCount(question.taskId))) return;
      this.next++;
      // The question has no score, such as a missing verdict.
      if (question.values === 0) continue;
      const value = question.sum / question.values;
      const difference = this.until.differenceOn(question.taskId, value);
      if (difference === null) continue;
      const isSame = difference === 0 && (this.differences.length === 0 || value === this.constant);
      this.constant = isSame ? value : null;
      const cluster = this.clusters.of(question.taskId);
      this.differences.push(difference);
      this.differenceClusters.push(cluster);
      this.test.add(this.until.gainOf(difference), cluster);
    }
  }
}
