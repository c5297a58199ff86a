import { z } from "zod";
import { EXIT, UserError } from "../../domain/errors.js";
import { QUESTION_SLICES, SLICES, SUITE_SLICES } from "../../domain/runs/slice.js";
import { corpusSummary } from "../../reports/text/corpus-summary.js";
import { runTable } from "../../reports/text/run-table.js";
import type { Command, CommandContext } from "../cli/command.js";
import { oneOf, readFlags, text } from "../cli/read-flags.js";
import { readConfig } from "../config/read-config.js";
import { CONFIG_FLAGS } from "../flags/config-flag.js";
import { metrics } from "../flags/metric-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "../flags/overwrite-flag.js";
import { DATASET_FLAGS, datasetSchema } from "../flags/question-flags.js";
import { writeSummaries } from "../write-summary-tables.js";
import { printDatasetFigures } from "./print-dataset.js";
import { printRunFigures } from "./print-run.js";

const schema = datasetSchema.extend({
  corpus: z.boolean().default(false),
  run: text.optional(),
  runs: z.boolean().default(false),
  by: oneOf(SLICES).optional(),
  metric: metrics.optional(),
  csv: text.optional(),
  ...overwriteShape,
});

/** What says which dataset is meant. */
const OF_CONFIG = ["dataset.file", "dataset.split", "dataset.use-json", "dataset.revision"] as const;

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
    by: {
      type: "string",
      requiresArg: true,
      describe: `With --run: a table by ${QUESTION_SLICES.join(", ")}; of a suite by ${SUITE_SLICES.join(", ")}`,
    },
    metric: {
      type: "string",
      requiresArg: true,
      describe: "With --by: the scores to show [default: accuracy,semantic,sources; of a suite score,solved]",
    },
    csv: { type: "string", requiresArg: true, describe: "With --run: a folder for tables too, as of report --csv" },
    ...OVERWRITE_FLAGS,
    ...CONFIG_FLAGS,
  },
  async run(argv, context) {
    const isOfDataset = argv.run === undefined && argv.corpus !== true && argv.runs !== true;
    const configured = isOfDataset ? await readConfig(argv, context, OF_CONFIG) : { argv };
    const flags = readFlags("stats", schema, configured.argv);
    const { refuseContradictions } = await import("../../app/questions/load-dataset.js");
    refuseContradictions(flags);
    refuseCombinations(flags, argv.metric !== undefined);
    if (flags.corpus) await printCorpusFigures(context);
    else if (flags.runs) await printRuns(context);
    else if (flags.run !== undefined) await printRun(flags.run, flags, context);
    else await printDatasetFigures(flags, context);
    return EXIT.done;
  },
};

async function printRun(run: string, flags: z.output<typeof schema>, context: CommandContext): Promise<void> {
  // Before anything is printed: a folder that cannot be used is refused.
  if (flags.csv !== undefined) await writeSummaries(flags.csv, { runs: [run], overwrite: flags.overwrite }, context);
  await printRunFigures(run, flags, context);
}

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
  if (flags.csv !== undefined && flags.run === undefined) {
    throw new UserError("flags_contradict", "--csv goes with --run RUN.", "Give both, or leave it out.");
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

async function printCorpusFigures({ settings, out }: CommandContext): Promise<void> {
  const { corpusStats } = await import("../../app/results/read-stats.js");
  const stats = await corpusStats(settings);
  out.result(stats, () => corpusSummary(stats, settings.db));
}

async function printRuns({ settings, out }: CommandContext): Promise<void> {
  const { runsWithHeadlines } = await import("../../app/runs/list-runs.js");
  const { runs } = await runsWithHeadlines({}, 0, settings);
  out.result(runs, () => runTable(runs));
}
