import { appendFileSync } from "node:fs";
import { refuseInputs } from "../../commands/cli/check-outputs.js";
import type { CommandContext } from "../../commands/cli/command.js";
import { checkGateFlags, type GateFlags } from "../../commands/flags/gate-flags.js";
import { EXIT, UserError } from "../../domain/errors.js";
import type { ComparableRun, RunHead } from "../../domain/scores/comparison.js";
import type { Gate } from "../../domain/scores/gate.js";
import { scorerOfMetric } from "../../domain/scores/metric-name.js";
import { comparableRun } from "../../evaluation/comparable-run.js";
import { compareRuns, incomparable } from "../../evaluation/compare-runs.js";
import { failUnder, noWorseThan } from "../../evaluation/gates.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { junit } from "../../reports/ci/junit.js";
import { stepSummary } from "../../reports/ci/step-summary.js";
import { gateText } from "../../reports/text/gate-text.js";
import { type RunSource, RunSources, unfinished } from "../results/open-results.js";

const DEFAULT_MARGIN = 0.02;

/** The gates that a run is to pass. What they need is read first: before anything is spent. */
export async function openGates(flags: GateFlags, door: CommandContext): Promise<Gates> {
  checkGateFlags(flags);
  return new Gates(flags, door, flags.baseline === undefined ? null : await readBaseline(flags.baseline, door));
}

export class Gates {
  private readonly metric: string;

  constructor(
    private readonly flags: GateFlags,
    private readonly door: CommandContext,
    private readonly baseline: ComparableRun | null,
  ) {
    this.metric = flags.metric ?? "accuracy";
  }

  get isAsked(): boolean {
    return this.baseline !== null || this.flags.failUnder !== undefined || this.flags.junit !== undefined;
  }

  /** Refuses a run that the baseline says nothing about. */
  checkComparable(run: Pick<RunHead, "dataset" | "split" | "corpusFingerprint" | "settings">): void {
    const differ = this.baseline === null ? [] : incomparable(this.baseline.head, run);
    if (differ.length === 0) return;
    throw new UserError(
      "runs_incomparable",
      `--baseline ${this.flags.baseline} cannot be compared with this run. They differ in ${differ.join("; ")}.`,
      "Make the baseline anew over the same questions and the same mail.",
    );
  }

  /** Judges a finished run, and writes what CI reads about it. */
  async check({ head, results }: RunSource): Promise<Gate[]> {
    this.checkComparable(head);
    const gates = (this.flags.failUnder ?? []).map((threshold) => failUnder(threshold, head.scores));
    if (this.baseline !== null) gates.push(this.againstBaseline(this.baseline, comparableRun(head, results())));
    const scorer = scorerOfMetric(this.metric, head.scores);
    if (this.flags.junit !== undefined) await writeFileAtomically(this.flags.junit, junit(head, scorer, results));
    const summary = this.door.settings.env.GITHUB_STEP_SUMMARY;
    if (summary) appendSummary(summary, stepSummary(head, gates, scorer, results()), this.door);
    return gates;
  }

  private againstBaseline(baseline: ComparableRun, run: ComparableRun): Gate {
    const scorer = scorerOfMetric(this.metric, baseline.head.scores, run.head.scores);
    const [comparison] = compareRuns(baseline, run, [scorer], 0).metrics;
    if (comparison === undefined) throw new Error("a comparison has the metric that was asked for");
    const limit = this.flags.noWorseThan ?? DEFAULT_MARGIN;
    return noWorseThan({ metric: this.metric, limit }, baseline.head.runId, comparison);
  }
}

/** Ends with the gate's exit code where one was missed, and says which. */
export function refuseMissed(runId: string, gates: readonly Gate[]): void {
  const missed = gates.filter(({ passed }) => !passed);
  if (missed.length === 0) return;
  throw new UserError(
    "gate_missed",
    `Run ${runId} missed ${missed.length} of ${gates.length} gates: ${missed.map((gate) => gateText(gate).replace(/^missed {2}/, "")).join("; ")}.`,
    `art-e stats --run ${runId} shows its scores, art-e compare shows which questions it lost.`,
    EXIT.gate,
  );
}

async function readBaseline(name: string, { settings }: CommandContext): Promise<ComparableRun> {
  const sources = new RunSources(settings.db);
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

/** A runner's own file: that it cannot be written must not fail the run. */
function appendSummary(path: string, markdown: string, { out, settings }: CommandContext): void {
  try {
    refuseInputs({ flag: "GITHUB_STEP_SUMMARY", path }, [], settings.db);
    appendFileSync(path, markdown);
  } catch (error) {
    out.note(`art-e: the step summary could not be written: ${(error as Error).message}`);
  }
}
