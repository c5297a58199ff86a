-- Display names from the header, to search by. Empty for mail of an earlier version until it is imported again.

CREATE TABLE mail_names (
  mail_id INTEGER PRIMARY KEY REFERENCES mails(id),
  names   TEXT NOT NULL                   -- JSON array, sorted; only names with words that the addresses lack
);
