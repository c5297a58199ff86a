// Checks a database file and its mail, and rebuilds the index from the emails.
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { damagedHint, databaseError } from "../store/database-error.js";
import { type Db, isUnwritable, missingFromSchema, withReadOnly } from "../store/open-store.js";
import { counted } from "../text/format.js";
import { updateFingerprint } from "./corpus.js";
import { DATE_RANGE_SQL } from "./date-range.js";
import { FTS_TABLES, rebuildBigrams, rebuildCorpusIndex } from "./import/corpus-index.js";
import { LISTING_SQL, LOOKUP_SQL } from "./mail-lookup.js";
import { MAILBOX_SQL } from "./search/mailbox-positions.js";
import { POSTINGS_SQL } from "./search/postings.js";
import { SEARCH_SQL } from "./search.js";
import { THREAD_SQL } from "./threads.js";

export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** The queries in docs/database.md. */
export const DOCUMENTED_SQL = {
  "docs/database.md, count": "SELECT COUNT(*) FROM emails",
  "docs/database.md, word": "SELECT * FROM emails_fts WHERE emails_fts MATCH 'meeting' LIMIT 5",
  "docs/database.md, words": `SELECT e.message_id, e.date, e.subject FROM emails e JOIN emails_fts f ON e.rowid = f.rowid
WHERE f.emails_fts MATCH 'gas price' ORDER BY f.rowid LIMIT 10`,
  "docs/database.md, mailbox": `SELECT m.date, m.sender, m.subject
FROM mailboxes b JOIN mail_order o USING (position) JOIN mails m ON m.id = o.mail_id
WHERE b.address_id = (SELECT id FROM addresses WHERE address = 'marcus.hale@kestrelplains.example')
ORDER BY b.position LIMIT 10`,
  "docs/database.md, month": `SELECT e.message_id, e.date, e.subject
FROM mail_order o JOIN messages x ON x.mail_id = o.mail_id JOIN emails e ON e.message_id = x.message_id
WHERE o.date >= '2001-03-01' AND o.date < '2001-04-01' ORDER BY o.date`,
  "docs/database.md, thread": `SELECT e.date, e.sender, e.subject
FROM mail_threads t JOIN messages x ON x.mail_id = t.mail_id JOIN emails e ON e.message_id = x.message_id
WHERE t.thread_id = (SELECT thread_id FROM mail_threads JOIN messages USING (mail_id) WHERE message_id = '<19927535.1075840733376.JavaMail.demo@kestrel>')
ORDER BY e.date`,
  "docs/database.md, worst answers": `SELECT r.result ->> 'question', r.result ->> 'agentAnswer', r.semantic_score
FROM results r WHERE r.superseded = 0 AND r.run_id = (SELECT id FROM runs ORDER BY started_at DESC LIMIT 1)
ORDER BY r.semantic_score LIMIT 10`,
  "docs/database.md, watches": `SELECT e.name, e.version, w.run_id, w.created_at, sum(r.differs) AS differing, count(*) AS anchors
FROM eval_watches w JOIN eval_baselines b ON b.id = w.baseline_id JOIN evals e ON e.id = b.eval_id
JOIN eval_anchor_rounds r ON r.baseline_id = w.baseline_id AND r.round = w.round
GROUP BY w.baseline_id, w.round ORDER BY w.created_at`,
} as const;

/** The one table that a documented query reads completely: it counts all emails, or is about all runs or watches. */
const READ_COMPLETELY: Readonly<Record<string, string>> = {
  "docs/database.md, count": "x",
  "docs/database.md, worst answers": "runs",
  "docs/database.md, watches": "w",
};

/** The queries behind searching and reading, and those of the documentation. Each must use an index. */
const HOT_QUERIES: Readonly<Record<string, string>> = {
  ...DOCUMENTED_SQL,
  ...POSTINGS_SQL,
  ...SEARCH_SQL,
  ...LOOKUP_SQL,
  ...DATE_RANGE_SQL,
  ...LISTING_SQL,
  ...MAILBOX_SQL,
  ...THREAD_SQL,
};

/** Checks the entire file. Takes about as long as indexing. */
export function* checkHealth(db: Db): Generator<Finding> {
  const integrity = sqliteIntegrity(db);
  yield integrity;
  // The other checks would fail with SQL errors.
  if (!integrity.ok) return;
  const schema = wholeSchema(db);
  yield schema;
  if (!schema.ok) return;
  yield foreignKeys(db);
  yield indexIntegrity(db);
  yield counts(db);
  yield queryPlans(db);
}

