import type { Suite } from "../../../domain/tasks/suite.js";
import type { RunRow } from "../../../store/runs/runs.js";
import { artESuite } from "../../questions/art-e-suite.js";
import type { AppContext } from "../../use-case-context.js";
import type { RunOptions } from "./run-options.js";

/** What opens the tasks of a stored run: they are in the database, and are not listed again. */
export async function suiteOfRun(
  { split, dataset, settings }: RunRow,
  options: RunOptions,
  context: AppContext,
): Promise<Suite> {
  if (split !== "suite") return artESuite(settings.cutoff, options, context);
  // Runs over questions start without loading what machines are made of.
  const { openFolderSuite } = await import("../../suites/folder-suite.js");
  const { functions, oracle, cutoff } = settings;
  const { accountSettings } = options;
  return openFolderSuite(dataset.source, { limit: null, functions, oracle, cutoff, accountSettings }, context);
}
