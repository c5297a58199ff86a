import { Database } from "../src/store/sqlite.js";
import { readPlainMails } from "./plain-mail.js";

/**
 * A plain bulk load like a careful script's: one transaction, rows first, indexes and full text at the end. Every copy
 * is a separate email, and its mailbox is the folder's name. Run as a program: plain-import.ts CSV DB.
 */

const TABLES = `
  CREATE TABLE emails (id INTEGER PRIMARY KEY, message_id TEXT, inbox TEXT NOT NULL, subject TEXT, sender TEXT, recipients TEXT, date TEXT, body TEXT);
  CREATE VIRTUAL TABLE emails_fts USING fts5(subject, body, content=emails, content_rowid=id, tokenize='porter unicode61 remove_diacritics 2');
`;

const INDEXES = `
  CREATE INDEX idx_emails_message_id ON emails(message_id);
  CREATE INDEX idx_emails_inbox_date ON emails(inbox, date DESC);
  INSERT INTO emails_fts (emails_fts) VALUES ('rebuild');
`;

async function plainImport(csv: string, path: string): Promise<void> {
  const db = new Database(path);
  db.pragma("journal_mode = OFF");
  db.pragma("synchronous = OFF");
  db.exec(TABLES);
  const add = db.prepare(
    "INSERT INTO emails (message_id, inbox, subject, sender, recipients, date, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  db.exec("BEGIN");
  for await (const { file, messageId, subject, from, to, cc, bcc, date, body } of readPlainMails(csv)) {
    add.run(messageId, file.split("/")[0], subject, from, JSON.stringify([...to, ...cc, ...bcc]), date, body);
  }
  db.exec(INDEXES);
  db.exec("COMMIT");
  db.close();
}

const [, , csv, db] = process.argv;
if (csv !== undefined && db !== undefined) await plainImport(csv, db);
