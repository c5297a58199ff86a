-- Display names from the header, to search by. Empty for mail of an earlier version until it is imported again.

CREATE TABLE mail_names (
  mail_id INTEGER PRIMARY KEY REFERENCES mails(id),
  names   TEXT NOT NULL                   -- JSON array, sorted; only names with words that the addresses lack
);

-- mail_bigrams now also contains the plain spelling of words with unusual letters, such as "strasse" for "straße".
DELETE FROM mail_bigrams;
INSERT INTO mail_bigrams (mail_id, bigrams)
SELECT id, bigrams FROM (SELECT id, bigram_text(subject, body) AS bigrams FROM mails) WHERE bigrams IS NOT NULL;

INSERT INTO mail_words (mail_words) VALUES ('delete-all');
INSERT INTO mail_words (mail_words, rank) VALUES ('hashsize', 16777216), ('automerge', 0), ('crisismerge', 1999);
INSERT INTO mail_words (rowid, names, bigrams)
SELECT o.position, name_text(m.sender, m.recipients), b.bigrams
FROM mail_order o JOIN mails m ON m.id = o.mail_id LEFT JOIN mail_bigrams b ON b.mail_id = m.id
WHERE indexed(o.position) ORDER BY o.position;
INSERT INTO mail_words (mail_words) VALUES ('optimize');
