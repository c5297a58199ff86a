import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { coverageOf, failUnder, type Gate, type GateValidation, noWorseThan } from "../analysis/gate.js";
import {
  type ComparableRun,
  comparableRun,
  compareRuns,
  incomparable,
  type RunHead,
} from "../analysis/paired-comparison.js";
import { evalOfScore, isEvalScore, isValidatedScore, type ValidatedScore, validationOf } from "../evals/definition.js";
import { agreementFor, measuredErrors, PassTally } from "../evals/pass-rates.js";
import { activeEval } from "../evals/store.js";
import { describedEvalOfRun, describeStored } from "../evals/use-evals.js";
import { agentOfRun, otherAgents } from "../evals/validated-agents.js";
import type { AppContext } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { EXIT, UserError } from "../platform/errors.js";
import { statOf } from "../platform/file-stats.js";
import { writeFileAtomically } from "../platform/files.js";
import { compact } from "../platform/optional-values.js";
import { gateText, VALIDATION_TEXTS } from "../reports/run-text.js";
import type { OutcomeScore } from "../reports/task-outcome.js";
import { isFunctionScore } from "../scoring/function-scorers.js";
import { SCORES, scaleOfScore } from "../scoring/scorers.js";
import { type Estimate, NO_ESTIMATE } from "../statistics/estimate.js";
import { openStore, withStore } from "../store/open-store.js";
import { refuseInputs } from "../trace-formats/output-files.js";
import { JUDGED, METRIC_ALIASES, scorerOfMetric } from "../traces/headline-score.js";
import { scaleText } from "../traces/score.js";
import type { TaskResult } from "../traces/task-result.js";
import { judgeSettingsSchema } from "../traces/trace.js";
import { type RunSource, RunSources, unfinished } from "./results-file.js";
import type { GateOptions } from "./run-flags.js";

const DEFAULT_MARGIN = 0.02;

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

  constructor(
    private readonly options: GateOptions,
    private readonly context: AppContext,
    private readonly baseline: ComparableRun | null,
  ) {
    this.metric = options.metric ?? "accuracy";
  }

  get isRequested(): boolean {
    return this.baseline !== null || this.options.failUnder !== undefined || this.options.junit !== undefined;
  }

  checkComparable(run: Pick<RunHead, "dataset" | "split" | "corpusFingerprint" | "settings">): void {
    const differ = this.baseline === null ? [] : incomparable(this.baseline.head, run);
    if (differ.length === 0) return;
    throw new UserError(
      "runs_incomparable",
      `--baseline ${this.options.baseline}: cannot compare it with this run. They differ in ${differ.join("; ")}.`,
      "Run the baseline again on the same questions and the same mail.",
    );
  }

  async check({ head, results }: RunSource): Promise<Gate[]> {
    this.checkComparable(head);
    const minCoverage = this.options.minCoverage ?? MIN_COVERAGE;
    const gates = (this.options.failUnder ?? []).map(({ metric, limit }) => {
      const scorer = uncorrected(metric);
      if (!isValidatedScore(scorer) || (scorer === JUDGED && scorer === metric)) {
        return failUnder({ metric, limit }, head);
      }
      const trust = this.trustIn(scorer, { head, results });
      const coverage = coverageOf(scorer, results(), minCoverage);
      if (scorer === metric) return { ...failUnder({ metric, limit }, head, coverage), ...trust };
      const figure = correctedFigure(scorer, head, results(), this.context);
      return { ...failUnder({ metric: scorer, limit }, head, coverage, figure), metric, ...trust };
    });
    if (this.baseline !== null) gates.push(this.compareWithBaseline(this.baseline, comparableRun(head, results())));
    // The gates' scores decide which answers count as wrong in the JUnit report and the step summary.
    const requestedMetric = this.options.metric ?? (gates.length === 0 ? "accuracy" : null);
    const named = requestedMetric === null ? [] : [scorerOfMetric(requestedMetric, head.scores)];
    const [scorer = "exactMatch", ...others] = new Set([...named, ...gates.map((gate) => gate.scorer)]);
    const outcomeScore = (name: string): OutcomeScore => ({
      scorer: name,
      ...(SCORES[name] ?? { better: head.scores[name]?.better ?? "higher" }),
    });
    const { junit: path } = this.options;
    const scores = [scorer, ...others].map(outcomeScore);
    if (path !== undefined) {
      const { junit } = await import("../reports/junit-report.js");
      await writeFileAtomically(path, junit(head, scores, gates, results));
    }
    const summary = this.context.settings.env.GITHUB_STEP_SUMMARY;
    if (summary) {
      const { stepSummary } = await import("../reports/markdown-report.js");
      appendSummary(summary, stepSummary(head, gates, outcomeScore(scorer), results()), this.context);
    }
    return gates;
  }

  /** Throws with `--require-validated` if a version in use was not validated. Called before anything is spent. */
  requireValidatedInUse(): void {
    for (const { metric } of this.options.failUnder ?? []) {
      const scorer = uncorrected(metric);
      if (isEvalScore(scorer)) this.trustIn(scorer, null);
    }
  }

  /**
   * Returns the newest test's result for the version that scored the run, or the version in use if `run` is null, and
   * whether the test covers the run's agent.
   */
  private trustIn(
    score: ValidatedScore,
    run: Pick<RunSource, "head" | "results"> | null,
  ): Pick<Gate, "validation" | "otherAgents"> {
    const { db: path } = this.context.settings;
    if (statOf(path) === undefined) return { validation: this.accepted(score, "unknown"), otherAgents: null };
    const db = openStore(path, { mustExist: true });
    try {
      const active = run === null && isEvalScore(score) ? activeEval(db, evalOfScore(score)) : null;
      const settings = run === null ? null : { settings: scored.parse(run.head.settings) };
      const described = active === null ? describedEvalOfRun(db, score, settings) : describeStored(db, active);
      if (described?.stored.definition.kind === "cases") return { validation: null, otherAgents: null };
      const validation = this.accepted(score, described === null ? "unknown" : validationOf(described.test));
      const errors = measuredErrors(db, described);
      if (run === null || errors === null || !described?.test) return { validation, otherAgents: null };
      const { labelsOfRun } = PassTally.of(score, run.results()).figures(errors.agreement, errors.labels);
      const others = otherAgents(described.test.report, [agentOfRun(run.head)], run.head.runId);
      return { validation, otherAgents: labelsOfRun > 0 ? null : others };
    } finally {
      db.close();
    }
  }

  private accepted(score: ValidatedScore, validation: GateValidation): GateValidation {
    if (this.options.requireValidated !== true || validation === "passed") return validation;
    throw new UserError(
      "eval_unvalidated",
      `Cannot gate on ${score}: ${VALIDATION_TEXTS[validation]}.`,
      `Test it (${commandLine`art-e evals test ${isEvalScore(score) ? evalOfScore(score) : "judge"}`}), or remove --require-validated.`,
    );
  }

  private compareWithBaseline(baseline: ComparableRun, run: ComparableRun): Gate {
    const scorer = scorerOfMetric(this.metric, baseline.head.scores, run.head.scores);
    const [comparison] = compareRuns(baseline, run, [scorer], 0).metrics;
    if (comparison === undefined) throw new Error("the comparison does not have the requested metric");
    const limit = this.options.noWorseThan ?? DEFAULT_MARGIN;
    return noWorseThan({ metric: this.metric, limit }, baseline.head.runId, comparison);
  }
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

