import type { writeCsvSummaries } from "../app/results/write-report.js";
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
  const reports = await import("../app/results/write-report.js");
  const outputs = reports.summaryPaths(folder).map((path) => ({ path, kind: "csv" }) as const);
  const { resultsFiles } = await import("../app/results/open-results.js");
  const { checkOutputFolder } = await import("../app/output-files/check-output-folder.js");
  checkOutputFolder("--csv", folder, outputs, resultsFiles(runs, "report"), { db: context.settings.db, overwrite });
  const written = await reports.writeCsvSummaries(runs, folder, context);
  if (!context.settings.json) context.note(`Written to ${folder}: ${written.files.join(", ")}.`);
  return written;
}
