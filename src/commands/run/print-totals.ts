import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import type { Gate } from "../../domain/scores/gate.js";
import { gateText } from "../../reports/text/gate-text.js";
import { runSummary } from "../../reports/text/run-summary.js";
import type { CommandContext } from "../cli/command.js";

/** Files that were written. */
interface WrittenFiles {
  readonly output?: string | undefined;
  readonly record?: string | undefined;
  readonly junit?: string | undefined;
}

/** Prints the totals of a run, its gates and the files it wrote. */
export function printTotals(
  totals: RunTotals,
  gates: readonly Gate[],
  files: WrittenFiles,
  { settings, out }: CommandContext,
): void {
  const judged = gates.length === 0 ? {} : { gates };
  out.result({ ...totals, ...judged, output: files.output ?? null, db: settings.db }, () => {
    const lines = [
      ...gates.map((gate) => `Gate:     ${gateText(gate)}`),
      ...(files.output === undefined ? [] : [`Results:  ${files.output}`]),
      ...(files.junit === undefined ? [] : [`JUnit:    ${files.junit}`]),
      ...(files.record === undefined ? [] : [`Replies:  ${files.record}`]),
      `Traces:   art-e show ${totals.runId}/TASK, art-e export-traces --run ${totals.runId} -o traces.jsonl`,
    ];
    return [runSummary(totals), ...lines].join("\n");
  });
}
