import { count, rate } from "../../reports/text/format-number.js";
import { onMigrationIndexing } from "../../store/connection/migrate.js";
import { openOutput } from "./output.js";
import { openProgress, type Progress } from "./progress.js";
import type { Settings } from "./settings.js";

/** A file of an earlier version is indexed anew when it is first opened, whichever command does that. */
export function showMigrationProgress(settings: Settings): void {
  let bar: Progress | null = null;
  let started = 0;
  onMigrationIndexing((done, total) => {
    if (bar === null) {
      started = performance.now();
      openOutput(settings).note(`${settings.db} was made by an earlier version: its mail is indexed anew, once.`);
      bar = openProgress(settings, "Indexing", total);
    }
    bar.update(done, `${count(done)} mails  ${rate(done, performance.now() - started)}`);
    if (done === total) bar.stop();
  });
}
