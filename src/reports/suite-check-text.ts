// The findings in a task suite, and the results of its gold solutions, as terminal text.
import { commandLine } from "../platform/command-line.js";
import { groupBy } from "../platform/group-by.js";
import type { SuiteCheck } from "../suites/check-suite.js";
import { isEqual, isSkipped, type OracleReport } from "../suites/grade-oracle.js";
import { counted, table } from "../text/format.js";
import { listed } from "./figure-text.js";

/** Maximum number of listed findings per code. --json lists all. */
const LISTED = 10;

/** Formats the findings in a suite by code, errors first. */
export function checkText({ suite, tasks, errors, warnings, notReady }: SuiteCheck): string {
  const groups = [...groupBy([...errors, ...warnings], ({ level, code }) => `${level} ${code}`)];
  const findings = groups.map(([title, some]) =>
    [
      `${title}: ${some.length}`,
      ...listed(some, LISTED, ({ file, field, message }) => `  ${file}: ${field}${field && ": "}${message}`),
    ].join("\n"),
  );
  const summary = `${suite}: ${counted(tasks, "task")} read, ${counted(errors.length, "error")}, ${counted(warnings.length, "warning")}`;
  const lines = notReady.map(
    ({ snapshot, tasks: count, why }) => `  ${snapshot}, of ${counted(count, "task")}: ${why}`,
  );
  const missing =
    lines.length === 0
      ? []
      : [[`Snapshots that are unsupported on this machine (see ${commandLine`art-e doctor`}):`, ...lines].join("\n")];
  return [...findings, ...missing, summary].join("\n\n");
}

/** Formats the lines that differ or could not be graded, and the counts. */
export function oracleText({ lines, equal, different, skipped }: OracleReport): string {
  const odd = lines.filter((line) => isSkipped(line) || !isEqual(line));
  const rows = odd.map(({ uuid, state, expected, score, status, reason }) => [
    uuid,
    state,
    String(expected),
    score === null ? "-" : String(score),
    status,
    reason,
  ]);
  const others = skipped - lines.filter(isSkipped).length;
  const counts = `${equal} equal, ${different} different, ${skipped} skipped`;
  return [
    ...(rows.length === 0 ? [] : [table(["task", "state", "expected", "score", "status", "reason"], rows), ""]),
    others === 0 ? counts : `${counts} (${others} of other suites)`,
  ].join("\n");
}
