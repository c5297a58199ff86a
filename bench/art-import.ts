import { Database } from "../src/store/sqlite.js";
import { readPlainMails } from "./plain-mail.js";

/**
 * ART's import if Python is not available (otherwise, see art-import.py): without long bodies, emails to many
 * recipients and duplicates, in one transaction, with indexes and full text (FTS5's own tokenizer, no stemming) at the
 * end. ART reads an already parsed table, while this program splits the mail like plain-import.ts. Run as a program:
 * art-import.ts CSV DB.
 */

export const ART_TABLES = `
  CREATE TABLE emails (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT UNIQUE, subject TEXT, from_address TEXT, date TEXT, body TEXT, file_name TEXT);
  CREATE TABLE recipients (email_id INTEGER NOT NULL, recipient_address TEXT NOT NULL, recipient_type TEXT NOT NULL);
`;

export const ART_INDEXES = `
  CREATE INDEX idx_emails_from ON emails(from_address);
  CREATE INDEX idx_emails_date ON emails(date);
  CREATE INDEX idx_recipients_address ON recipients(recipient_address);
  CREATE INDEX idx_recipients_type ON recipients(recipient_type);
  CREATE INDEX idx_recipients_email ON recipients(email_id);
  CREATE INDEX idx_recipients_address_email ON recipients(recipient_address, email_id);
  CREATE VIRTUAL TABLE emails_fts USING fts5(subject, body, content=emails, content_rowid=id);
  INSERT INTO emails_fts (emails_fts) VALUES ('rebuild');
`;

/** Longer emails, and those to more recipients, are left out. */
export const ART_LIMITS = { bodyChars: 5_000, recipients: 30 };

async function artImport(csv: string, path: string): Promise<void> {
  const db = new Database(path);
  db.pragma("synchronous = OFF");
  db.exec(ART_TABLES);
  const addMail = db.prepare(
    "INSERT OR IGNORE INTO emails (message_id, subject, from_address, date, body, file_name) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const addRecipient = db.prepare("INSERT INTO recipients VALUES (?, ?, ?)");
  const seen = new Set<string>();
  db.exec("BEGIN");
  for await (const { file, messageId, subject, from, to, cc, bcc, date, body } of readPlainMails(csv)) {
    const key = JSON.stringify([subject, body, from]);
    const recipients = to.length + cc.length + bcc.length;
    if (body.length > ART_LIMITS.bodyChars || recipients > ART_LIMITS.recipients || seen.has(key)) continue;
    seen.add(key);
    const { lastInsertRowid, changes } = addMail.run(messageId, subject, from, date, body, file);
    if (changes === 0) continue;
    for (const [type, addresses] of Object.entries({ to, cc, bcc })) {
      for (const address of addresses) addRecipient.run(lastInsertRowid, address, type);
    }
  }
  db.exec(ART_INDEXES);
  db.exec("COMMIT");
  db.close();
}

const [, script, csv, db] = process.argv;
if (script?.endsWith("art-import.ts") && csv !== undefined && db !== undefined) await artImport(csv, db);
