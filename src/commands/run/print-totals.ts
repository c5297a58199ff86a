import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import type { Gate } from "../../domain/scores/gate.js";
import { gateText } from "../../reports/text/gate-text.js";
import { runSummary } from "../../reports/text/run-summary.js";
import type { CommandContext } from "../cli/command.js";

/** Files that were written beside the database. */
interface Written {
  readonly output?: string | undefined;
  readonly record?: string | undefined;
  readonly junit?: string | undefined;
}

/** `gates`: those that were asked for. */
export function printTotals(
  totals: RunTotals,
  gates: readonly Gate[],
  flags: Written,
  { settings, out }: CommandContext,
): void {
  const judged = gates.length === 0 ? {} : { gates };
  out.result({ ...totals, ...judged, output: flags.output ?? null, db: settings.db }, () => {
    const files = [
      ...gates.map((gate) => `Gate:     ${gateText(gate)}`),
      ...(flags.output === undefined ? [] : [`Results:  ${flags.output}`]),
      ...(flags.junit === undefined ? [] : [`JUnit:    ${flags.junit}`]),
      ...(flags.record === undefined ? [] : [`Replies:  ${flags.record}`]),
      `Traces:   art-e show ${totals.runId}/TASK, art-e export-traces --run ${totals.runId} -o traces.jsonl`,
    ];
    return [runSummary(totals), ...files].join("\n");
  });
}
