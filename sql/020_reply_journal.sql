-- Paid replies of tasks without a stored result. A resumed run reads them instead of calling the model again.
CREATE TABLE reply_journal (
  run_id   TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  task_id  INTEGER NOT NULL,
  epoch    INTEGER NOT NULL,
  position INTEGER NOT NULL,              -- 0, 1, ...: order in which the replies arrived
  entry    TEXT NOT NULL,                 -- JSON: caller, SHA-256 of the request, reply
  PRIMARY KEY (run_id, task_id, epoch, position)
) WITHOUT ROWID;
