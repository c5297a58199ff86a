-- A large import builds its index on two threads, as two: emails_fts of the newer mails and emails_fts_older of those
-- from position `older_from` on. NULL: emails_fts has all mails, and the other none.
ALTER TABLE corpus_state ADD COLUMN older_from INTEGER;

DROP VIEW indexed_mails;

-- The content of emails_fts.
CREATE VIEW indexed_mails AS
SELECT o.position, m.subject, m.body, o.parties, b.bigrams
FROM mail_order o JOIN mails m ON m.id = o.mail_id LEFT JOIN mail_bigrams b ON b.mail_id = o.mail_id
WHERE o.position < coalesce((SELECT older_from FROM corpus_state), 9223372036854775807);

CREATE VIEW indexed_older_mails AS
SELECT o.position, m.subject, m.body, o.parties, b.bigrams
FROM mail_order o JOIN mails m ON m.id = o.mail_id LEFT JOIN mail_bigrams b ON b.mail_id = o.mail_id
WHERE o.position >= (SELECT older_from FROM corpus_state);

CREATE VIRTUAL TABLE emails_fts_older USING fts5(
  subject,
  body,
  parties,
  bigrams,
  content = 'indexed_older_mails',
  content_rowid = 'position',
  tokenize = 'porter unicode61 remove_diacritics 2'
);
