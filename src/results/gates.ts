// The gates of a run: thresholds and comparisons with a baseline that it must not miss.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { failUnder, type Gate, type GateValidation, noWorseThan, RunEvidence } from "../analysis/gate.js";
import {
  type ComparableRun,
  comparableRun,
  compareRuns,
  incomparable,
  type RunHead,
  type RunIdentity,
  sharedScores,
  unknownMetric,
} from "../analysis/paired-comparison.js";
import { evalOfScore, isEvalScore, isValidatedScore, type ValidatedScore, validationOf } from "../evals/definition.js";
import { agreementFor, measuredErrors, PassTally } from "../evals/pass-rates.js";
import { activeEval } from "../evals/store.js";
import { describedEvalOfRun, describeStored } from "../evals/use-evals.js";
import { agentOfRun, otherAgents } from "../evals/validated-agents.js";
import type { AppContext } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { EXIT, reasonOf, UserError } from "../platform/errors.js";
import { statOf } from "../platform/file-stats.js";
import { writeFileAtomically } from "../platform/files.js";
import { compact } from "../platform/optional-values.js";
import { gateText, VALIDATION_TEXTS } from "../reports/run-text.js";
import type { OutcomeScore } from "../reports/task-outcome.js";
import { isFunctionScore } from "../scoring/function-scorers.js";
import { SCORES, scaleOfScore } from "../scoring/scorers.js";
import { type Estimate, NO_ESTIMATE } from "../statistics/estimate.js";
import { withStore } from "../store/open-store.js";
import type { FailedTasks } from "../tasks/ending.js";
import { refuseInputs } from "../trace-formats/output-files.js";
import {
  ACCURACY,
  headlineFirst,
  JUDGED,
  METRIC_ALIASES,
  type ScoredTasks,
  scorerOfMetric,
} from "../traces/headline-score.js";
import { judgeSettingsSchema } from "../traces/judgment.js";
import { scaleText } from "../traces/score.js";
import type { TaskResult } from "../traces/task-result.js";
import { refuseItself } from "./compare-stored-runs.js";
import { type RunSource, RunSources, unfinished } from "./results-file.js";

/** Thresholds and the comparison of a gate, as the flags of `run` and `gate` state them. */
export interface GateOptions {
  readonly failUnder?: readonly { readonly metric: string; readonly limit: number }[] | undefined;
  readonly minCoverage?: number | undefined;
  readonly requireValidated: boolean;
  /** Run or results file. */
  readonly baseline?: string | undefined;
  readonly noWorseThan?: number | undefined;
  readonly metric?: string | undefined;
  readonly failedTasks?: FailedTasks | undefined;
  /** Path of the JUnit file to write. */
  readonly junit?: string | undefined;
  readonly junitTasks: boolean;
}

/** 73 questions that are all tied exclude this loss. A margin of 0.02 would take 189, more than most gates run. */
const DEFAULT_MARGIN = 0.05;

interface Baseline {
  readonly run: ComparableRun;
  readonly evidence: RunEvidence;
}

/** Opens the gates of a run. Reads the baseline before anything is spent. */
export async function openGates(options: GateOptions, context: AppContext): Promise<Gates> {
  checkGateOptions(options);
  for (const { metric } of options.failUnder ?? []) {
    const scorer = uncorrected(metric);
    // Which eval belongs to a judge is known when the run has one.
    if (scorer !== metric && isEvalScore(scorer)) {
      await withStore(context.settings, (db) => agreementFor(db, scorer, null));
    }
  }
  return new Gates(
    options,
    context,
    options.baseline === undefined ? null : await readBaseline(options.baseline, context),
  );
}

class Gates {
  private readonly metric: string;
  private readonly minCoverage: number;
  private readonly failedTasks: FailedTasks;

  constructor(
    private readonly options: GateOptions,
    private readonly context: AppContext,
    private readonly baseline: Baseline | null,
  ) {
    this.metric = options.metric ?? ACCURACY;
    this.minCoverage = options.minCoverage ?? MIN_COVERAGE;
    this.failedTasks = options.failedTasks ?? "wrong";
  }

  get isRequested(): boolean {
    return this.baseline !== null || this.options.failUnder !== undefined || this.options.junit !== undefined;
  }

