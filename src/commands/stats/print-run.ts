import { UserError } from "../../domain/errors.js";
import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import { QUESTION_SLICES, type SliceName, SUITE_SLICES } from "../../domain/runs/slice.js";
import { runSummary } from "../../reports/text/run-summary.js";
import { sliceTable } from "../../reports/text/slice-table.js";
import { suiteAnalysisText } from "../../reports/text/suite/suite-analysis-text.js";
import { scorersAmong } from "../../run-analysis/choose-metrics.js";
import type { CommandContext } from "../cli/command.js";

interface RunFlags {
  readonly by?: SliceName | undefined;
  readonly metric?: readonly string[] | undefined;
}

/** The totals of a run, or its scores by one slice. */
export async function printRunFigures(
  name: string,
  { by, metric }: RunFlags,
  { settings, out }: CommandContext,
): Promise<void> {
  const { analyseRun } = await import("../../app/results/analyse-run.js");
  const { totals, analysis } = await analyseRun(name, settings);
  if (by === undefined) {
    const texts = () => [runSummary(totals), ...(analysis === null ? [] : [suiteAnalysisText(totals, analysis)])];
    out.result({ ...totals, ...(analysis === null ? {} : { analysis }) }, () => texts().join("\n\n"));
    return;
  }
  checkSlice(totals, by);
  const shown = scorersAmong(metric ?? defaultMetrics(totals), totals.scores);
  out.result({ runId: totals.runId, by, parts: totals.slices[by] ?? [] }, () => sliceTable(totals, by, shown));
}

function checkSlice({ suite, runId }: RunTotals, by: SliceName): void {
  const slices: readonly string[] = suite === undefined ? QUESTION_SLICES : SUITE_SLICES;
  if (slices.includes(by)) return;
  const over = suite === undefined ? "questions about mailboxes" : `tasks of the suite ${suite.name}`;
  throw new UserError(
    "flags_contradict",
    `--by ${by}: ${runId} is a run over ${over}.`,
    `Give one of ${slices.join(", ")}.`,
  );
}

function defaultMetrics({ suite }: RunTotals): string[] {
  return suite === undefined ? ["accuracy", "semantic", "sources"] : ["score", "solved"];
}
