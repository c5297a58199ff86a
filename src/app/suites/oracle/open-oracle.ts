import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { UserError } from "../../../domain/errors.js";
import type { SuiteTask } from "../../../domain/tasks/suite-task.js";
import type { TaskMachine } from "../../../domain/tasks/task-machine.js";
import type { TaskOracle } from "../../../domain/tasks/task-oracle.js";
import type { SuiteFolder } from "../../../suites/definition/suite-folder.js";
import { applyOracleLine } from "./apply-oracle-line.js";
import { type OracleLine, readOracle } from "./read-oracle.js";

/** The oracle file that a suite may have of its own. */
export const OWN_ORACLE = "oracle.jsonl";

/** The oracles of a suite's tasks. */
export interface SuiteOracle {
  open(task: SuiteTask, machine: TaskMachine): TaskOracle;
}

/** The absolute path of the oracle file that is named, or of the suite's own. */
export function findOracleFile(named: string | undefined, { root, name }: SuiteFolder): string {
  const path = resolve(named ?? join(root, OWN_ORACLE));
  if (named !== undefined || statSync(path, { throwIfNoEntry: false })?.isFile()) return path;
  throw new UserError("oracle_missing", `${name} has no ${OWN_ORACLE}.`, "Name an oracle file: --oracle FILE.");
}

/** Reads an oracle file. Of a task's lines the one with the highest score counts, and of equal ones the first. */
export function openOracle(path: string, suite: SuiteFolder): SuiteOracle {
  const best = new Map<string, OracleLine>();
  for (const line of readOracle(path)) {
    if (line.suite !== suite.name) continue;
    const known = best.get(line.uuid);
    if (known === undefined || line.expected_score > known.expected_score) best.set(line.uuid, line);
  }
  const derivedFolder = dirname(path);
  return {
    open: (task, machine) => ({
      async apply(signal) {
        const line = best.get(task.id);
        if (line === undefined) return { ok: false, reason: "The oracle file has no line for this task." };
        const { missing, refused } = await applyOracleLine(line, task, derivedFolder, machine, signal);
        if (refused !== null) return { ok: false, reason: refused };
        return { ok: true, applied: toApplied(line, missing) };
      },
    }),
  };
}

function toApplied(
  { state, files, derived, remove, processes, answer, sources }: OracleLine,
  missing: readonly string[],
) {
  return {
    state,
    files: [...Object.keys(files), ...Object.keys(derived)],
    ...(answer === undefined ? {} : { answer, sources }),
    ...(remove.length === 0 ? {} : { removed: remove }),
    ...(processes.length === 0 ? {} : { processes: processes.map(({ cmd }) => cmd.join(" ")) }),
    ...(missing.length === 0 ? {} : { missing }),
  };
}
