"""ART's own way to import, after its description: Python's mail parser, then one transaction into tables with a row per
recipient, and indexes, full text (FTS5's own tokenizer) at the end. Standard library only.
Run as a program: art-import.py CSV DB.
"""

import csv
import datetime
import email
import email.utils
import resource
import sqlite3
import sys

TABLES = """
CREATE TABLE emails (
  id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT UNIQUE, subject TEXT, from_address TEXT, date TEXT, body TEXT,
  file_name TEXT
);
CREATE TABLE recipients (
  email_id INTEGER NOT NULL REFERENCES emails(id), recipient_address TEXT NOT NULL, recipient_type TEXT NOT NULL
);
"""

INDEXES = """
CREATE INDEX idx_emails_from ON emails(from_address);
CREATE INDEX idx_emails_date ON emails(date);
CREATE INDEX idx_recipients_address ON recipients(recipient_address);
CREATE INDEX idx_recipients_email ON recipients(email_id);
CREATE VIRTUAL TABLE emails_fts USING fts5(subject, body, content=emails, content_rowid=id);
INSERT INTO emails_fts (emails_fts) VALUES ('rebuild');
"""

MAX_BODY = 5_000
MAX_RECIPIENTS = 30


def read_mails(path):
    csv.field_size_limit(sys.maxsize)
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        for row in csv.DictReader(file):
            yield row["file"], email.message_from_string(row["message"])


def addresses(message, header):
    return [address.strip() for address in (message[header] or "").split(",") if address.strip()]


def iso_date(message):
    try:
        date = email.utils.parsedate_to_datetime(message["date"])
        return date.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    except (TypeError, ValueError, OverflowError):
        return None


def body_of(message):
    parts = [part for part in message.walk() if part.get_content_type() == "text/plain"]
    return "\n".join((part.get_payload(decode=True) or b"").decode("utf-8", "replace") for part in parts)


def art_import(path, database):
    db = sqlite3.connect(database, isolation_level=None)
    db.execute("PRAGMA journal_mode = MEMORY")
    db.execute("PRAGMA synchronous = OFF")
    db.executescript(TABLES)
    db.execute("BEGIN")
    seen = set()
    for file, message in read_mails(path):
        subject, sender, body = message["subject"] or "", message["from"] or "", body_of(message)
        recipients = [(address, kind) for kind in ("to", "cc", "bcc") for address in addresses(message, kind)]
        key = (subject, body, sender)
        if len(body) > MAX_BODY or len(recipients) > MAX_RECIPIENTS or key in seen:
            continue
        seen.add(key)
        added = db.execute(
            "INSERT OR IGNORE INTO emails (message_id, subject, from_address, date, body, file_name)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (message["message-id"], subject, sender, iso_date(message), body, file),
        )
        if added.rowcount == 1:
            rows = [(added.lastrowid, address, kind) for address, kind in recipients]
            db.executemany("INSERT INTO recipients VALUES (?, ?, ?)", rows)
    db.execute("COMMIT")
    db.executescript(INDEXES)
    db.close()


art_import(*sys.argv[1:])
# As the other imports report it, in KB.
print(f"\npeak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}", file=sys.stderr)
