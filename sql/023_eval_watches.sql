-- Watches of validated evals: fixed anchor traces that are judged again, and the pass rates of fresh traces.

CREATE TABLE eval_baselines (
  id               INTEGER PRIMARY KEY,
  eval_id          INTEGER NOT NULL REFERENCES evals(id) ON DELETE CASCADE,
  tested_at        TEXT NOT NULL,       -- when the eval was validated; a newer test has its own baseline
  reference        INTEGER NOT NULL,    -- judged traces of the validated agents
  reference_passed INTEGER NOT NULL,
  created_at       TEXT NOT NULL,
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
  baseline_id  INTEGER NOT NULL REFERENCES eval_baselines(id) ON DELETE CASCADE,
  round        INTEGER NOT NULL,        -- 1, 2, ...
  run_id       TEXT NOT NULL,
  fresh        INTEGER NOT NULL,        -- judged traces of the run; 0: counted before, or part of the reference
  fresh_passed INTEGER NOT NULL,
  created_at   TEXT NOT NULL,
  PRIMARY KEY (baseline_id, round)
) WITHOUT ROWID;

-- Results that differ from an anchor's stored one (1) or equal it (0). Anchors on which the eval failed have none.
CREATE TABLE eval_anchor_rounds (
  baseline_id INTEGER NOT NULL,
  trace_id    TEXT NOT NULL,
  round       INTEGER NOT NULL,         -- of the watch; 0, -1, ...: repeats of the first watch, which show the noise
  differs     INTEGER NOT NULL,
  PRIMARY KEY (baseline_id, trace_id, round),
  FOREIGN KEY (baseline_id, trace_id) REFERENCES eval_anchors(baseline_id, trace_id) ON DELETE CASCADE
) WITHOUT ROWID;
