// The findings in a task suite, and the results of its gold solutions, as terminal text.
import { commandLine } from "../platform/command-line.js";
import { compact } from "../platform/optional-values.js";
import type { SuiteCheck } from "../suites/check-suite.js";
import { isEqual, isSkipped, type OracleReport } from "../suites/grade-oracle.js";
import type { SuiteFinding } from "../suites/suite-folder.js";
import { counted, table } from "../text/format.js";

/** Maximum number of listed findings per code. --json lists all. */
const LISTED = 10;

/** Formats the findings in a suite by code, errors first. */
export function checkText({ suite, tasks, errors, warnings, notReady }: SuiteCheck): string {
  const groups = [...byCode(errors), ...byCode(warnings)].map(([code, findings]) => {
    const more = findings.length - LISTED;
    return compact([
      `${findings[0]?.level} ${code}: ${findings.length}`,
      ...findings.slice(0, LISTED).map(({ file, field, message }) => `  ${file}: ${field}${field && ": "}${message}`),
      more > 0 && `  ... and ${more} more; --json lists all`,
    ]).join("\n");
  });
  const summary = `${suite}: ${counted(tasks, "task")} read, ${counted(errors.length, "error")}, ${counted(warnings.length, "warning")}`;
  const lines = notReady.map(
    ({ snapshot, tasks: count, why }) => `  ${snapshot}, of ${counted(count, "task")}: ${why}`,
  );
  const missing =
    lines.length === 0
      ? []
      : [[`Snapshots that are unsupported on this machine (see ${commandLine`art-e doctor`}):`, ...lines].join("\n")];
  return [...groups, ...missing, summary].join("\n\n");
}

function byCode(findings: readonly SuiteFinding[]): Map<string, SuiteFinding[]> {
  const groups = new Map<string, SuiteFinding[]>();
  for (const finding of findings) groups.set(finding.code, [...(groups.get(finding.code) ?? []), finding]);
  return groups;
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
