import { Database } from "../../src/store/sqlite.js";
import { readPlainMails } from "./plain-mail.js";

/**
 * ART's import if Python is not available (otherwise, see art-import.py): without long bodies, emails to many
 * recipients and duplicates, in one transaction, with indexes and full text (FTS5's own tokenizer, no stemming) at the
 * end. ART reads an already parsed table, while this program splits the mail like plain-import.ts. Run as a program:
 * art-import.ts CSV DB.
 */

const TABLES = `
  CREATE TABLE emails (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT UNIQUE, subject TEXT, from_address TEXT, date TEXT, body TEXT, file_name TEXT);
  CREATE TABLE recipients (email_id INTEGER NOT NULL, recipient_address TEXT NOT NULL, recipient_type TEXT NOT NULL);
`;

const INDEXES = `
  CREATE INDEX idx_emails_from ON emails(from_address);
  CREATE INDEX idx_emails_date ON emails(date);
  CREATE INDEX idx_recipients_address ON recipients(recipient_address);
  CREATE INDEX idx_recipients_email ON recipients(email_id);
  CREATE VIRTUAL TABLE emails_fts USING fts5(subject, body, content=emails, content_rowid=id);
  INSERT INTO emails_fts (emails_fts) VALUES ('rebuild');
`;

const MAX_BODY = 5_000;
const MAX_RECIPIENTS = 30;

async function artImport(csv: string, path: string): Promise<void> {
  const db = new Database(path);
  db.pragma("synchronous = OFF");
  db.exec(TABLES);
  const addMail = db.prepare(
    "INSERT OR IGNORE INTO emails (message_id, subject, from_address, date, body, file_name) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const addRecipient = db.prepare("INSERT INTO recipients VALUES (?, ?, ?)");
  const seen = new Set<string>();
  db.exec("BEGIN");
  for await (const { file, messageId, subject, from, to, cc, bcc, date, body } of readPlainMails(csv)) {
    const key = JSON.stringify([subject, body, from]);
    if (body.length > MAX_BODY || to.length + cc.length + bcc.length > MAX_RECIPIENTS || seen.has(key)) continue;
    seen.add(key);
    const { lastInsertRowid, changes } = addMail.run(messageId, subject, from, date, body, file);
    if (changes === 0) continue;
    for (const [type, addresses] of Object.entries({ to, cc, bcc })) {
      for (const address of addresses) addRecipient.run(lastInsertRowid, address, type);
    }
  }
  db.exec(INDEXES);
  db.exec("COMMIT");
  db.close();
}

const [, , csv, db] = process.argv;
if (csv !== undefined && db !== undefined) await artImport(csv, db);
