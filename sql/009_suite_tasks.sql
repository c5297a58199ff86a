-- The tasks of suites that runs were made over, as their files stood then. `task` is JSON: the task with the name and
-- root folder of its suite. A suite is a row of `datasets`: its source is its folder, its digest that of the task files.
CREATE TABLE suite_tasks (
  dataset_id TEXT NOT NULL REFERENCES datasets(id),
  id         TEXT NOT NULL,
  task       TEXT NOT NULL,
  PRIMARY KEY (dataset_id, id)
) WITHOUT ROWID;
