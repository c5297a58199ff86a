-- Chats with an agent over HTTP, and what people thought of answers.

-- What one person says to one agent, chat after chat. Its messages stand in the trace of its newest chat.
CREATE TABLE sessions (
  id         TEXT PRIMARY KEY,
  agent_id   TEXT NOT NULL,
  inbox      TEXT,                        -- the mailbox it is bound to; NULL: none
  query_date TEXT,                        -- YYYY-MM-DD, the last day of mail it may see; NULL: no cutoff
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);

CREATE INDEX idx_sessions_updated ON sessions(updated_at, id);
CREATE INDEX idx_traces_session ON traces(session_id, started_at) WHERE run_id IS NULL;

CREATE TABLE feedback (
  id         TEXT PRIMARY KEY,
  trace_id   TEXT NOT NULL REFERENCES traces(id) ON DELETE CASCADE,
  rating     TEXT NOT NULL CHECK (rating IN ('positive', 'neutral', 'negative')),
  notes      TEXT,
  created_at TEXT NOT NULL
);

CREATE INDEX idx_feedback_trace ON feedback(trace_id);
