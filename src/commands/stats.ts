import { z } from "zod";
import { loadDataset, refuseContradictions } from "../app/questions/load-dataset.js";
import { corpusStats, runStats } from "../app/results/read-stats.js";
import { runsWithHeadlines } from "../app/runs/list-runs.js";
import { EXIT, UserError } from "../domain/errors.js";
import { SLICES } from "../domain/runs/slice.js";
import { scorersAmong } from "../evaluation/choose-metrics.js";
import { questionStatistics } from "../questions/compute-statistics.js";
import { corpusSummary } from "../reports/text/corpus-summary.js";
import { datasetSummary } from "../reports/text/dataset-summary.js";
import { runSummary } from "../reports/text/run-summary.js";
import { runTable } from "../reports/text/run-table.js";
import { sliceTable } from "../reports/text/slice-table.js";
import type { Command, CommandContext } from "./cli/command.js";
import { oneOf, readFlags, text } from "./cli/read-flags.js";
import { metrics } from "./flags/metric-flags.js";
import { DATASET_FLAGS, datasetSchema } from "./flags/question-flags.js";

const schema = datasetSchema.extend({
  corpus: z.boolean().default(false),
  run: text.optional(),
  runs: z.boolean().default(false),
  by: oneOf(SLICES).optional(),
  metric: metrics.default(["accuracy", "semantic", "sources"]),
});

export const statsCommand: Command = {
  flags: {
    ...DATASET_FLAGS,
    corpus: { type: "boolean", describe: "Of the imported mail, with its fingerprint" },
    run: {
      type: "string",
      requiresArg: true,
      describe: "Of a run: its id, the beginning of it, or latest",
    },
    runs: { type: "boolean", describe: "List the runs, as art-e runs list does" },
    by: { type: "string", requiresArg: true, describe: "With --run: a table by inbox, realism, sources or year" },
    metric: {
      type: "string",
      requiresArg: true,
      describe: "With --by: the scores to show [default: accuracy,semantic,sources]",
    },
  },
  async run(argv, context) {
    const flags = readFlags("stats", schema, argv);
    refuseContradictions(flags);
    refuseCombinations(flags, argv.metric !== undefined);
    if (flags.corpus) await printCorpusFigures(context);
    else if (flags.runs) await printRuns(context);
    else if (flags.run !== undefined) await printRunFigures(flags.run, flags, context);
    else await printDatasetFigures(flags, context);
    return EXIT.done;
  },
};

/** Refuses several kinds of figures at once, and slices without a run. */
function refuseCombinations(flags: z.output<typeof schema>, hasMetric: boolean): void {
  const kinds = [
    flags.corpus && "--corpus",
    flags.run !== undefined && "--run",
    flags.runs && "--runs",
    flags.dataset !== undefined && "--dataset",
  ].filter((flag) => flag !== false);
  if (kinds.length > 1) {
    throw new UserError("flags_contradict", `${kinds.join(" and ")} ask for different figures.`, "Give one at a time.");
  }
  const incomplete = flags.by === undefined ? hasMetric && "--metric" : flags.run === undefined && "--by";
  if (incomplete !== false) {
    throw new UserError(
      "flags_contradict",
      `${incomplete} goes with --run RUN --by SLICE.`,
      "Give both, or leave it out.",
    );
  }
}

/** Also used by `run --stats`. */
export async function printDatasetFigures(
  flags: z.output<typeof datasetSchema>,
  context: CommandContext,
): Promise<void> {
  const set = await loadDataset(flags, context);
  const statistics = questionStatistics(set);
  const { source, revision, sha256 } = set;
  context.out.result({ ...statistics, source, revision, sha256 }, () => datasetSummary(statistics));
}

async function printCorpusFigures({ settings, out }: CommandContext): Promise<void> {
  const stats = await corpusStats(settings);
  out.result(stats, () => corpusSummary(stats, settings.db));
}

async function printRunFigures(
  name: string,
  { by, metric }: z.output<typeof schema>,
  { settings, out }: CommandContext,
): Promise<void> {
  const totals = await runStats(name, settings);
  if (by === undefined) {
    out.result(totals, () => runSummary(totals));
    return;
  }
  const shown = scorersAmong(metric, totals.scores);
  out.result({ runId: totals.runId, by, parts: totals.slices[by] }, () => sliceTable(totals, by, shown));
}

async function printRuns({ settings, out }: CommandContext): Promise<void> {
  const { runs } = await runsWithHeadlines({}, 0, settings);
  out.result(runs, () => runTable(runs));
}
