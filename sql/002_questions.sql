-- The questions that runs were made over, kept with the file they came from, so that a run can go on
-- and be graded again without it.
CREATE TABLE datasets (
  id       TEXT PRIMARY KEY,              -- first 16 digits of the SHA-256 of the bytes read
  source   TEXT NOT NULL,
  revision TEXT,
  sha256   TEXT NOT NULL
);

CREATE TABLE art_e_tasks (
  dataset_id    TEXT NOT NULL REFERENCES datasets(id),
  id            INTEGER NOT NULL,
  question      TEXT NOT NULL,
  answer        TEXT NOT NULL,
  message_ids   TEXT NOT NULL,            -- JSON array
  inbox_address TEXT NOT NULL,
  query_date    TEXT NOT NULL,            -- YYYY-MM-DD
  how_realistic REAL NOT NULL,
  split         TEXT NOT NULL,
  PRIMARY KEY (dataset_id, split, id)
) WITHOUT ROWID;

CREATE INDEX idx_art_e_tasks_inbox ON art_e_tasks(inbox_address);
