// The command `stats`: figures of a run, a dataset or the mail.
import { z } from "zod";
import { scorersAmong } from "../../analysis/paired-comparison.js";
import { commandLine } from "../../platform/command-line.js";
import { EXIT } from "../../platform/errors.js";
import { metrics, OVERWRITE_FLAG, oneOf, shapeOf, text, toggle } from "../../platform/flag-values.js";
import { compact, presentProperties } from "../../platform/optional-values.js";
import { sliceTable } from "../../reports/figure-text.js";
import { corpusSummary, datasetSummary, runSummary, runTable } from "../../reports/run-text.js";
import { suiteAnalysisText } from "../../reports/suite-text.js";
import { CONFIG_FLAGS, DATASET_FLAGS, type RunFlagName } from "../../runs/run-flags.js";
import type { RunTotals } from "../../traces/run-totals.js";
import { QUESTION_SLICES, SLICES, type SliceName, SUITE_SLICES } from "../../traces/task-slices.js";
import type { CommandContext, CommandDefinition } from "../command.js";
import { readConfig } from "../config/merge-config.js";
import { optionalRun } from "../flags/argument-schemas.js";
import { contradiction, declaredIn, readFlags } from "../flags/define-command.js";
import { terminalColumns } from "../terminal.js";
import { writeSummaries } from "./report.js";

const datasetSchema = z.object(shapeOf(DATASET_FLAGS));

const schema = datasetSchema.extend({
  run: optionalRun,
  corpus: toggle.meta({ description: "Describe the imported mail, with its fingerprint" }),
  runs: toggle.meta({ description: "List the runs, like art-e runs list" }),
  by: oneOf(SLICES)
    .optional()
    .meta({
      placeholder: "GROUP",
      description: `With --run: scores per ${QUESTION_SLICES.join(", ")} (for a suite ${SUITE_SLICES.join(", ")})`,
    }),
  metric: metrics.optional().meta({
    placeholder: "SCORES",
    description: "With --by: scores to show [default: accuracy,semantic,sources, or score,solved for a suite]",
  }),
  csv: text
    .optional()
    .meta({ placeholder: "FOLDER", description: "With --run: also write tables to this folder, like report --csv" }),
  ...shapeOf(OVERWRITE_FLAG),
  ...shapeOf(CONFIG_FLAGS),
});

export const statsCommand: CommandDefinition = (usage) => ({
  ...declaredIn(schema, usage),
  async run(argv, context) {
    const hasKind = argv.run !== undefined || argv.corpus === true || argv.runs === true;
    const configured = hasKind
      ? { argv }
      : await readConfig(argv, context, Object.keys(DATASET_FLAGS) as RunFlagName[]);
    const read = readFlags(usage, schema, configured.argv);
    const { refuseContradictions } = await import("../../questions/dataset.js");
    refuseContradictions(read);
    const latest = hasKind || choosesDataset(argv, read) ? null : await latestRun(context);
    const flags = { ...read, run: read.run ?? latest ?? undefined };
    refuseCombinations(flags, argv.metric !== undefined);
    if (flags.corpus) await printCorpusFigures(context);
    else if (flags.runs) await printRuns(context);
    else if (flags.run !== undefined) await printRun(flags.run, flags, context);
    else await printDatasetFigures(flags, context);
    return EXIT.done;
  },
});

/** Returns whether flags or the config file select a dataset. */
function choosesDataset(argv: Readonly<Record<string, unknown>>, { dataset }: z.output<typeof schema>): boolean {
  return dataset !== undefined || ["split", "useJson", "revision"].some((name) => argv[name] !== undefined);
}

/**
 * Returns the id of the latest run, for a user who requests stats without specifying anything. Returns null without
 * runs.
 */
async function latestRun({ settings, note }: CommandContext): Promise<string | null> {
  const { latestRunId } = await import("../../results/stored-runs.js");
  const id = await latestRunId(settings);
  if (id !== null) note(`Stats of the latest run. For the dataset: ${commandLine`art-e stats --split test`}`);
  return id;
}

/** Throws a UserError for several kinds of figures in one command, or for slices without a run. */
function refuseCombinations(flags: z.output<typeof schema>, hasMetric: boolean): void {
  const kinds = [
    flags.corpus && "--corpus",
    flags.run !== undefined && "--run",
    flags.runs && "--runs",
    flags.dataset !== undefined && "--dataset",
  ].filter((flag) => flag !== false);
  if (kinds.length > 1) {
    throw contradiction(`${kinds.join(" and ")} cannot be combined.`, "Run the command once for each.");
  }
  if (flags.csv !== undefined && flags.run === undefined) {
    throw contradiction("--csv requires a run.", "Add --run RUN, or remove --csv.");
  }
  const incomplete = flags.by === undefined ? hasMetric && "--metric" : flags.run === undefined && "--by";
  if (incomplete !== false) {
    throw contradiction(`${incomplete} requires --run RUN --by SLICE.`, `Add them, or remove ${incomplete}.`);
  }
}

async function printCorpusFigures({ settings, out }: CommandContext): Promise<void> {
  const { corpusStats } = await import("../../results/stored-runs.js");
  const stats = await corpusStats(settings);
  out.result(stats, () => corpusSummary(stats, settings.db));
}

async function printRuns({ settings, out }: CommandContext): Promise<void> {
  const { runsWithFigures } = await import("../../results/run-summaries.js");
  const { runs } = await runsWithFigures({}, { query: "", sort: "", limit: 0 }, settings);
  out.result(runs, () => runTable(runs, terminalColumns()));
}

/** Prints a run's totals, or its scores per slice. */
async function printRun(name: string, flags: z.output<typeof schema>, context: CommandContext): Promise<void> {
  const { by, metric, csv, overwrite } = flags;
  // Written before anything is printed, so that an unusable folder is rejected first.
  if (csv !== undefined) await writeSummaries(csv, { runs: [name], overwrite }, context);
  const { analyseRun } = await import("../../results/collect-report.js");
  const { totals, analysis } = await analyseRun(name, context.settings);
  if (by === undefined) {
    const texts = () => compact([runSummary(totals), analysis !== null && suiteAnalysisText(totals, analysis)]);
    context.out.result({ ...totals, ...presentProperties({ analysis }) }, () => texts().join("\n\n"));
    return;
  }
  checkSlice(totals, by);
  const isOfSuite = totals.suite !== undefined;
  const metrics = metric ?? (isOfSuite ? ["score", "solved"] : ["accuracy", "semantic", "sources"]);
  const scorers = scorersAmong(metrics, totals.scores);
  context.out.result({ runId: totals.runId, by, parts: totals.slices[by] ?? [] }, () =>
    sliceTable(totals, by, scorers),
  );
}

function checkSlice({ suite, runId }: RunTotals, by: SliceName): void {
  const slices: readonly string[] = suite === undefined ? QUESTION_SLICES : SUITE_SLICES;
  if (slices.includes(by)) return;
  const over = suite === undefined ? "questions about mailboxes" : `tasks of the suite ${suite.name}`;
  throw contradiction(`--by ${by}: ${runId} is a run over ${over}.`, `Available: ${slices.join(", ")}.`);
}

/** Also used by `run --stats`. */
export async function printDatasetFigures(
  flags: z.output<typeof datasetSchema>,
  context: CommandContext,
): Promise<void> {
  const { loadDataset, questionStatistics } = await import("../../questions/dataset.js");
  const set = await loadDataset(flags, context);
  const statistics = questionStatistics(set);
  const { source, revision, sha256 } = set;
  context.out.result({ ...statistics, source, revision, sha256 }, () => datasetSummary(statistics));
}
