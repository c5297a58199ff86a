-- Every email has a position, so the view joins mail_order. A LEFT JOIN kept SQLite from starting at the position: a
-- join with emails_fts scanned all mail.

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
JOIN mail_order o ON o.mail_id = m.id
JOIN imports i ON i.id = x.import_id
LEFT JOIN owners w ON w.id = x.owner_id;
