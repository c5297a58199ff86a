import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openMailLookup } from "../src/mail/mail-lookup.js";
import { subjectKey } from "../src/mail/subject.js";
import { openThreads } from "../src/mail/threads.js";
import { type Db, openStore } from "../src/store/open-store.js";
import { share, table } from "../src/text/format.js";
import { importReal } from "./search-quality/question-sets.js";

/**
 * Compares rules for threads with threads labeled by hand: the fraction of the pairs of emails in one thread that are
 * in one labeled thread (precision), and the reverse (recall). The labeled emails were drawn from groups with the same
 * subject or repeated text, in turn from ten mailboxes, of which five were used for tuning.
 */

const LABELS = fileURLToPath(new URL("../fixtures/threads/labels.tsv", import.meta.url));

interface LabeledEmail {
  readonly messageId: string;
  readonly half: string;
  readonly thread: string;
}

/** Returns the thread of an email. Emails in the same thread have equal ones. */
type ThreadOf = (messageId: string) => unknown;

const RULES: Readonly<Record<string, (db: Db) => ThreadOf>> = {
  "art-e": (db) => {
    const { get } = openMailLookup(db);
    const threads = openThreads(db);
    return (messageId) => {
      const mailId = get(messageId)?.mailId ?? -1;
      return threads.idOf(mailId) ?? mailId;
    };
  },
  // https://www.jwz.org/doc/threading.html: References, then the subject, whoever wrote and whenever.
  JWZ: (db) => {
    const references = new Map(
      db
        .prepare("SELECT min(message_id), ids FROM mail_references JOIN messages USING (mail_id) GROUP BY mail_id")
        .raw()
        .all() as [string, string][],
    );
    const subject = bySubject(db);
    const rootOf = (messageId: string): string => {
      const [...ids] = JSON.parse(references.get(messageId) ?? "[]") as string[];
      return ids.at(-1) ?? messageId;
    };
    return (messageId) => subject(rootOf(messageId));
  },
  "same subject": bySubject,
};

function bySubject(db: Db): ThreadOf {
  const { get } = openMailLookup(db);
  return (messageId) => subjectKey(get(messageId)?.subject ?? "").key || messageId;
}

export function printThreadsBench(enron: string, folder: string): void {
  const labeled = readLabels();
  if (!existsSync(join(enron, "maildir.tar.gz"))) throw new Error(`no mail in ${enron}`);
  const db = openStore(importReal(enron, folder), { mustExist: true });
  const lines = ["test", "tuning"].flatMap((half) => {
    const emails = labeled.filter((email) => email.half === half);
    return Object.entries(RULES).map(([rule, open]) => [
      half,
      String(emails.length),
      rule,
      ...measure(emails, open(db)),
    ]);
  });
  db.close();
  console.log(table(["mailboxes", "emails", "rule", "pairs", "precision", "recall", "F1"], lines));
}

function readLabels(): LabeledEmail[] {
  const [, ...lines] = readFileSync(LABELS, "utf8").trim().split("\n");
  return lines.map((line) => {
    const [messageId = "", , half = "", thread = ""] = line.split("\t");
    return { messageId, half, thread };
  });
}

function measure(emails: readonly LabeledEmail[], threadOf: ThreadOf): string[] {
  const threads = emails.map(({ messageId }) => threadOf(messageId));
  const counts = { both: 0, rule: 0, label: 0 };
  emails.forEach((email, i) => {
    for (let j = 0; j < i; j++) {
      const isLabeled = emails[j]?.thread === email.thread;
      const isFound = threads[j] === threads[i];
      if (isLabeled) counts.label++;
      if (isFound) counts.rule++;
      if (isLabeled && isFound) counts.both++;
    }
  });
  const { both, rule, label } = counts;
  return [String(label), share(both / rule), share(both / label), share((2 * both) / (rule + label))];
}
