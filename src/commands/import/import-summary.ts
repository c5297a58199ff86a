import type { ImportSummary, Skipped } from "../../ingest/import-corpus.js";
import { stripControls } from "../../platform/strip-controls.js";
import { count } from "../../reports/text/format-number.js";
import { summaryBox } from "../../reports/text/summary-box.js";

export function importSummary(summary: ImportSummary, file: string, skippedFile: string | null): string {
  const { dropped, skipped } = summary;
  const rows: [string, string][] = [
    ["Read", count(summary.read)],
    ["Stored", `${count(summary.stored)} new messages, ${count(summary.distinct)} of them distinct mails`],
    ["Duplicates", `${count(summary.duplicates)} were here already`],
  ];
  if (summary.renamed > 0) rows.push(["Renamed", `${count(summary.renamed)} bore the Message-ID of a different mail`]);
  if (dropped !== null) {
    rows.push([
      "Dropped by ART's rules",
      `${count(dropped.long_body)} with a body over 5,000 characters, ${count(dropped.many_recipients)} with over 30 recipients, ${count(dropped.repeat)} repeats`,
    ]);
  }
  rows.push(["Skipped", skipped.mails === 0 ? "0" : `${count(skipped.mails)}: ${reasons(skipped)}`]);
  const unresolved =
    summary.unresolvedOwners === 0
      ? ""
      : `, and ${count(summary.unresolvedOwners)} folders without an address (name it in an --owner-map)`;
  rows.push(["Inboxes", `${count(summary.inboxes)}${unresolved}`]);
  rows.push(["Time", `${summary.seconds.toFixed(1)} s`]);
  const shown = skipped.first.map(({ where, reason }) => stripControls(`skipped ${where}: ${reason}`));
  if (skippedFile !== null) shown.push(`All skipped mails: ${skippedFile}`);
  return [summaryBox(`ART-E Import (${summary.format} into ${file})`, rows), ...shown].join("\n");
}

/** Number of skipped mails by reason, most frequent first. */
function reasons(skipped: Skipped): string {
  const sorted = Object.entries(skipped.reasons).sort(([, a], [, b]) => b - a);
  return stripControls(sorted.map(([reason, mails]) => `${count(mails)} because ${reason}`).join(", "));
}
