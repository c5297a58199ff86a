import { type CorpusStats, readCorpusStats } from "../../store/import/corpus-stats.js";
import { listRuns, type RunSummary } from "../../store/runs/runs.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";

/** Figures of the imported mail. */
export function corpusStats(settings: AppSettings): Promise<CorpusStats> {
  return withStore(settings, readCorpusStats);
}

/** The runs of the database, newest first. */
export function runList(settings: AppSettings): Promise<readonly RunSummary[]> {
  return withStore(settings, listRuns);
}
