-- The tables of the database. docs/database.md explains how to query them.
--
-- Dates and times are ISO 8601 strings in UTC. JSON columns are validated when they are read, because people can edit
-- the file. Flags are 0 or 1.

---------------------------------------------------------------------------------------------------------------- mail

-- One row per `art-e import`.
CREATE TABLE imports (
  id          INTEGER PRIMARY KEY,
  source      TEXT NOT NULL,              -- path, URL or name of the dataset
  format      TEXT NOT NULL,              -- name of the reader, such as 'maildir'
  filter      TEXT NOT NULL,              -- 'art' if ART's import filter dropped and truncated emails, or 'none'
  started_at  TEXT NOT NULL,
  finished_at TEXT                        -- NULL if the import was interrupted
);

-- One row per distinct email. Copies with the same content share a row.
CREATE TABLE mails (
  id           INTEGER PRIMARY KEY,
  content_hash BLOB NOT NULL UNIQUE,      -- SHA-256 of subject, body, sender, recipients and date
  subject      TEXT NOT NULL,
  sender       TEXT NOT NULL,
  recipients   TEXT NOT NULL,             -- JSON array of addresses without duplicates: to, then cc, then bcc
  to_count     INTEGER NOT NULL,          -- number of `to` addresses in `recipients`
  cc_count     INTEGER NOT NULL,          -- number of `cc` addresses after them; the rest are `bcc`
  date         TEXT,                      -- NULL if the email's date is missing or unreadable
  body         TEXT NOT NULL
);

-- One row per account whose mail folders were imported, such as a person of the Enron corpus.
CREATE TABLE owners (
  id      INTEGER PRIMARY KEY,
  place   TEXT NOT NULL UNIQUE,           -- source and folder of the account, or the address if the source contains it
  folder  TEXT NOT NULL,                  -- displayed name, such as 'crandell-s': the shortest unique end of the place
  address TEXT,                           -- NULL if unknown
  basis   TEXT                            -- evidence: 'map', 'source', 'delivered', 'sent', 'both' or 'received'
);

-- Number of an owner's emails per address in Delivered-To.
CREATE TABLE deliveries (
  owner_id INTEGER NOT NULL REFERENCES owners(id),
  address  TEXT NOT NULL,
  mails    INTEGER NOT NULL,
  PRIMARY KEY (owner_id, address)
) WITHOUT ROWID;

-- One row per Message-ID.
CREATE TABLE messages (
  message_id TEXT PRIMARY KEY,
  mail_id    INTEGER NOT NULL REFERENCES mails(id),
  owner_id   INTEGER REFERENCES owners(id),
  path       TEXT NOT NULL,               -- location of the message in its source
  import_id  INTEGER NOT NULL REFERENCES imports(id)
) WITHOUT ROWID;

CREATE INDEX idx_messages_mail ON messages(mail_id);

-- The owners whose folders contain an email or one of its copies.
CREATE TABLE filings (
  mail_id  INTEGER NOT NULL REFERENCES mails(id),
  owner_id INTEGER NOT NULL REFERENCES owners(id),
  PRIMARY KEY (mail_id, owner_id)
) WITHOUT ROWID;

-- Display names from the email's header that contain words that are missing from its addresses.
CREATE TABLE mail_names (
  mail_id INTEGER PRIMARY KEY REFERENCES mails(id),
  names   TEXT NOT NULL                   -- JSON array, sorted
);

-- Names written next to an address, in lower case and without accents.
CREATE TABLE address_names (
  address TEXT NOT NULL,
  name    TEXT NOT NULL,
  PRIMARY KEY (address, name)
) WITHOUT ROWID;

-- Search terms that the tokenizer does not find in an email: character pairs of scripts without spaces, and plain
-- spellings of words with unusual letters, such as "strasse" for "straße".
CREATE TABLE mail_bigrams (
  mail_id INTEGER PRIMARY KEY REFERENCES mails(id),
  bigrams TEXT NOT NULL
);

