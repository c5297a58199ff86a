-- How labelled traces were drawn, and the half that each question belongs to for good.

ALTER TABLE eval_labels ADD COLUMN drawn TEXT NOT NULL DEFAULT 'unknown'
  CHECK (drawn IN ('random', 'all', 'hard', 'unknown'));
ALTER TABLE eval_labels ADD COLUMN drawn_from INTEGER; -- random: the number of traces that had the same chance

-- A question goes by its words, its gold and its pair: whatever shares one of these keys is one question.
CREATE TABLE eval_questions (
  key      TEXT PRIMARY KEY,
  question TEXT NOT NULL,
  half     TEXT NOT NULL CHECK (half IN ('training', 'heldout'))
) WITHOUT ROWID;

CREATE TABLE eval_traces (
  trace_id TEXT PRIMARY KEY REFERENCES traces(id) ON DELETE CASCADE,
  question TEXT NOT NULL,
  half     TEXT NOT NULL CHECK (half IN ('training', 'heldout')),
  reads    INTEGER NOT NULL DEFAULT 0       -- tests that read it, of any criterion
) WITHOUT ROWID;

-- The criterion whose newest test says what the eval is worth; null: whichever was tested last.
ALTER TABLE evals ADD COLUMN proved_for TEXT;
