-- Labels from files that do not say who labeled. The table is made again, because its check has to accept another source.

ALTER TABLE eval_labels RENAME TO eval_labels_before;

CREATE TABLE eval_labels (
  id          INTEGER PRIMARY KEY,
  trace_id    TEXT NOT NULL REFERENCES traces(id) ON DELETE CASCADE,
  criterion   TEXT NOT NULL,               -- the failure mode that the label is for; overall: none in particular
  label       TEXT NOT NULL CHECK (label IN ('good', 'bad', 'neutral', 'skip')),
  source      TEXT NOT NULL CHECK (source IN ('person', 'import', 'judge', 'score')), -- import: a file does not say who
  note        TEXT,
  is_repeat   INTEGER NOT NULL DEFAULT 0,  -- 1: asked again to measure self-agreement
  created_at  TEXT NOT NULL,
  drawn       TEXT NOT NULL DEFAULT 'unknown'
    CHECK (drawn IN ('random', 'enriched', 'all', 'hard', 'unknown')), -- hard: of earlier versions, not counted
  drawn_from  INTEGER,                     -- random, enriched: number of traces that could be drawn
  annotator   TEXT,                        -- of a person's label; null: nobody was named
  basis       TEXT NOT NULL DEFAULT 'direct' CHECK (basis IN ('direct', 'coded', 'adjudicated')),
  probability REAL CHECK (probability > 0 AND probability <= 1) -- enriched: of drawing this trace from the drawn_from
);

INSERT INTO eval_labels
  (id, trace_id, criterion, label, source, note, is_repeat, created_at, drawn, drawn_from, annotator, basis, probability)
SELECT id, trace_id, criterion, label, source, note, is_repeat, created_at, drawn, drawn_from, annotator, basis, probability
FROM eval_labels_before;

DROP TABLE eval_labels_before;

CREATE INDEX idx_eval_labels_trace ON eval_labels(trace_id);
CREATE INDEX idx_eval_labels_criterion ON eval_labels(criterion, trace_id);
