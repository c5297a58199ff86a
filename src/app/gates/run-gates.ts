import { appendFileSync } from "node:fs";
import { EXIT, UserError } from "../../domain/errors.js";
import type { ComparableRun, RunHead } from "../../domain/scores/comparison.js";
import type { Gate } from "../../domain/scores/gate.js";
import { scorerOfMetric } from "../../domain/scores/metric-name.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { junit } from "../../reports/files/junit.js";
import { stepSummary } from "../../reports/files/step-summary.js";
import { gateText } from "../../reports/text/gate-text.js";
import { comparableRun } from "../../run-analysis/comparable-run.js";
import { compareRuns, incomparable } from "../../run-analysis/compare-runs.js";
import { failUnder, noWorseThan } from "../../run-analysis/gates.js";
import { refuseInputs } from "../output-files/check-outputs.js";
import { type RunSource, RunSources, unfinished } from "../results/open-results.js";
import type { AppContext } from "../use-case-context.js";
import { checkGateOptions, type GateOptions } from "./gate-options.js";

const DEFAULT_MARGIN = 0.02;

/** The gates of a run. Reads the baseline, before anything is spent. */
export async function openGates(options: GateOptions, context: AppContext): Promise<Gates> {
  checkGateOptions(options);
  return new Gates(
    options,
    context,
    options.baseline === undefined ? null : await readBaseline(options.baseline, context),
  );
}

export class Gates {
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

  /** Refuses a run that cannot be compared with the baseline. */
  checkComparable(run: Pick<RunHead, "dataset" | "split" | "corpusFingerprint" | "settings">): void {
    const differ = this.baseline === null ? [] : incomparable(this.baseline.head, run);
    if (differ.length === 0) return;
    throw new UserError(
      "runs_incomparable",
      `--baseline ${this.options.baseline} cannot be compared with this run. They differ in ${differ.join("; ")}.`,
      "Make the baseline anew over the same questions and the same mail.",
    );
  }

  /** Checks a finished run, and writes the JUnit file and the step summary. */
  async check({ head, results }: RunSource): Promise<Gate[]> {
    this.checkComparable(head);
    const gates = (this.options.failUnder ?? []).map((threshold) => failUnder(threshold, head.scores));
    if (this.baseline !== null) gates.push(this.compareWithBaseline(this.baseline, comparableRun(head, results())));
    const scorer = scorerOfMetric(this.metric, head.scores);
    if (this.options.junit !== undefined) await writeFileAtomically(this.options.junit, junit(head, scorer, results));
    const summary = this.context.settings.env.GITHUB_STEP_SUMMARY;
    if (summary) appendSummary(summary, stepSummary(head, gates, scorer, results()), this.context);
    return gates;
  }

  private compareWithBaseline(baseline: ComparableRun, run: ComparableRun): Gate {
    const scorer = scorerOfMetric(this.metric, baseline.head.scores, run.head.scores);
    const [comparison] = compareRuns(baseline, run, [scorer], 0).metrics;
    if (comparison === undefined) throw new Error("a comparison has the metric that was asked for");
    const limit = this.options.noWorseThan ?? DEFAULT_MARGIN;
    return noWorseThan({ metric: this.metric, limit }, baseline.head.runId, comparison);
  }
}

/** Throws with the exit code of gates, naming those that were missed. */
export function throwIfMissed(runId: string, gates: readonly Gate[]): void {
  const missed = gates.filter(({ passed }) => !passed);
  if (missed.length === 0) return;
  throw new UserError(
    "gate_missed",
    `Run ${runId} missed ${missed.length} of ${gates.length} gates: ${missed.map((gate) => gateText(gate).replace(/^missed {2}/, "")).join("; ")}.`,
    `art-e stats --run ${runId} shows its scores, art-e compare shows which questions it lost.`,
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
        `Finish it (art-e run --resume ${head.runId}), or name another baseline.`,
      );
    }
    return comparableRun(head, results());
  } finally {
    sources.close();
  }
}

/** The file is the CI runner's: where it cannot be written, the run does not fail. */
function appendSummary(path: string, markdown: string, { note, settings }: AppContext): void {
  try {
    refuseInputs({ flag: "GITHUB_STEP_SUMMARY", path }, [], settings.db);
    appendFileSync(path, markdown);
  } catch (error) {
    note(`art-e: the step summary could not be written: ${(error as Error).message}`);
  }
}
