import { resolve } from "node:path";
import { UserError } from "../../../domain/errors.js";
import type { RunSettings } from "../../../domain/runs/benchmark-result.js";
import type { SuiteFolder } from "../../../suites/definition/suite-folder.js";
import { findOracleFile } from "../../suites/oracle/open-oracle.js";

const ORACLE_MODEL = "offline/oracle";

/** Refuses the model offline/oracle and its file in a run over questions: they have no oracle. */
export function refuseOracle(model: string, named: string | undefined): void {
  if (model !== ORACLE_MODEL && named === undefined) return;
  throw new UserError(
    "flags_contradict",
    `${named === undefined ? `The model ${model}` : "--oracle"} is for tasks of a suite.`,
    "Add --suite DIR, or name another agent.",
  );
}

/** The oracle file of a new run over a suite; empty where its model is another. */
export function oracleSettings(model: string, named: string | undefined, folder: SuiteFolder) {
  if (model === ORACLE_MODEL) return { oracle: findOracleFile(named, folder) };
  if (named !== undefined) throw notFor(model);
  return {};
}

/** A stored run's oracle file, or the one that is named now. */
export function requestedOracle(stored: RunSettings, named: string | undefined) {
  if (named === undefined) return {};
  if (stored.oracle === undefined) throw notFor(stored.model);
  return { oracle: resolve(named) };
}

function notFor(model: string): UserError {
  const what = `--oracle is for the agent oracle, and the agent's model is ${model}.`;
  return new UserError("flags_contradict", what, "Leave it out, or run -a oracle.");
}
