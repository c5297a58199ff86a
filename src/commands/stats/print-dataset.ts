import type { z } from "zod";
import { questionStatistics } from "../../questions/compute-statistics.js";
import { datasetSummary } from "../../reports/text/dataset-summary.js";
import type { CommandContext } from "../cli/command.js";
import type { datasetSchema } from "../flags/question-flags.js";

/** Also used by `run --stats`. */
export async function printDatasetFigures(
  flags: z.output<typeof datasetSchema>,
  context: CommandContext,
): Promise<void> {
  const { loadDataset } = await import("../../app/questions/load-dataset.js");
  const set = await loadDataset(flags, context);
  const statistics = questionStatistics(set);
  const { source, revision, sha256 } = set;
  context.out.result({ ...statistics, source, revision, sha256 }, () => datasetSummary(statistics));
}
