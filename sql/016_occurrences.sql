-- Datasets and suite tasks are stored once per content, and many folders can contain the same content. Where a run took
-- its tasks from is a fact about the run.

ALTER TABLE runs ADD COLUMN source TEXT NOT NULL DEFAULT ''; -- name of the dataset, path of a file, or folder of a suite
ALTER TABLE runs ADD COLUMN revision TEXT;                   -- pinned revision of a published dataset
UPDATE runs SET (source, revision) = (SELECT source, revision FROM datasets WHERE id = runs.dataset_id);
ALTER TABLE datasets DROP COLUMN source;
ALTER TABLE datasets DROP COLUMN revision;

-- The SHA-256 of the task's definition and its files. NULL: stored by a version that did not read the files.
ALTER TABLE suite_tasks ADD COLUMN sha256 TEXT;
-- The task's folder becomes relative to the suite's root folder, and the suite's name is the name of that folder.
UPDATE suite_tasks SET task =
  json_remove(json_set(task, '$.folder', substr(task ->> '$.folder', length(task ->> '$.suite.root') + 2)), '$.suite')
WHERE task ->> '$.suite.root' IS NOT NULL;
