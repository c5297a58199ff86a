import { mailProgress } from "../../reports/text/format-number.js";
import { onMigrationIndexing } from "../../store/connection/migrate.js";
import { openOutput } from "./output.js";
import { openProgress, type Progress } from "./progress.js";
import type { Settings } from "./settings.js";

/** Shows the progress of reindexing a database of an earlier version, which happens when any command first opens it. */
export function showMigrationProgress(settings: Settings): void {
  let bar: Progress | null = null;
  let started = 0;
  onMigrationIndexing((done, total) => {
    if (bar === null) {
      started = performance.now();
      openOutput(settings).note(`${settings.db} was made by an earlier version: its mail is reindexed once.`);
      bar = openProgress(settings, "Indexing", total);
    }
    bar.update(done, mailProgress(done, performance.now() - started));
    if (done === total) bar.stop();
  });
}
