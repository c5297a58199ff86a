// The command `compare`: two or more runs on the same tasks.
import { z } from "zod";
import { UserError } from "../../platform/errors.js";
import { metrics, oneOf, text, toggle, wholeNumber, withTraits } from "../../platform/flag-values.js";
import { compact } from "../../platform/optional-values.js";
import { comparisonText, publishedText } from "../../reports/comparison-text.js";
import type { Comparison } from "../../results/compare-stored-runs.js";
import { FAILED_TASKS } from "../../tasks/ending.js";
import { defineCommand } from "../flags/define-command.js";

export const compareCommand = defineCommand(
  z.object({
    runs: withTraits(z.array(text).min(1), { completes: "runs" }).meta({
      description:
        "Baseline and the runs to compare with it: run ids, latest, or results files [default: baseline and latest]",
    }),
    metric: metrics.optional().meta({
      placeholder: "SCORES",
      description:
        "Scores to compare, separated by commas. The first one decides --flips [default: all, headline score first]",
    }),
    flips: wholeNumber(0, 100_000).default(5).meta({ description: "Number of lost and of won questions to show" }),
    published: toggle.meta({ description: "Show the published ART-E figures [default: for judged runs]" }),
    sequential: toggle.meta({
      description: "Add always-valid intervals, which may be read while a run is working, corrected for several runs",
    }),
    failedTasks: oneOf(FAILED_TASKS)
      .default("wrong")
      .meta({ description: "Count failed tasks as wrong, or exclude them" }),
    force: toggle.meta({ description: "Compare despite a different dataset, split, mail or cutoff" }),
  }),
  async (flags, context) => {
    const isAlone = flags.runs.length === 1 && !flags.published;
    if (isAlone && flags.runs[0] === "latest") {
      throw new UserError(
        "runs_missing",
        "compare: a baseline is required.",
        "Pass an earlier run to compare the newest run with it, or add --published.",
      );
    }
    const runs = isAlone ? [...flags.runs, "latest"] : flags.runs;
    const { compareStoredRuns } = await import("../../results/compare-stored-runs.js");
    const { publishedDifferences } = await import("../../runs/published-conditions.js");
    const compared = await compareStoredRuns({ ...flags, runs }, publishedDifferences, context);
    context.out.result(compared, () => comparedRuns(compared));
  },
);

function comparedRuns({ runs, comparisons, published }: Comparison): string {
  const beside = runs.filter(({ runId }) => published?.differences[runId] !== undefined);
  return compact([
    comparisons.length > 0 && comparisonText(runs, comparisons),
    published !== null && publishedText(beside, published.differences),
  ]).join("\n\n");
}