  checkComparable(run: RunIdentity): void {
    const differ = this.baseline === null ? [] : incomparable(this.baseline.run.head, run);
    if (differ.length === 0) return;
    throw new UserError(
      "runs_incomparable",
      `--baseline ${this.options.baseline}: cannot compare it with this run. They differ in ${differ.join("; ")}.`,
      "Run the baseline again on the same questions and the same mail.",
    );
  }

  async check({ head, results }: RunSource): Promise<Gate[]> {
    this.checkComparable(head);
    const evidence = RunEvidence.of(head, results());
    const rules = { evidence, failedTasks: this.failedTasks, least: this.minCoverage };
    const gates: Gate[] = [];
    for (const { metric, limit } of this.options.failUnder ?? []) {
      const scorer = scorerOfMetric(uncorrected(metric), expectedScores(head));
      const corrected = uncorrected(metric) === metric ? [] : [await this.correctedFigure(scorer, head, results())];
      const trust = isValidatedScore(scorer) ? await this.trustIn(scorer, head.settings, { head, results }) : {};
      gates.push({ ...failUnder({ metric, scorer, limit }, head, rules, ...corrected), ...trust });
    }
    if (this.baseline !== null) {
      gates.push(this.compareWithBaseline(this.baseline, comparableRun(head, results()), evidence));
    }
    // Decides which answers are wrong in the step summary, and in the JUnit report with --junit-tasks.
    const scorer = scorerOfMetric(this.metric, expectedScores(head));
    const score: OutcomeScore = { scorer, ...(SCORES[scorer] ?? { better: head.scores[scorer]?.better ?? "higher" }) };
    const { junit: path, junitTasks } = this.options;
    if (path !== undefined) {
      const { junit } = await import("../reports/junit-report.js");
      await writeFileAtomically(path, junit(head, score, gates, results, junitTasks));
    }
    const summary = this.context.settings.env.GITHUB_STEP_SUMMARY;
    if (summary) {
      const { stepSummary } = await import("../reports/markdown-report.js");
      appendSummary(summary, stepSummary(head, gates, score, results()), this.context);
    }
    return gates;
  }

  /**
   * Throws with `--require-validated` if an active version or the run's judge was not validated. Called before anything
   * is spent.
   */
  async requireValidatedInUse(settings: RunHead["settings"]): Promise<void> {
    if (!this.options.requireValidated) return;
    for (const { metric } of this.options.failUnder ?? []) {
      const scorer = scorerOfMetric(uncorrected(metric), expectedScores({ scores: {}, settings }));
      if (isEvalScore(scorer)) await this.trustIn(scorer, null, null);
      if (scorer === JUDGED) await this.trustIn(scorer, settings, null);
    }
  }

  /**
   * Returns the newest test's result for the version that scored the run, or for the active version if `settings` is
   * null, and whether the test covers the run's agent.
   */
  private async trustIn(
    score: ValidatedScore,
    settings: RunHead["settings"] | null,
    run: Pick<RunSource, "head" | "results"> | null,
  ): Promise<Pick<Gate, "validation" | "otherAgents">> {
    const appSettings = this.context.settings;
    if (statOf(appSettings.db) === undefined) return { validation: this.accepted(score, "unknown"), otherAgents: null };
    return withStore(appSettings, (db) => {
      const active = settings === null && isEvalScore(score) ? activeEval(db, evalOfScore(score)) : null;
      const ofRun = settings === null ? null : { settings: scored.parse(settings) };
      const described = active === null ? describedEvalOfRun(db, score, ofRun) : describeStored(db, active);
      if (described?.stored.definition.kind === "cases") return { validation: null, otherAgents: null };
      const validation = this.accepted(score, described === null ? "unknown" : validationOf(described.test));
      const errors = measuredErrors(db, described);
      if (run === null || errors === null || !described?.test) return { validation, otherAgents: null };
      const { labelsOfRun } = PassTally.of(score, run.results()).figures(errors.agreement, errors.labels);
      const others = otherAgents(described.test.report, [agentOfRun(run.head)], run.head.runId);
      return { validation, otherAgents: labelsOfRun > 0 ? null : others };
    });
  }

