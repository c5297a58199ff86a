"""ART's import, following its code: a mail parser, then one transaction into tables with one row per recipient, and
indexes and full text (FTS5's own tokenizer) at the end. ART parses with the library mail-parser. If that is not
installed, this program uses the standard library, which is several times as fast.
Run as a program: art-import.py CSV DB.
"""

import csv
import datetime
import email
import email.utils
import resource
import sqlite3
import sys

try:
    import mailparser
except ImportError:
    mailparser = None

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
CREATE INDEX idx_emails_message_id ON emails(message_id);
CREATE INDEX idx_recipients_address ON recipients(recipient_address);
CREATE INDEX idx_recipients_type ON recipients(recipient_type);
CREATE INDEX idx_recipients_email ON recipients(email_id);
CREATE INDEX idx_recipients_address_email ON recipients(recipient_address, email_id);
CREATE VIRTUAL TABLE emails_fts USING fts5(subject, body, content=emails, content_rowid=id);
INSERT INTO emails_fts (emails_fts) VALUES ('rebuild');
"""

MAX_BODY = 5_000
MAX_RECIPIENTS = 30


def read_mails(path):
    """(file, message_id, subject, sender, recipients, date, body) of each row."""
    csv.field_size_limit(sys.maxsize)
    parse = parse_by_standard_library if mailparser is None else parse_by_mail_parser
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        for row in csv.DictReader(file):
            yield row["file"], *parse(row["message"])


def parse_by_mail_parser(text):
    mail = mailparser.parse_from_string(text)
    sender = mail.from_[0][1] if mail.from_ else ""
    recipients = [(address, kind) for kind in ("to", "cc", "bcc") for _, address in getattr(mail, kind)]
    return mail.message_id, mail.subject, sender, recipients, mail.date and iso(mail.date), mail.body


def parse_by_standard_library(text):
    mail = email.message_from_string(text)
    recipients = [(address, kind) for kind in ("to", "cc", "bcc") for address in addresses(mail, kind)]
    return mail["message-id"], mail["subject"] or "", mail["from"] or "", recipients, date_of(mail), body_of(mail)


def addresses(message, header):
    return [address.strip() for address in (message[header] or "").split(",") if address.strip()]


def date_of(message):
    try:
        return iso(email.utils.parsedate_to_datetime(message["date"]).astimezone(datetime.timezone.utc))
    except (TypeError, ValueError, OverflowError):
        return None


def iso(date):
    return date.strftime("%Y-%m-%dT%H:%M:%S.000Z")


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
    for file, message_id, subject, sender, recipients, date, body in read_mails(path):
        key = (subject, body, sender)
        if len(body) > MAX_BODY or len(recipients) > MAX_RECIPIENTS or key in seen:
            continue
        seen.add(key)
        added = db.execute(
            "INSERT OR IGNORE INTO emails (message_id, subject, from_address, date, body, file_name)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (message_id, subject, sender, date, body, file),
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
