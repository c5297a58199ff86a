import { type CorpusStats, readCorpusStats } from "../../store/import/corpus-stats.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";

/** Figures of the imported mail. */
export function corpusStats(settings: AppSettings): Promise<CorpusStats> {
  return withStore(settings, readCorpusStats);
}
