import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { resultsFile } from "../../reports/files/results-file.js";
import type { Db } from "../../store/connection/open-store.js";
import { iterateResults } from "../../store/runs/results.js";
import { getRun } from "../../store/runs/runs.js";
import { programVersion } from "../settings/program-version.js";

/** Writes the results file of a run: all stored results, of this and of earlier attempts. */
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