/** Returns the damage behind an unexpected error, or null if the file is intact and the error is a bug. */
export function describeDamage(path: string, cause: unknown): UserError | null {
  try {
    const { ok, detail } = withReadOnly(path, sqliteIntegrity);
    if (ok) return null;
    return new UserError("db_damaged", `The database ${path} is damaged: ${detail}.`, damagedHint(), 1, { cause });
  } catch (error) {
    return databaseError(error, path);
  }
}

/** Rebuilds the full-text index and the mail order from the stored emails. */
export function repairIndex(db: Db, onProgress: (done: number, total: number) => void): void {
  db.transaction(() => {
    rebuildBigrams(db);
    rebuildCorpusIndex(db, onProgress);
    updateFingerprint(db);
  }).immediate();
}

function sqliteIntegrity(db: Db): Finding {
  const faults = db.prepare("PRAGMA integrity_check(5)").pluck().all() as string[];
  const ok = faults.length === 1 && faults[0] === "ok";
  return { check: "SQLite integrity", ok, detail: ok ? "no damage" : faults.join("; ") };
}

function wholeSchema(db: Db): Finding {
  const missing = missingFromSchema(db);
  const ok = missing.length === 0;
  const detail = ok
    ? "all tables exist"
    : `${missing.join(", ")} missing; docs/troubleshooting.md shows how to save the rest`;
  return { check: "Schema", ok, detail };
}

function foreignKeys(db: Db): Finding {
  const faults = db.prepare("PRAGMA foreign_key_check").all() as { table: string }[];
  const tables = [...new Set(faults.map(({ table }) => table))].join(", ");
  const detail =
    faults.length === 0
      ? "all references are valid"
      : `${counted(faults.length, "row")} with invalid references in ${tables}`;
  return { check: "Foreign keys", ok: faults.length === 0, detail };
}

/** Runs FTS5's integrity check. */
function indexIntegrity(db: Db): Finding {
  const check = "Full-text index";
  try {
    for (const table of FTS_TABLES) {
      // Rank 1 also compares the index with its content, which mail_words does not store.
      const rank = table === "emails_fts" ? 1 : 0;
      db.prepare(`INSERT INTO ${table} (${table}, rank) VALUES ('integrity-check', ${rank})`).run();
    }
    return { check, ok: true, detail: "matches the emails" };
  } catch (error) {
    // FTS5 treats its check as a write.
    if (isUnwritable(error)) return { check, ok: true, detail: "not checked, because the file is not writable" };
    return {
      check,
      ok: false,
      detail: `${(error as Error).message}; ${commandLine`art-e doctor --repair`} rebuilds it`,
    };
  }
}

function counts(db: Db): Finding {
  const count = (sql: string) => db.prepare(sql).pluck().get() as number;
  const mails = count("SELECT count(*) FROM mails");
  // Rows of `mail_order` and values of `mail_columns`. All are derived from the emails.
  const [ordered, times, lengths] = [
    count("SELECT count(*) FROM mail_order"),
    count("SELECT coalesce(sum(length(sent_at)), 0) / 8 FROM mail_columns"),
    count("SELECT coalesce(sum(length(bytes)), 0) / 4 FROM mail_columns"),
  ];
  const withoutMessageId = count("SELECT count(*) FROM mails WHERE id NOT IN (SELECT mail_id FROM messages)");
  const isOrdered = [ordered, times, lengths].every((one) => one === mails);
  const ok = isOrdered && withoutMessageId === 0;
  const detail = ok
    ? `${counted(mails, "email")}, all ordered and all with a Message-ID`
    : `${counted(mails, "email")}, ${Math.min(ordered, times, lengths)} ordered, ${withoutMessageId} without a Message-ID; ${commandLine`art-e doctor --repair`} orders them`;
  return { check: "Counts", ok, detail };
}

function queryPlans(db: Db): Finding {
  const scans = Object.entries(HOT_QUERIES).flatMap(([name, sql]) => {
    const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...parametersOf(sql)) as { detail: string }[];
    const scanned = steps.filter(({ detail }) => isScan(detail) && detail.split(" ")[1] !== READ_COMPLETELY[name]);
    return scanned.map(({ detail }) => `${name}: ${detail}`);
  });
  const queries = Object.keys(HOT_QUERIES).length;
  const detail = scans.length === 0 ? `all ${queries} frequent queries use an index` : scans.join("; ");
  return { check: "Query plans", ok: scans.length === 0, detail };
}

/** FTS5 reports every MATCH as a scan, but its plan lists an index with an M. A subquery is always read completely. */
function isScan(detail: string): boolean {
  return /^SCAN (?!\()/.test(detail) && !/M\d/.test(detail.split("VIRTUAL TABLE INDEX")[1] ?? "");
}

/** EXPLAIN requires bound parameters, though it does not use them. */
function parametersOf(sql: string): null[] {
  return Array.from(sql.matchAll(/\?/g), () => null);
}
