-- What a failure mode means, as a sentence about a good trace, and who labelled.

CREATE TABLE eval_criteria (
  name       TEXT PRIMARY KEY,
  sentence   TEXT NOT NULL,
  changed_at TEXT NOT NULL
) WITHOUT ROWID;

ALTER TABLE eval_labels ADD COLUMN annotator TEXT; -- of a person's label; null: nobody was named
