import { UserError } from "../../../domain/errors.js";
import type { Question } from "../../../domain/tasks/question.js";
import type { Db } from "../../../store/connection/open-store.js";
import { readCorpusStats } from "../../../store/import/corpus-stats.js";
import { listImportedInboxes } from "../../../store/import/owners.js";

/**
 * Refuses questions that could only be answered wrongly here: there is no mail, or the mailbox asked for
 * has not been imported. Nothing has been spent when it throws. `allowPartial`: undefined where there is no flag
 * for it.
 */
export function checkMailboxes(
  db: Db,
  questions: readonly Pick<Question, "inbox_address">[],
  allowPartial?: boolean,
): void {
  if (readCorpusStats(db).messages === 0) {
    throw new UserError(
      "corpus_empty",
      `There is no mail in ${db.name}.`,
      "Import some first: art-e import SOURCE (npm run demo shows it all on bundled mail).",
    );
  }
  const imported = listImportedInboxes(db);
  const missing = [...new Set(questions.map((q) => q.inbox_address).filter((inbox) => !imported.has(inbox)))];
  if (missing.length === 0 || allowPartial) return;
  const count = questions.filter((q) => !imported.has(q.inbox_address)).length;
  const some = missing.slice(0, 5).join(", ") + (missing.length > 5 ? `, and ${missing.length - 5} more` : "");
  const partial = allowPartial === undefined ? "" : ", or use --partial-inboxes to search what mail of theirs there is";
  const known = [...imported].sort().slice(0, 8).join(", ") || "none";
  throw new UserError(
    "inbox_missing",
    `${count} of ${questions.length} questions ask mailboxes that are not imported: ${some}.`,
    `Import them, choose others with --inbox, or name folder and address in an --owner-map at import${partial}. Imported: ${known}.`,
  );
}
