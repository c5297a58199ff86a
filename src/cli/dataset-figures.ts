import type { z } from "zod";
import { questionStatistics } from "../questions/dataset.js";
import { datasetSummary } from "../reports/run-text.js";
import type { CommandContext } from "./command.js";
import type { datasetSchema } from "./selection-flags.js";

/** Also used by `run --stats`. */
export async function printDatasetFigures(
  flags: z.output<typeof datasetSchema>,
  context: CommandContext,
): Promise<void> {
  const { loadDataset } = await import("../questions/dataset.js");
  const set = await loadDataset(flags, context);
  const statistics = questionStatistics(set);
  const { source, revision, sha256 } = set;
  context.out.result({ ...statistics, source, revision, sha256 }, () => datasetSummary(statistics));
}
