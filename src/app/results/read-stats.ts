import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import { type CorpusStats, readCorpusStats } from "../../store/import/corpus-stats.js";
import { getRun } from "../../store/runs/runs.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { computeRunTotals } from "./compute-run-totals.js";

/** Figures of the imported mail. */
export function corpusStats(settings: AppSettings): Promise<CorpusStats> {
  return withStore(settings, readCorpusStats);
}

/** Figures of one run. */
export function runStats(name: string, settings: AppSettings): Promise<RunTotals> {
  return withStore(settings, (db) => computeRunTotals(db, getRun(db, name)));
}
