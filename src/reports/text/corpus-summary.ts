import type { CorpusStats } from "../../store/import/corpus-stats.js";
import { count } from "./format-number.js";
import { summaryBox } from "./summary-box.js";

/** The mail in a database. Two databases with the same fingerprint give every agent the same mail. */
export function corpusSummary(stats: CorpusStats, file: string): string {
  const day = (date: string | null) => date?.slice(0, 10) ?? "-";
  return summaryBox(`ART-E Corpus (${file})`, [
    ["Messages", count(stats.messages)],
    ["Distinct mails", count(stats.distinct)],
    ["Inboxes", count(stats.inboxes)],
    ["Folders without address", count(stats.unresolvedOwners)],
    ["Addresses", count(stats.addresses)],
    ["Dates", `${day(stats.firstDate)} to ${day(stats.lastDate)}`],
    ["Fingerprint", stats.fingerprint ?? "-"],
  ]);
}