-- Message-IDs that an email's In-Reply-To and References name. The emails themselves might not have been imported.
CREATE TABLE mail_references (
  mail_id INTEGER PRIMARY KEY REFERENCES mails(id),
  ids     TEXT NOT NULL                   -- JSON array, the closest first
);

-- One row: the content of the imported mail.
CREATE TABLE corpus_state (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  fingerprint TEXT NOT NULL,              -- SHA-256 of all Message-IDs, contents and mailboxes
  updated_at  TEXT NOT NULL
);

-- The following tables and indexes are derived from the ones above. Each import that adds emails rebuilds them.

CREATE TABLE addresses (
  id      INTEGER PRIMARY KEY,
  address TEXT NOT NULL UNIQUE
);

-- All emails in date order. The position is the rowid in both full-text indexes, so that ascending rowids return the
-- newest emails first. Reading an index backwards takes 20% longer.
CREATE TABLE mail_order (
  position INTEGER PRIMARY KEY,           -- 1 is the newest; emails without a date come last
  mail_id  INTEGER NOT NULL UNIQUE REFERENCES mails(id),
  date     TEXT
);

-- One row: two values per email that ranking needs, in the order of `mail_order`. The first search of a process reads
-- both lists in a millisecond, while joining a mailbox of 35,000 emails takes 14.
CREATE TABLE mail_columns (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  sent_at BLOB NOT NULL,                  -- seconds since 1970 as 64-bit floats, NaN without a date; little-endian
  bytes   BLOB NOT NULL                   -- length of subject and body as 32-bit integers; little-endian
);

-- Converts a date range into a range of positions.
CREATE INDEX idx_mail_order_date ON mail_order(date DESC);

-- The emails in an address's mailbox: emails from the address, to the address, or in its owner's folders.
CREATE TABLE mailboxes (
  address_id   INTEGER NOT NULL REFERENCES addresses(id),
  position     INTEGER NOT NULL,          -- mail_order.position
  is_sender    INTEGER NOT NULL,
  is_recipient INTEGER NOT NULL,
  PRIMARY KEY (address_id, position)
) WITHOUT ROWID;

-- The threads of two or more emails. An email without a row is the only one in its thread.
CREATE TABLE mail_threads (
  mail_id   INTEGER PRIMARY KEY REFERENCES mails(id),
  thread_id INTEGER NOT NULL              -- mails.id of the oldest email in the thread
);

CREATE INDEX idx_mail_threads_thread ON mail_threads(thread_id);

CREATE VIEW indexed_mails AS
SELECT o.position, m.subject, m.body FROM mail_order o JOIN mails m ON m.id = o.mail_id;

CREATE VIRTUAL TABLE emails_fts USING fts5(
  subject,
  body,
  content = 'indexed_mails',
  content_rowid = 'position',
  tokenize = 'porter unicode61 remove_diacritics 2'
);

-- Names of senders and recipients, and the terms of `mail_bigrams`.
CREATE VIRTUAL TABLE mail_words USING fts5(
  names,
  bigrams,
  content = '',
  tokenize = 'porter unicode61 remove_diacritics 2'
);

-- One row per Message-ID. The rowid joins with emails_fts.
CREATE VIEW emails AS
SELECT
  x.message_id,
  COALESCE(w.address, w.folder, m.sender) AS inbox,
  m.subject,
  m.sender,
  m.recipients,
  m.date,
  m.body,
  i.started_at AS created_at,
  o.position AS rowid
FROM messages x
JOIN mails m ON m.id = x.mail_id
-- Not a LEFT JOIN, from whose right side SQLite cannot start: a join with emails_fts would scan all mail.
JOIN mail_order o ON o.mail_id = m.id
JOIN imports i ON i.id = x.import_id
LEFT JOIN owners w ON w.id = x.owner_id;

----------------------------------------------------------------------------------------------------- agents and tools

