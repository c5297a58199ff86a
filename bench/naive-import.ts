import { createReadStream } from "node:fs";
import { parse } from "csv-parse";
import PostalMime from "postal-mime";
import { Database } from "../src/store/sqlite.js";

/**
 * A typical first attempt at an import: a library for the mail, a commit every 100 rows, and every copy indexed
 * immediately by FTS triggers. Run as a program: naive-import.ts CSV DB.
 */

export const NAIVE_TABLES = `
  CREATE TABLE emails (id INTEGER PRIMARY KEY, message_id TEXT, inbox TEXT NOT NULL, subject TEXT, sender TEXT, recipients TEXT, date TEXT, body TEXT);
  CREATE TABLE recipients (email_id INTEGER NOT NULL, address TEXT NOT NULL);
`;

export const NAIVE_INDEXES = `
  CREATE INDEX idx_emails_message_id ON emails(message_id);
  CREATE INDEX idx_emails_inbox ON emails(inbox);
  CREATE INDEX idx_emails_date ON emails(date DESC);
  CREATE INDEX idx_emails_sender ON emails(sender);
  CREATE INDEX idx_emails_inbox_date ON emails(inbox, date DESC);
  CREATE INDEX idx_recipients ON recipients(address, email_id);
  CREATE INDEX idx_recipients_email ON recipients(email_id, address);
  CREATE VIRTUAL TABLE emails_fts USING fts5(subject, body, content=emails, content_rowid=id, tokenize='porter ascii');
  INSERT INTO emails_fts (emails_fts) VALUES ('rebuild');
`;

const TRIGGER = `
  CREATE TRIGGER emails_ai AFTER INSERT ON emails BEGIN
    INSERT INTO emails_fts (rowid, subject, body) VALUES (new.id, new.subject, new.body);
  END;
`;

const BATCH = 100;

export async function naiveImport(csv: string, dbPath: string): Promise<number> {
  const db = new Database(dbPath);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = NORMAL");
  db.exec(NAIVE_TABLES + NAIVE_INDEXES + TRIGGER);
  const addMail = db.prepare(
    "INSERT INTO emails (message_id, inbox, subject, sender, recipients, date, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const addRecipient = db.prepare("INSERT INTO recipients (email_id, address) VALUES (?, ?)");
  let mails = 0;
  db.exec("BEGIN");
  for await (const { file, message } of createReadStream(csv).pipe(parse({ columns: true }))) {
    const mail = await PostalMime.parse(message as string);
    const addresses = [...(mail.to ?? []), ...(mail.cc ?? []), ...(mail.bcc ?? [])].map((to) => to.address ?? "");
    const { lastInsertRowid } = addMail.run(
      mail.messageId ?? "",
      (file as string).split("/")[0],
      mail.subject ?? "",
      mail.from?.address ?? "",
      JSON.stringify(addresses),
      mail.date ?? null,
      mail.text ?? "",
    );
    for (const address of new Set(addresses)) addRecipient.run(lastInsertRowid, address);
    mails++;
    if (mails % BATCH === 0) db.exec("COMMIT; BEGIN");
  }
  db.exec("COMMIT");
  db.close();
  return mails;
}

const [, script, csv, db] = process.argv;
if (script?.endsWith("naive-import.ts") && csv !== undefined && db !== undefined) await naiveImport(csv, db);
