-- Open coding of traces, the failure modes that the notes are grouped into, and adjudicated labels.

CREATE TABLE coding_notes (
  trace_id   TEXT PRIMARY KEY REFERENCES traces(id) ON DELETE CASCADE,
  note       TEXT,                        -- the first thing that went wrong; null: nothing wrong
  annotator  TEXT,
  drawn_from INTEGER,                     -- number of traces that had the same chance; null: somebody chose it
  created_at TEXT NOT NULL
) WITHOUT ROWID;

-- The name is also the criterion of the mode's labels.
CREATE TABLE failure_modes (
  name       TEXT PRIMARY KEY,
  fix        TEXT NOT NULL DEFAULT 'eval' CHECK (fix IN ('eval', 'prompt')),
  created_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE coded_modes (
  trace_id TEXT NOT NULL REFERENCES coding_notes(trace_id) ON DELETE CASCADE,
  mode     TEXT NOT NULL REFERENCES failure_modes(name) ON UPDATE CASCADE ON DELETE CASCADE,
  PRIMARY KEY (trace_id, mode)
) WITHOUT ROWID;

CREATE INDEX idx_coded_modes_mode ON coded_modes(mode);

-- How a person arrived at a label. coded: derived from a coding note. adjudicated: decided between two people's labels.
ALTER TABLE eval_labels ADD COLUMN basis TEXT NOT NULL DEFAULT 'direct'
  CHECK (basis IN ('direct', 'coded', 'adjudicated'));
