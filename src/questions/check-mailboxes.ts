// Whether the mailboxes that questions are about were imported.
import { readCorpusStats } from "../mail/corpus.js";
import { openMailboxes } from "../mail/mailboxes.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { Db } from "../store/open-store.js";
import type { Question } from "../tasks/question.js";

/**
 * Throws if questions could only get wrong answers, because no mail was imported, or not the mail of their mailboxes.
 * Call it before any money is spent. `allowPartial` is undefined if the command does not have a flag for it.
 */
export function checkMailboxes(
  db: Db,
  questions: readonly Pick<Question, "inbox_address">[],
  allowPartial?: boolean,
): void {
  if (readCorpusStats(db).messages === 0) {
    throw new UserError(
      "corpus_empty",
      `${db.name} does not contain any mail.`,
      `Import mail first: ${commandLine`art-e import SOURCE`} (npm run demo shows every step with bundled mail).`,
    );
  }
  const imported = openMailboxes(db);
  const missing = [...new Set(questions.map((q) => q.inbox_address).filter((inbox) => !imported.has(inbox)))];
  if (missing.length === 0 || allowPartial) return;
  const count = questions.filter((q) => !imported.has(q.inbox_address)).length;
  const some = missing.slice(0, 5).join(", ") + (missing.length > 5 ? `, and ${missing.length - 5} more` : "");
  const partial = allowPartial === undefined ? "" : ", or pass --partial-inboxes to search their imported mail";
  const examples = imported.addresses.slice(0, 8).join(", ") || "none";
  throw new UserError(
    "inbox_missing",
    `${count} of ${questions.length} questions are about mailboxes that were not imported: ${some}.`,
    `Import them, choose others with --inbox, or map their folders to addresses with --owner-map at import${partial}. Imported: ${examples}.`,
  );
}
