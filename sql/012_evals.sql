-- Evals: checks on traces, the labels they are chosen and measured by, and what they said.

-- Kept as they come: of a source the newest counts, and a person's comes before a judge's, a judge's before a score's.
CREATE TABLE eval_labels (
  id         INTEGER PRIMARY KEY,
  trace_id   TEXT NOT NULL REFERENCES traces(id) ON DELETE CASCADE,
  criterion  TEXT NOT NULL,                -- the failure mode it is about; overall: none in particular
  label      TEXT NOT NULL CHECK (label IN ('good', 'bad', 'neutral', 'skip')),
  source     TEXT NOT NULL CHECK (source IN ('person', 'judge', 'score')),
  note       TEXT,
  is_repeat  INTEGER NOT NULL DEFAULT 0,   -- 1: asked again to measure self-agreement
  created_at TEXT NOT NULL
);

CREATE INDEX idx_eval_labels_trace ON eval_labels(trace_id);
CREATE INDEX idx_eval_labels_criterion ON eval_labels(criterion, trace_id);

CREATE TABLE evals (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  version    INTEGER NOT NULL,
  definition TEXT NOT NULL,                -- JSON, as in an eval's file
  status     TEXT NOT NULL CHECK (status IN ('draft', 'active', 'retired')),
  created_at TEXT NOT NULL,
  UNIQUE (name, version)
);

CREATE UNIQUE INDEX idx_evals_active ON evals(name) WHERE status = 'active';

CREATE TABLE eval_tests (
  id         INTEGER PRIMARY KEY,
  eval_id    INTEGER NOT NULL REFERENCES evals(id) ON DELETE CASCADE,
  criterion  TEXT NOT NULL,
  passed     INTEGER NOT NULL,
  report     TEXT NOT NULL,                -- JSON
  created_at TEXT NOT NULL
);

CREATE INDEX idx_eval_tests_eval ON eval_tests(eval_id);
CREATE INDEX idx_eval_tests_criterion ON eval_tests(criterion);
