-- What a run may spend, and where its results file is: a run that goes on keeps both.
ALTER TABLE runs ADD COLUMN limits TEXT;   -- JSON; NULL: none
ALTER TABLE runs ADD COLUMN output TEXT;   -- absolute path; NULL: none
