-- One full-text index over all mail, with the text alone: whose mail it is, and names, are in tables of their own.
-- name_text() and indexed() are the program's: the names in the addresses of an email, and progress.

-- The mail in the mailbox of an address: sent by it, sent to it, or filed by its owner.
CREATE TABLE mailboxes (
  address_id   INTEGER NOT NULL REFERENCES addresses(id),
  position     INTEGER NOT NULL,          -- mail_order.position
  is_sender    INTEGER NOT NULL,
  is_recipient INTEGER NOT NULL,
  PRIMARY KEY (address_id, position)
) WITHOUT ROWID;

INSERT INTO mailboxes (address_id, position, is_sender, is_recipient)
SELECT CAST(substr(party.value, 3) AS INTEGER), o.position,
       instr(' ' || o.parties || ' ', ' from' || substr(party.value, 3) || ' ') > 0,
       instr(' ' || o.parties || ' ', ' to' || substr(party.value, 3) || ' ') > 0
FROM mail_order o, json_each('["' || replace(o.parties, ' ', '","') || '"]') party
WHERE party.value LIKE 'in%' ORDER BY 1, 2;

DROP TABLE emails_fts;
DROP TABLE emails_fts_older;
DROP VIEW indexed_mails;
DROP VIEW indexed_older_mails;
ALTER TABLE corpus_state DROP COLUMN older_from;
ALTER TABLE mail_order DROP COLUMN parties;
ALTER TABLE mail_order ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0; -- length of subject and body
UPDATE mail_order SET bytes =
  (SELECT octet_length(m.subject) + octet_length(m.body) FROM mails m WHERE m.id = mail_order.mail_id);

CREATE VIEW indexed_mails AS
SELECT o.position, m.subject, m.body FROM mail_order o JOIN mails m ON m.id = o.mail_id;

-- rowid = mail_order.position, newest first.
CREATE VIRTUAL TABLE emails_fts USING fts5(
  subject,
  body,
  content = 'indexed_mails',
  content_rowid = 'position',
  tokenize = 'porter unicode61 remove_diacritics 2'
);

-- What else finds an email: names of its people, and character pairs of scripts without spaces. Same rowids.
CREATE VIRTUAL TABLE mail_words USING fts5(
  names,
  bigrams,
  content = '',
  tokenize = 'porter unicode61 remove_diacritics 2'
);

INSERT INTO emails_fts (emails_fts, rank) VALUES ('hashsize', 16777216), ('automerge', 0), ('crisismerge', 1999);
INSERT INTO mail_words (mail_words, rank) VALUES ('hashsize', 16777216), ('automerge', 0), ('crisismerge', 1999);
INSERT INTO emails_fts (rowid, subject, body)
SELECT position, subject, body FROM indexed_mails WHERE indexed(position) ORDER BY position;
INSERT INTO mail_words (rowid, names, bigrams)
SELECT o.position, name_text(m.sender, m.recipients), b.bigrams
FROM mail_order o JOIN mails m ON m.id = o.mail_id LEFT JOIN mail_bigrams b ON b.mail_id = m.id ORDER BY o.position;
INSERT INTO emails_fts (emails_fts) VALUES ('optimize');
INSERT INTO mail_words (mail_words) VALUES ('optimize');

-- rowid: joins with emails_fts.
DROP VIEW emails;
CREATE VIEW emails AS
SELECT
  x.message_id,
  COALESCE(w.address, w.folder, m.sender) AS inbox,
  m.subject,
  m.sender,
  m.recipients,
  m.date,
  m.body,
  i.started_at AS created_at,
  o.position AS rowid
FROM messages x
JOIN mails m ON m.id = x.mail_id
LEFT JOIN mail_order o ON o.mail_id = m.id
JOIN imports i ON i.id = x.import_id
LEFT JOIN owners w ON w.id = x.owner_id;

UPDATE tools SET description =
  'Search one mailbox. Returns the mails that match the words of the query best, best first; "match" says whether a mail has all of them. Words in double quotes count more where they stand together. Returns message_id, subject, sender, date and a snippet of each mail; use email_get to read one whole.'
WHERE id = 'email_search';