-- The active version of each agent.
CREATE TABLE agents (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  prompt      TEXT NOT NULL,              -- system prompt with placeholders, such as {{inbox_address}}
  model       TEXT,                       -- 'provider/name'; NULL: the run's model
  settings    TEXT NOT NULL DEFAULT '{}', -- JSON: maxTurns, maxTokens, toolCalls, toolChoice, temperature
  builtin     INTEGER NOT NULL DEFAULT 0, -- built-in agents can be cloned, but not changed
  created_at  TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at  TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- Every version of an agent. Versions of deleted agents stay, because runs refer to them.
CREATE TABLE agent_versions (
  agent_id   TEXT NOT NULL,
  version    INTEGER NOT NULL,            -- 1, 2, ...
  snapshot   TEXT NOT NULL,               -- JSON: prompt, model, settings, and the complete tools
  created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (agent_id, version)
) WITHOUT ROWID;

CREATE TABLE tools (
  id                TEXT PRIMARY KEY,
  name              TEXT NOT NULL,
  description       TEXT NOT NULL,        -- for the model
  parameters_schema TEXT NOT NULL,        -- JSON Schema
  handler_key       TEXT NOT NULL,        -- selects the code that executes a call
  handler_config    TEXT NOT NULL DEFAULT '{}', -- JSON: the handler's URL, program or server. Never contains secrets
  category          TEXT NOT NULL DEFAULT 'general',
  builtin           INTEGER NOT NULL DEFAULT 0,
  created_at        TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at        TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE agent_tools (
  agent_id TEXT NOT NULL REFERENCES agents(id) ON DELETE CASCADE,
  tool_id  TEXT NOT NULL REFERENCES tools(id) ON DELETE CASCADE,
  config   TEXT,                          -- JSON: properties that override the tool's handler_config
  PRIMARY KEY (agent_id, tool_id)
);

CREATE INDEX idx_agent_tools_agent ON agent_tools(agent_id);

----------------------------------------------------------------------------------------- questions, suites and runs

-- Question files and task suites that runs were made with, one row per content. A run stores its own tasks this way, so
-- that it can be resumed and rescored without the file.
CREATE TABLE datasets (
  id     TEXT PRIMARY KEY,                -- first 16 digits of the SHA-256
  sha256 TEXT NOT NULL                    -- of the question file, or of the suite's task files
);

-- Questions about mailboxes.
CREATE TABLE art_e_tasks (
  dataset_id    TEXT NOT NULL REFERENCES datasets(id),
  id            INTEGER NOT NULL,
  question      TEXT NOT NULL,
  answer        TEXT NOT NULL,            -- gold answer
  message_ids   TEXT NOT NULL,            -- JSON array: Message-IDs of the gold emails
  inbox_address TEXT NOT NULL,
  query_date    TEXT NOT NULL,            -- YYYY-MM-DD: last day with visible emails
  how_realistic REAL NOT NULL,            -- 0 to 1
  split         TEXT NOT NULL,            -- 'train' or 'test'
  goal          TEXT,                     -- JSON: the goal state of the mailbox, or null for a question
  drafts        TEXT,                     -- JSON: the drafts at the start of the task, or null without any
  selection     TEXT,                     -- JSON: the emails that a task asks to select, or null for other tasks
  PRIMARY KEY (dataset_id, split, id)
) WITHOUT ROWID;

CREATE INDEX idx_art_e_tasks_inbox ON art_e_tasks(inbox_address);

CREATE TABLE suite_tasks (
  dataset_id TEXT NOT NULL REFERENCES datasets(id),
  id         TEXT NOT NULL,
  task       TEXT NOT NULL,               -- JSON: the task definition, with its folder relative to the suite's root
  sha256     TEXT NOT NULL,               -- of the task definition and its files
  PRIMARY KEY (dataset_id, id)
) WITHOUT ROWID;

CREATE TABLE runs (
  id                 TEXT PRIMARY KEY,
  agent_id           TEXT NOT NULL,
  model              TEXT NOT NULL,
  dataset_id         TEXT NOT NULL REFERENCES datasets(id),
  source             TEXT NOT NULL,       -- dataset name, path of the question file, or root folder of the suite
  revision           TEXT,                -- commit of a published dataset
  split              TEXT NOT NULL,
  settings           TEXT NOT NULL,       -- JSON: everything that affects the results
  limits             TEXT,                -- JSON: cost, token and time budgets
  output             TEXT,                -- absolute path of the results file, or NULL
  corpus_fingerprint TEXT NOT NULL,       -- corpus_state.fingerprint when the run started
  total_tasks        INTEGER NOT NULL,
  status             TEXT NOT NULL CHECK (status IN ('running', 'completed', 'interrupted')),
  worker             TEXT,                -- host and process id of the run's owner
  active_ms          INTEGER NOT NULL DEFAULT 0, -- total duration, without the time between interruption and resume
  started_at         TEXT NOT NULL,
  completed_at       TEXT,
  name               TEXT,                -- set by a person
  note               TEXT                 -- set by a person
);

CREATE UNIQUE INDEX idx_runs_name ON runs(name) WHERE name IS NOT NULL;

CREATE TABLE run_tags (
  run_id TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  tag    TEXT NOT NULL,
  PRIMARY KEY (run_id, tag)
) WITHOUT ROWID;

-- The planned tasks of a run, in order. Tasks without a row in `results` are still to be done.
CREATE TABLE run_tasks (
  run_id   TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  task_id  INTEGER NOT NULL,              -- art_e_tasks.id, or suite_tasks.id (a string)
  epoch    INTEGER NOT NULL,              -- 1, 2, ...: repetition of the task
  PRIMARY KEY (run_id, position)
) WITHOUT ROWID;

-- Traces of run tasks and chats. Lists search, sort and show the generated columns. `score` is the trace's first available
-- headline score.
CREATE TABLE traces (
  id         TEXT PRIMARY KEY,
  run_id     TEXT REFERENCES runs(id) ON DELETE CASCADE, -- NULL for a chat
  task_id    INTEGER,                     -- as in run_tasks; NULL for a chat
  agent_id   TEXT NOT NULL,
  session_id TEXT NOT NULL,               -- sessions.id for a chat
  started_at TEXT NOT NULL,
  ending     TEXT NOT NULL,
  trace      TEXT NOT NULL,               -- JSON: the complete trace
  model      TEXT AS (iif(json_valid(trace), trace ->> '$.model', NULL)),
  question   TEXT AS (iif(json_valid(trace), substr(coalesce(trace ->> '$.question', trace ->> '$.task.question', trace ->> '$.task.instruction'), 1, 1000), NULL)),
  answer     TEXT AS (iif(json_valid(trace), substr(trace ->> '$.answer', 1, 1000), NULL)),
  duration_ms REAL AS (iif(json_valid(trace), trace ->> '$.durationMs', NULL)),
  score      REAL AS (iif(json_valid(trace), coalesce(
    trace ->> '$.scores.reward.value', trace ->> '$.scores.judgeCorrect.value', trace ->> '$.scores.taskScore.value',
    trace ->> '$.scores.goalReached.value', trace ->> '$.scores.selectionF1.value',
    trace ->> '$.scores.sourcesCorrect.value', trace ->> '$.scores.semanticScore.value'), NULL))
);

CREATE INDEX idx_traces_run ON traces(run_id, task_id);
-- Contains all columns of lists, so that they do not read the large `trace`.
CREATE INDEX idx_traces_lists
  ON traces(started_at, id, run_id, task_id, agent_id, session_id, ending, score, duration_ms, model, question, answer);
CREATE INDEX idx_traces_session ON traces(session_id, started_at) WHERE run_id IS NULL;

-- Attempts at the tasks of a run. The newest attempt at a task is its result. Earlier attempts only count toward the
-- cost of the run.
CREATE TABLE results (
  run_id         TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  task_id        INTEGER NOT NULL,        -- as in run_tasks
  epoch          INTEGER NOT NULL,
  attempt        INTEGER NOT NULL,        -- 1, 2, ...
  superseded     INTEGER NOT NULL DEFAULT 0, -- 1 for earlier attempts
  trace_id       TEXT NOT NULL REFERENCES traces(id),
  failed         INTEGER NOT NULL,
  semantic_score REAL,
  result         TEXT NOT NULL,           -- JSON: the task's entry in the results file
  PRIMARY KEY (run_id, task_id, epoch, attempt)
) WITHOUT ROWID;

-- Deleting a trace searches for its results.
CREATE INDEX idx_results_trace ON results(trace_id);

-- Figures of runs for lists, computed by the program. A changed result deletes the row, and the next list computes it.
CREATE TABLE run_summaries (
  run_id         TEXT PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
  tasks          INTEGER NOT NULL,        -- tasks with a result
  completed_tasks INTEGER NOT NULL,
  failed_tasks   INTEGER NOT NULL,
  error          TEXT,                    -- the most frequent error of the failed tasks
  score          REAL,                    -- the headline score, for sorting
  headline       TEXT,                    -- JSON: the headline score with its interval
  cost_usd       REAL,                    -- NULL if a price is unknown
  judge_cost_usd REAL,
  total_cost_usd REAL,
  tokens         INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER results_added AFTER INSERT ON results BEGIN
  DELETE FROM run_summaries WHERE run_id = NEW.run_id;
END;
CREATE TRIGGER results_changed AFTER UPDATE ON results BEGIN
  DELETE FROM run_summaries WHERE run_id = NEW.run_id;
END;
CREATE TRIGGER results_deleted AFTER DELETE ON results BEGIN
  DELETE FROM run_summaries WHERE run_id = OLD.run_id;
END;

-- Paid model replies of tasks without a result. A resumed run reads them instead of calling the model again.
CREATE TABLE reply_journal (
  run_id   TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  task_id  INTEGER NOT NULL,              -- as in run_tasks
  epoch    INTEGER NOT NULL,
  position INTEGER NOT NULL,              -- 0, 1, ...: order of the replies' arrival
  entry    TEXT NOT NULL,                 -- JSON: caller, SHA-256 of the request, reply
  PRIMARY KEY (run_id, task_id, epoch, position)
) WITHOUT ROWID;

-- Unfinished tasks count toward the cost of a run.
CREATE TRIGGER replies_added AFTER INSERT ON reply_journal BEGIN
  DELETE FROM run_summaries WHERE run_id = NEW.run_id;
END;
CREATE TRIGGER replies_deleted AFTER DELETE ON reply_journal BEGIN
  DELETE FROM run_summaries WHERE run_id = OLD.run_id;
END;

--------------------------------------------------------------------------------------------------------------- chats

-- A conversation between a person and an agent. The trace of its newest chat contains all messages.
CREATE TABLE sessions (
  id         TEXT PRIMARY KEY,
  agent_id   TEXT NOT NULL,
  inbox      TEXT,                        -- the only readable mailbox; NULL if the session is not bound to one
  query_date TEXT,                        -- YYYY-MM-DD: last day with visible emails, or NULL without a cutoff
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);

CREATE INDEX idx_sessions_updated ON sessions(updated_at, id);

-- Ratings of answers.
CREATE TABLE feedback (
  id         TEXT PRIMARY KEY,
  trace_id   TEXT NOT NULL REFERENCES traces(id) ON DELETE CASCADE,
  rating     TEXT NOT NULL CHECK (rating IN ('positive', 'neutral', 'negative')),
  notes      TEXT,
  created_at TEXT NOT NULL
);

CREATE INDEX idx_feedback_trace ON feedback(trace_id);

----------------------------------------------------------------------------------------------- error analysis, labels

-- Open coding: the first thing that went wrong in a trace, in a person's words.
CREATE TABLE coding_notes (
  trace_id    TEXT NOT NULL REFERENCES traces(id) ON DELETE CASCADE,
  is_repeat   INTEGER NOT NULL DEFAULT 0 CHECK (is_repeat IN (0, 1)), -- 1: a second note, written without the first
  note        TEXT,                       -- NULL if nothing went wrong
  annotator   TEXT,
  drawn_from  INTEGER,                    -- number of traces that could be drawn; NULL if a person chose the trace
  probability REAL CHECK (probability > 0 AND probability <= 1), -- of drawing this trace; NULL if equal for all traces
  created_at  TEXT NOT NULL,
  PRIMARY KEY (trace_id, is_repeat)
) WITHOUT ROWID;

-- Groups of coding notes. The name is also the criterion of the labels of the mode.
CREATE TABLE failure_modes (
  name       TEXT PRIMARY KEY,
  fix        TEXT NOT NULL DEFAULT 'eval' CHECK (fix IN ('eval', 'prompt')),
  created_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE coded_modes (
  trace_id  TEXT NOT NULL,
  is_repeat INTEGER NOT NULL DEFAULT 0,
  mode      TEXT NOT NULL REFERENCES failure_modes(name) ON UPDATE CASCADE ON DELETE CASCADE,
  PRIMARY KEY (trace_id, is_repeat, mode),
  FOREIGN KEY (trace_id, is_repeat) REFERENCES coding_notes(trace_id, is_repeat) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE INDEX idx_coded_modes_mode ON coded_modes(mode);

-- All labels, including replaced ones. The newest label from the best source counts, in this order: person, import,
-- judge, score.
CREATE TABLE eval_labels (
  id          INTEGER PRIMARY KEY,
  trace_id    TEXT NOT NULL REFERENCES traces(id) ON DELETE CASCADE,
  criterion   TEXT NOT NULL,              -- name of a failure mode, or 'overall'
  label       TEXT NOT NULL CHECK (label IN ('good', 'bad', 'neutral', 'skip')),
  source      TEXT NOT NULL CHECK (source IN ('person', 'import', 'judge', 'score')), -- import: a file does not say who
  basis       TEXT NOT NULL DEFAULT 'direct' -- coded: from a coding note; adjudicated: decided between two people
    CHECK (basis IN ('direct', 'coded', 'adjudicated')),
  note        TEXT,
  annotator   TEXT,                       -- the person's name, or NULL
  is_repeat   INTEGER NOT NULL DEFAULT 0, -- 1: a second label, requested to measure self-agreement
  drawn       TEXT NOT NULL DEFAULT 'unknown' -- enriched: likely failures had a higher probability; unknown: chosen
    CHECK (drawn IN ('random', 'enriched', 'all', 'unknown')),
  drawn_from  INTEGER,                    -- number of traces that could be drawn, for random and enriched
  probability REAL CHECK (probability > 0 AND probability <= 1), -- of drawing this trace, for enriched
  created_at  TEXT NOT NULL
);

CREATE INDEX idx_eval_labels_trace ON eval_labels(trace_id);
CREATE INDEX idx_eval_labels_criterion ON eval_labels(criterion, trace_id);

-- Descriptions of criteria.
CREATE TABLE eval_criteria (
  name       TEXT PRIMARY KEY,
  sentence   TEXT NOT NULL,               -- a statement that is true for good traces
  changed_at TEXT NOT NULL
) WITHOUT ROWID;

--------------------------------------------------------------------------------------------------------------- evals

CREATE TABLE evals (
  id            INTEGER PRIMARY KEY,
  name          TEXT NOT NULL,
  version       INTEGER NOT NULL,
  definition    TEXT NOT NULL,            -- JSON, as in an eval file
  status        TEXT NOT NULL CHECK (status IN ('draft', 'active', 'retired')),
  validated_for TEXT,                     -- criterion whose newest test counts; NULL: the newest test of any criterion
  created_at    TEXT NOT NULL,
  UNIQUE (name, version)
);

CREATE UNIQUE INDEX idx_evals_active ON evals(name) WHERE status = 'active';

-- The failure modes that an eval was made for.
CREATE TABLE eval_modes (
  eval_id    INTEGER NOT NULL REFERENCES evals(id) ON DELETE CASCADE,
  mode       TEXT NOT NULL,
  created_at TEXT NOT NULL,               -- labels from before this time may have decided what the eval is
  PRIMARY KEY (eval_id, mode)
) WITHOUT ROWID;

-- Validations on labels that an eval was not made from.
CREATE TABLE eval_tests (
  id         INTEGER PRIMARY KEY,
  eval_id    INTEGER NOT NULL REFERENCES evals(id) ON DELETE CASCADE,
  criterion  TEXT NOT NULL,
  passed     INTEGER NOT NULL,
  report     TEXT NOT NULL,               -- JSON
  created_at TEXT NOT NULL
);

CREATE INDEX idx_eval_tests_eval ON eval_tests(eval_id);
CREATE INDEX idx_eval_tests_criterion ON eval_tests(criterion);

-- The half that each question belongs to, permanently. A question has several keys (hashes of its words, of its gold
-- answer and emails, or of its pair of suite tasks). Two traces with a common key have the same question.
CREATE TABLE eval_questions (
  key      TEXT PRIMARY KEY,
  question TEXT NOT NULL,                 -- one of the keys of the question
  half     TEXT NOT NULL CHECK (half IN ('training', 'heldout'))
) WITHOUT ROWID;

CREATE TABLE eval_traces (
  trace_id TEXT PRIMARY KEY REFERENCES traces(id) ON DELETE CASCADE,
  question TEXT NOT NULL,                 -- eval_questions.question
  half     TEXT NOT NULL CHECK (half IN ('training', 'heldout')),
  reads    INTEGER NOT NULL DEFAULT 0     -- number of tests that used the trace, for any criterion
) WITHOUT ROWID;

-- Reference for watching a validated eval. A newer validation has its own baseline.
CREATE TABLE eval_baselines (
  id               INTEGER PRIMARY KEY,
  eval_id          INTEGER NOT NULL REFERENCES evals(id) ON DELETE CASCADE,
  tested_at        TEXT NOT NULL,         -- eval_tests.created_at
  reference        INTEGER NOT NULL,      -- number of judged traces of the validated agents
  reference_passed INTEGER NOT NULL,
  created_at       TEXT NOT NULL,
  UNIQUE (eval_id, tested_at)
);

-- Traces that are judged again in each watch.
CREATE TABLE eval_anchors (
  baseline_id INTEGER NOT NULL REFERENCES eval_baselines(id) ON DELETE CASCADE,
  trace_id    TEXT NOT NULL REFERENCES traces(id) ON DELETE CASCADE,
  result      TEXT NOT NULL CHECK (result IN ('pass', 'fail', 'not_applicable')),
  PRIMARY KEY (baseline_id, trace_id)
) WITHOUT ROWID;

CREATE INDEX idx_eval_anchors_trace ON eval_anchors(trace_id);

CREATE TABLE eval_watches (
  baseline_id  INTEGER NOT NULL REFERENCES eval_baselines(id) ON DELETE CASCADE,
  round        INTEGER NOT NULL,          -- 1, 2, ...
  run_id       TEXT NOT NULL,
  fresh        INTEGER NOT NULL,          -- number of newly judged traces of the run; 0 if they were counted before
  fresh_passed INTEGER NOT NULL,
  rejudged        INTEGER,                -- reference traces judged again, because something had changed
  rejudged_passed INTEGER,
  created_at   TEXT NOT NULL,
  PRIMARY KEY (baseline_id, round)
) WITHOUT ROWID;

-- Repeated judgments of anchors. An anchor without a row means that the eval failed to run.
CREATE TABLE eval_anchor_rounds (
  baseline_id INTEGER NOT NULL,
  trace_id    TEXT NOT NULL,
  round       INTEGER NOT NULL,           -- eval_watches.round; 0, -1, ...: repeats of the first watch (noise)
  differs     INTEGER NOT NULL,           -- whether the result differs from eval_anchors.result
  PRIMARY KEY (baseline_id, trace_id, round),
  FOREIGN KEY (baseline_id, trace_id) REFERENCES eval_anchors(baseline_id, trace_id) ON DELETE CASCADE
) WITHOUT ROWID;