  /** A judge does not need an eval, so only the result of an existing test is worth a word. */
  private accepted(score: ValidatedScore, validation: GateValidation): GateValidation | null {
    if (validation === "passed") return validation;
    if (!this.options.requireValidated) return score === JUDGED && validation === "unknown" ? null : validation;
    throw new UserError(
      "eval_unvalidated",
      `Cannot gate on ${score}: ${VALIDATION_TEXTS[validation]}.`,
      `Test it (${commandLine`art-e evals test ${isEvalScore(score) ? evalOfScore(score) : "judge"}`}), or remove --require-validated.`,
    );
  }

  /** Returns the pass rate of an eval, corrected for the errors that its newest test found. */
  private correctedFigure(score: string, { settings }: RunHead, results: Iterable<TaskResult>): Promise<Estimate> {
    if (!isValidatedScore(score)) throw new Error(`${score} cannot be corrected`);
    return withStore(this.context.settings, (db) => {
      const { agreement, labels } = agreementFor(db, score, { settings: scored.parse(settings) });
      return PassTally.of(score, results).figures(agreement, labels).corrected ?? NO_ESTIMATE;
    });
  }

  private compareWithBaseline(baseline: Baseline, run: ComparableRun, evidence: RunEvidence): Gate {
    refuseItself(baseline.run, run);
    const [before, after] = [expectedScores(baseline.run.head), expectedScores(run.head)];
    const scorer = scorerOfMetric(this.metric, before, after);
    const shared = headlineFirst(sharedScores(baseline.run.head, run.head, this.failedTasks));
    const { metrics, clusters } = compareRuns(baseline.run, run, [scorer, ...shared], 0, this.failedTasks);
    const [comparison] = metrics;
    if (comparison === undefined) throw new Error("the comparison does not have the requested metric");
    const limit = this.options.noWorseThan ?? DEFAULT_MARGIN;
    return noWorseThan(
      { metric: this.metric, limit },
      { runId: baseline.run.head.runId, coverage: baseline.evidence.coverage(scorer, this.minCoverage) },
      { comparison, clusters },
      { evidence, failedTasks: this.failedTasks, least: this.minCoverage },
      metrics
        .filter(({ metric, constant }) => shared.includes(metric) && constant === null)
        .map(({ metric }) => metric),
    );
  }
}

/** A judge without any verdict is still the headline score, so that a gate on `accuracy` cannot pass by another one. */
function expectedScores({ scores, settings }: { scores: ScoredTasks; settings: RunHead["settings"] }): ScoredTasks {
  return settings.judge == null ? scores : { ...scores, [JUDGED]: { n: Math.max(1, scores[JUDGED]?.n ?? 0) } };
}

const CORRECTED = /^(eval:[^:]+|judgeCorrect):corrected$/;

/**
 * Returns the score that a metric corrects: `eval:NAME` for `eval:NAME:corrected`. Returns any other metric unchanged.
 */
function uncorrected(metric: string): string {
  return CORRECTED.exec(metric)?.[1] ?? metric;
}

const scored = z.looseObject({
  scorers: z.array(z.string()).catch([]),
  judge: judgeSettingsSchema.nullable().catch(null),
});

export function throwIfMissed(runId: string, gates: readonly Gate[]): void {
  const missed = gates.filter(({ passed }) => !passed);
  if (missed.length === 0) return;
  throw new UserError(
    "gate_missed",
    `Run ${runId} missed ${missed.length} of ${gates.length} gates: ${missed.map((gate) => gateText(gate).replace(/^missed {2}/, "")).join("; ")}.`,
    `${commandLine`art-e stats --run ${runId}`} shows its scores, ${commandLine`art-e runs show ${runId}`} lists its failed and worst tasks.`,
    EXIT.gate,
  );
}

async function readBaseline(name: string, { settings }: AppContext): Promise<Baseline> {
  const sources = new RunSources(settings.db, "newest");
  try {
    const { head, results } = await sources.open(name);
    const why = unfinished(head);
    if (why !== null) {
      throw new UserError(
        "run_unfinished",
        `--baseline ${name}: ${why}`,
        `Finish it (${commandLine`art-e run --resume ${head.runId}`}), or pass another baseline.`,
      );
    }
    return { run: comparableRun(head, results()), evidence: RunEvidence.of(head, results()) };
  } finally {
    sources.close();
  }
}

