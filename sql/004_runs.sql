CREATE TABLE runs (
  id                 TEXT PRIMARY KEY,
  agent_id           TEXT NOT NULL,
  model              TEXT NOT NULL,
  dataset_id         TEXT NOT NULL REFERENCES datasets(id),
  split              TEXT NOT NULL,
  settings           TEXT NOT NULL,       -- JSON: everything that decides what the run measures
  corpus_fingerprint TEXT NOT NULL,
  total_tasks        INTEGER NOT NULL,
  status             TEXT NOT NULL CHECK (status IN ('running', 'completed', 'interrupted')),
  worker             TEXT,                -- host and process that work on it; one that is gone holds nothing
  active_ms          INTEGER NOT NULL DEFAULT 0,
  started_at         TEXT NOT NULL,
  completed_at       TEXT
);

-- What is to be answered, in this order. What has no result yet is left to do.
CREATE TABLE run_tasks (
  run_id   TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  task_id  INTEGER NOT NULL,
  epoch    INTEGER NOT NULL,              -- 1, 2, ...: which repeat of the question
  PRIMARY KEY (run_id, position)
) WITHOUT ROWID;

-- Of the tasks of runs, and of chats with an agent that a server holds: those belong to no run and ask no task.
CREATE TABLE traces (
  id         TEXT PRIMARY KEY,
  run_id     TEXT REFERENCES runs(id) ON DELETE CASCADE,
  task_id    INTEGER,
  agent_id   TEXT NOT NULL,
  session_id TEXT NOT NULL,
  started_at TEXT NOT NULL,               -- ISO 8601, UTC
  ending     TEXT NOT NULL,
  trace      TEXT NOT NULL                -- JSON, the whole trace
);

CREATE INDEX idx_traces_run ON traces(run_id, task_id);
-- Newest first; with all that lists are filtered by, so that nobody counts his way through whole traces.
CREATE INDEX idx_traces_started ON traces(started_at, id, agent_id, session_id, ending);

-- The last attempt at a task is its result; earlier ones failed, and stay for what they cost.
CREATE TABLE results (
  run_id         TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  task_id        INTEGER NOT NULL,
  epoch          INTEGER NOT NULL,
  attempt        INTEGER NOT NULL,
  superseded     INTEGER NOT NULL DEFAULT 0,
  trace_id       TEXT NOT NULL REFERENCES traces(id),
  failed         INTEGER NOT NULL,
  semantic_score REAL,
  result         TEXT NOT NULL,           -- JSON, the task's line of the results file
  PRIMARY KEY (run_id, task_id, epoch, attempt)
) WITHOUT ROWID;
