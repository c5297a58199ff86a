import type { ImportProgress } from "../../ingest/import-corpus.js";
import { mailProgress } from "../../reports/text/format-number.js";
import { openProgress, type Progress } from "../cli/progress.js";
import type { Settings } from "../cli/settings.js";

/** One bar for reading, one for indexing. */
export function importBars(settings: Settings) {
  let bar: Progress | null = null;
  let phase: ImportProgress["phase"] | null = null;
  let started = 0;
  return {
    show(progress: ImportProgress, format: string): void {
      if (progress.phase !== phase) {
        bar?.stop();
        phase = progress.phase;
        started = performance.now();
        bar =
          progress.phase === "read"
            ? openProgress(settings, `Reading ${format}`, progress.totalBytes)
            : openProgress(settings, "Indexing", progress.total);
      }
      const done = progress.phase === "read" ? progress.bytes : progress.mails;
      bar?.update(done, mailProgress(progress.mails, performance.now() - started));
    },
    stop: () => bar?.stop(),
  };
}