/** Appends to the CI runner's summary file. The run does not fail if the file cannot be written. */
function appendSummary(path: string, markdown: string, { note, settings }: AppContext): void {
  try {
    refuseInputs({ flag: "GITHUB_STEP_SUMMARY", path }, [], settings.db);
    // The last line of an earlier step might not be ended, and a heading must start a line.
    const isAtLineStart = !existsSync(path) || /(^|\n)$/.test(readFileSync(path, "utf8").slice(-1));
    appendFileSync(path, isAtLineStart ? markdown : `\n\n${markdown}`);
  } catch (error) {
    note(`art-e: cannot write the step summary: ${reasonOf(error)}`);
  }
}

/** Refuses contradictions and unknown metrics before anything is spent. The judge's scores are not known yet. */
function checkGateOptions({
  failUnder = [],
  minCoverage,
  requireValidated,
  baseline,
  noWorseThan,
  metric,
  failedTasks,
  junit,
  junitTasks,
}: GateOptions): void {
  const hasMetricGate = failUnder.length > 0 || baseline !== undefined;
  const without =
    baseline === undefined && noWorseThan !== undefined
      ? "--no-worse-than goes with --baseline"
      : baseline === undefined && junit === undefined && metric !== undefined
        ? "--metric goes with --baseline or --junit"
        : junit === undefined && junitTasks
          ? "--junit-tasks goes with --junit"
          : minCoverage !== undefined && !hasMetricGate
            ? "--min-coverage goes with --fail-under or --baseline"
            : failedTasks !== undefined && !hasMetricGate
              ? "--failed-tasks goes with --fail-under or --baseline"
              : requireValidated && !failUnder.some((threshold) => canBeValidated(threshold.metric))
                ? "--require-validated goes with --fail-under on an eval or a judge's score"
                : null;
  if (without !== null) throw new UserError("flags_contradict", `${without}.`, "Give both, or leave it out.");
  const known = [...Object.keys(METRIC_ALIASES), ...Object.keys(SCORES)];
  const metrics = compact([...failUnder.map((threshold) => threshold.metric), metric]);
  const unknown = metrics.find(
    (name) => !known.includes(name) && !name.startsWith("judge") && !isEvalScore(name) && !isFunctionScore(name),
  );
  if (unknown !== undefined) throw unknownMetric(unknown, known);
  refuseImpossible(failUnder);
  if (noWorseThan !== undefined) refuseIdleMargin(noWorseThan, metric ?? ACCURACY);
}

function canBeValidated(metric: string): boolean {
  const scorer = uncorrected(metric);
  return scorer === ACCURACY || scorer === JUDGED || isEvalScore(scorer);
}

/** Refuses limits that no run can miss or that no run can reach, because they are typos. */
function refuseImpossible(thresholds: NonNullable<GateOptions["failUnder"]>): void {
  for (const { metric, limit } of thresholds) {
    const scale = scaleOfMetric(metric);
    if (limit >= scale.min && limit <= scale.max) continue;
    throw new UserError(
      "threshold_impossible",
      `--fail-under ${metric}=${limit}: ${metric} is ${scaleText(scale)}.`,
      scale.max === 1 && limit > 1 && limit <= 100 ? `Write ${limit / 100} for ${limit} %.` : "Give a limit within it.",
    );
  }
}

function refuseIdleMargin(margin: number, metric: string): void {
  const scale = scaleOfMetric(metric);
  if (margin < scale.max - scale.min) return;
  throw new UserError(
    "threshold_impossible",
    `--no-worse-than ${margin}: ${metric} is ${scaleText(scale)}, so nothing could ever be worse by more.`,
    "Pass a smaller margin, such as 0.05.",
  );
}

/** Returns the scale of a metric, which is 0 to 1 for `accuracy`. */
function scaleOfMetric(metric: string): ReturnType<typeof scaleOfScore> {
  return scaleOfScore(scorerOfMetric(metric));
}

/**
 * Default minimum fraction of a run's tasks that a score must cover. It also suits scores that apply to few tasks,
 * because only failed tasks, unsupported ones and failures of the scorer reduce the coverage.
 */
const MIN_COVERAGE = 0.9;
