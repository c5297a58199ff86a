-- Words of every script: the tokenizer reads Unicode (curly quotes and dashes separate words, case and accents do not
-- count), and mail in scripts that put no spaces between words is found by its pairs of characters.
-- bigram_text() and indexed() are the program's: the pairs of a mail, NULL where there are none, and progress.

CREATE TABLE mail_bigrams (
  mail_id INTEGER PRIMARY KEY REFERENCES mails(id),
  bigrams TEXT NOT NULL
);

INSERT INTO mail_bigrams (mail_id, bigrams)
SELECT id, bigrams FROM (SELECT id, bigram_text(subject, body) AS bigrams FROM mails) WHERE bigrams IS NOT NULL;

DROP TABLE emails_fts;
DROP VIEW indexed_mails;

CREATE VIEW indexed_mails AS
SELECT o.position, m.subject, m.body, o.parties, b.bigrams
FROM mail_order o JOIN mails m ON m.id = o.mail_id LEFT JOIN mail_bigrams b ON b.mail_id = o.mail_id;

-- rowid = mail_order.position, as before.
CREATE VIRTUAL TABLE emails_fts USING fts5(
  subject,
  body,
  parties,
  bigrams,
  content = 'indexed_mails',
  content_rowid = 'position',
  tokenize = 'porter unicode61 remove_diacritics 2'
);

INSERT INTO emails_fts (emails_fts, rank) VALUES ('hashsize', 16777216);
INSERT INTO emails_fts (emails_fts, rank) VALUES ('automerge', 0);
INSERT INTO emails_fts (emails_fts, rank) VALUES ('crisismerge', 1999);

INSERT INTO emails_fts (rowid, subject, body, parties, bigrams)
SELECT position, subject, body, parties, bigrams FROM indexed_mails WHERE indexed(position) ORDER BY position;

INSERT INTO emails_fts (emails_fts) VALUES ('optimize');
