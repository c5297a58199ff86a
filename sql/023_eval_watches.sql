-- Watches of validated evals: fixed anchor traces that are judged again, and the pass rates of fresh traces.

CREATE TABLE eval_baselines (
  id                INTEGER PRIMARY KEY,
  eval_id           INTEGER NOT NULL REFERENCES evals(id) ON DELETE CASCADE,
  tested_at         TEXT NOT NULL,        -- when the eval was validated; a newer test has its own baseline
  repeats           INTEGER,              -- repeated judgments of anchors; null: results do not depend on chance
  repeats_differing INTEGER,              -- with another result than the stored one
  reference         INTEGER NOT NULL,     -- judged traces of the validated agents
  reference_passed  INTEGER NOT NULL,
  created_at        TEXT NOT NULL,
  UNIQUE (eval_id, tested_at)
);

CREATE TABLE eval_anchors (
  baseline_id INTEGER NOT NULL REFERENCES eval_baselines(id) ON DELETE CASCADE,
  trace_id    TEXT NOT NULL REFERENCES traces(id) ON DELETE CASCADE,
  result      TEXT NOT NULL CHECK (result IN ('pass', 'fail', 'not_applicable')),
  PRIMARY KEY (baseline_id, trace_id)
) WITHOUT ROWID;

CREATE INDEX idx_eval_anchors_trace ON eval_anchors(trace_id);

CREATE TABLE eval_watches (
  id                INTEGER PRIMARY KEY,
  baseline_id       INTEGER NOT NULL REFERENCES eval_baselines(id) ON DELETE CASCADE,
  run_id            TEXT NOT NULL,
  anchors           INTEGER NOT NULL,     -- anchors judged again
  anchors_differing INTEGER NOT NULL,     -- with another result than the stored one
  fresh             INTEGER NOT NULL,     -- judged traces of the run; 0: counted before, or part of the reference
  fresh_passed      INTEGER NOT NULL,
  created_at        TEXT NOT NULL
);

CREATE INDEX idx_eval_watches_baseline ON eval_watches(baseline_id);
