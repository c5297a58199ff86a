import type { Db } from "../../../store/connection/open-store.js";
import { readImportFilter } from "../../../store/import/corpus-stats.js";
import type { AppContext } from "../../use-case-context.js";

/** Says which conditions of the published figures a run of the protocol cannot set itself. */
export function noteUnsetConditions(
  { protocol }: { protocol?: "art" | undefined },
  db: Db,
  { note }: AppContext,
): void {
  if (protocol === undefined || readImportFilter(db) === "art") return;
  note(
    `--protocol art: the mail in ${db.name} was imported without ART's filter. For it, import into a file of its own: art-e import --filter art --db FILE.`,
  );
}