/** Returns the pass rate of an eval, corrected for the errors that its newest test found. */
function correctedFigure(
  score: ValidatedScore,
  { settings }: Pick<RunHead, "settings">,
  results: Iterable<TaskResult>,
  context: AppContext,
): Estimate {
  const db = openStore(context.settings.db, { mustExist: true });
  try {
    const { agreement, labels } = agreementFor(db, score, { settings: scored.parse(settings) });
    return PassTally.of(score, results).figures(agreement, labels).corrected ?? NO_ESTIMATE;
  } finally {
    db.close();
  }
}

export function throwIfMissed(runId: string, gates: readonly Gate[]): void {
  const missed = gates.filter(({ passed }) => !passed);
  if (missed.length === 0) return;
  throw new UserError(
    "gate_missed",
    `Run ${runId} missed ${missed.length} of ${gates.length} gates: ${missed.map((gate) => gateText(gate).replace(/^missed {2}/, "")).join("; ")}.`,
    `${commandLine`art-e stats --run ${runId}`} shows its scores, ${commandLine`art-e compare`} shows which questions it lost.`,
    EXIT.gate,
  );
}

async function readBaseline(name: string, { settings }: AppContext): Promise<ComparableRun> {
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
    return comparableRun(head, results());
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
    note(`art-e: cannot write the step summary: ${(error as Error).message}`);
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
  junit,
}: GateOptions): void {
  const without =
    baseline === undefined && noWorseThan !== undefined
      ? "--no-worse-than goes with --baseline"
      : baseline === undefined && junit === undefined && metric !== undefined
        ? "--metric goes with --baseline or --junit"
        : minCoverage !== undefined && !failUnder.some((threshold) => isEvalScore(threshold.metric))
          ? "--min-coverage goes with --fail-under eval:NAME=LIMIT"
          : requireValidated === true && !failUnder.some((threshold) => isEvalScore(threshold.metric))
            ? "--require-validated goes with --fail-under eval:NAME=LIMIT"
            : null;
  if (without !== null) throw new UserError("flags_contradict", `${without}.`, "Give both, or leave it out.");
  const known = [...Object.keys(METRIC_ALIASES), ...Object.keys(SCORES)];
  const metrics = compact([...failUnder.map((threshold) => threshold.metric), metric]);
  const unknown = metrics.find(
    (name) => !known.includes(name) && !name.startsWith("judge") && !isEvalScore(name) && !isFunctionScore(name),
  );
  if (unknown !== undefined) {
    throw new UserError("metric_unknown", `Unknown metric "${unknown}".`, `Available: ${known.join(", ")}.`);
  }
  refuseImpossible(failUnder);
  if (noWorseThan !== undefined) refuseIdleMargin(noWorseThan, metric ?? "accuracy");
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
    "Pass a smaller margin, such as 0.02.",
  );
}

/** Returns the scale of a metric, which is 0 to 1 for either meaning of `accuracy`. */
function scaleOfMetric(metric: string): ReturnType<typeof scaleOfScore> {
  return scaleOfScore(scorerOfMetric(metric));
}

/**
 * Default minimum fraction of a run's tasks that an eval must cover. It also suits evals that apply to few tasks,
 * because only failed tasks and failures of the eval reduce the coverage.
 */
const MIN_COVERAGE = 0.9;
