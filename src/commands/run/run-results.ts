import { programVersion } from "../../app/settings/program-version.js";
import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import type { Gate } from "../../domain/scores/gate.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { resultsFile } from "../../reports/ci/results-file.js";
import { gateText } from "../../reports/text/gate-text.js";
import { runSummary } from "../../reports/text/run-summary.js";
import type { Db } from "../../store/connection/open-store.js";
import { iterateResults } from "../../store/runs/results.js";
import { getRun } from "../../store/runs/runs.js";
import type { CommandContext } from "../cli/command.js";

/** Writes the results file of a run as it is stored: all of it, whichever session answered what. */
export async function saveResults(db: Db, path: string, totals: RunTotals): Promise<void> {
  const run = getRun(db, totals.runId);
  const sqlite = db.prepare("SELECT sqlite_version()").pluck().get() as string;
  const head = {
    ...totals,
    settings: run.settings,
    limits: run.limits,
    versions: { "art-e": programVersion(), node: process.versions.node, sqlite },
    dataset: run.dataset,
    corpusFingerprint: run.corpusFingerprint,
  };
  await writeFileAtomically(path, resultsFile(head, iterateResults(db, totals.runId)));
}

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
