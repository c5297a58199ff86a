-- What a person calls a run, and says of it.
ALTER TABLE runs ADD COLUMN name TEXT;   -- NULL: none
ALTER TABLE runs ADD COLUMN note TEXT;   -- NULL: none

CREATE UNIQUE INDEX idx_runs_name ON runs(name) WHERE name IS NOT NULL;

CREATE TABLE run_tags (
  run_id TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  tag    TEXT NOT NULL,
  PRIMARY KEY (run_id, tag)
) WITHOUT ROWID;

-- Deleting a trace looks for results that refer to it.
CREATE INDEX idx_results_trace ON results(trace_id);
