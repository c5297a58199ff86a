-- Second notes about the same trace, which measure how often notes are wrong. The tables are made again, because their
-- keys change.

ALTER TABLE coded_modes RENAME TO coded_modes_before;
ALTER TABLE coding_notes RENAME TO coding_notes_before;

CREATE TABLE coding_notes (
  trace_id    TEXT NOT NULL REFERENCES traces(id) ON DELETE CASCADE,
  is_repeat   INTEGER NOT NULL DEFAULT 0 CHECK (is_repeat IN (0, 1)), -- 1: shown again without the first note
  note        TEXT,                        -- the first thing that went wrong; null: nothing wrong
  annotator   TEXT,
  drawn_from  INTEGER,                     -- number of traces that could be drawn; null: somebody chose it
  probability REAL CHECK (probability > 0 AND probability <= 1), -- enriched: of drawing this trace from the drawn_from
  created_at  TEXT NOT NULL,
  PRIMARY KEY (trace_id, is_repeat)
) WITHOUT ROWID;

CREATE TABLE coded_modes (
  trace_id  TEXT NOT NULL,
  is_repeat INTEGER NOT NULL DEFAULT 0,
  mode      TEXT NOT NULL REFERENCES failure_modes(name) ON UPDATE CASCADE ON DELETE CASCADE,
  PRIMARY KEY (trace_id, is_repeat, mode),
  FOREIGN KEY (trace_id, is_repeat) REFERENCES coding_notes(trace_id, is_repeat) ON DELETE CASCADE
) WITHOUT ROWID;

INSERT INTO coding_notes (trace_id, note, annotator, drawn_from, probability, created_at)
SELECT trace_id, note, annotator, drawn_from, probability, created_at FROM coding_notes_before;

INSERT INTO coded_modes (trace_id, mode) SELECT trace_id, mode FROM coded_modes_before;

DROP TABLE coded_modes_before;
DROP TABLE coding_notes_before;

CREATE INDEX idx_coded_modes_mode ON coded_modes(mode);
