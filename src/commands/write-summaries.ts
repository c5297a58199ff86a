import { statSync } from "node:fs";
import { checkOutputs } from "../app/output-files/check-outputs.js";
import { summaryPaths, writeCsvSummaries } from "../app/results/write-report.js";
import { UserError } from "../domain/errors.js";
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
  const { db } = context.settings;
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats !== undefined && !stats.isDirectory()) {
    throw new UserError("output_unwritable", `--csv: ${folder} is a file.`, "Name a folder.");
  }
  if (stats !== undefined) {
    const outputs = summaryPaths(folder).map((path) => ({ flag: "--csv", path, kind: "csv" }) as const);
    checkOutputs(outputs, [], { db, overwrite });
  }
  const written = await writeCsvSummaries(runs, folder, context);
  if (!context.settings.json) context.note(`Written to ${folder}: ${written.files.join(", ")}.`);
  return written;
}
