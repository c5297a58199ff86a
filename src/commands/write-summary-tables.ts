import { checkOutputFolder } from "../app/output-files/check-output-folder.js";
import { resultsFiles } from "../app/results/open-results.js";
import { summaryPaths, writeCsvSummaries } from "../app/results/write-report.js";
import type { CommandContext } from "./cli/command.js";

interface SummaryFlags {
  readonly runs: readonly string[];
  readonly overwrite: boolean;
}

/** Writes tables of runs into a folder and says so. Only tables of earlier reports are replaced. */
export async function writeSummaries(
  folder: string,
  { runs, overwrite }: SummaryFlags,
  context: CommandContext,
): Promise<Awaited<ReturnType<typeof writeCsvSummaries>>> {
  const outputs = summaryPaths(folder).map((path) => ({ path, kind: "csv" }) as const);
  checkOutputFolder("--csv", folder, outputs, resultsFiles(runs, "report"), { db: context.settings.db, overwrite });
  const written = await writeCsvSummaries(runs, folder, context);
  if (!context.settings.json) context.note(`Written to ${folder}: ${written.files.join(", ")}.`);
  return written;
}
