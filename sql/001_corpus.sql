-- The mail. One row of `mails` is one distinct mail; the Message-IDs under which it was published,
-- the folders it was filed in and the imports that brought it stand beside it.

CREATE TABLE imports (
  id          INTEGER PRIMARY KEY,
  source      TEXT NOT NULL,
  format      TEXT NOT NULL,
  filter      TEXT NOT NULL,
  started_at  TEXT NOT NULL,
  finished_at TEXT
);

CREATE TABLE mails (
  id           INTEGER PRIMARY KEY,
  content_hash BLOB NOT NULL UNIQUE,      -- of subject, body, sender, recipients and date
  subject      TEXT NOT NULL,
  sender       TEXT NOT NULL,
  recipients   TEXT NOT NULL,             -- JSON array: to, then cc, then bcc, each address once
  to_count     INTEGER NOT NULL,          -- how many of the recipients are to,
  cc_count     INTEGER NOT NULL,          -- and how many after them are cc; the rest are bcc
  date         TEXT,                      -- ISO 8601, UTC; NULL where the mail has no readable date
  body         TEXT NOT NULL
);

-- Whose folders mail was filed in. The address is worked out from the mail itself or given by a map file.
CREATE TABLE owners (
  id      INTEGER PRIMARY KEY,
  folder  TEXT NOT NULL UNIQUE,           -- 'crandell-s', or the address itself where the source names it
  address TEXT,
  basis   TEXT                            -- 'map', 'source', 'sent', 'received'; NULL where nothing could be found
);

CREATE TABLE messages (
  message_id TEXT PRIMARY KEY,
  mail_id    INTEGER NOT NULL REFERENCES mails(id),
  owner_id   INTEGER REFERENCES owners(id),
  path       TEXT NOT NULL,
  import_id  INTEGER NOT NULL REFERENCES imports(id)
) WITHOUT ROWID;

CREATE INDEX idx_messages_mail ON messages(mail_id);

-- Every owner in whose folders a mail lies, whichever of its copies was filed there.
CREATE TABLE filings (
  mail_id  INTEGER NOT NULL REFERENCES mails(id),
  owner_id INTEGER NOT NULL REFERENCES owners(id),
  PRIMARY KEY (mail_id, owner_id)
) WITHOUT ROWID;

CREATE TABLE addresses (
  id      INTEGER PRIMARY KEY,
  address TEXT NOT NULL UNIQUE
);

-- The mails in the order of their dates, and who has to do with each: 'in7' lies in the mailbox of
-- address 7, 'from7' was sent by it, 'to7' went to it. Made anew by every import that adds mail.
CREATE TABLE mail_order (
  position INTEGER PRIMARY KEY,           -- newest first; mails without a date come last
  mail_id  INTEGER NOT NULL UNIQUE REFERENCES mails(id),
  date     TEXT,
  parties  TEXT NOT NULL
);

-- Either way through it dates and positions go together.
CREATE INDEX idx_mail_order_date ON mail_order(date DESC);

CREATE VIEW indexed_mails AS
SELECT o.position, m.subject, m.body, o.parties
FROM mail_order o JOIN mails m ON m.id = o.mail_id;

-- rowid = mail_order.position, so that newest first is the index's own order (backwards takes it a fifth
-- longer) and the mailbox, a period or a cutoff narrows the search inside the index.
CREATE VIRTUAL TABLE emails_fts USING fts5(
  subject,
  body,
  parties,
  content = 'indexed_mails',
  content_rowid = 'position',
  tokenize = 'porter ascii'
);

-- What was published: one row per Message-ID.
CREATE VIEW emails AS
SELECT
  x.message_id,
  COALESCE(w.address, w.folder, m.sender) AS inbox,
  m.subject,
  m.sender,
  m.recipients,
  m.date,
  m.body,
  i.started_at AS created_at
FROM messages x
JOIN mails m ON m.id = x.mail_id
JOIN imports i ON i.id = x.import_id
LEFT JOIN owners w ON w.id = x.owner_id;

-- One row: what the imports left behind.
CREATE TABLE corpus_state (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  fingerprint TEXT NOT NULL,
  updated_at  TEXT NOT NULL
);
