// The fields by which the lists of runs, traces and chats are searched and sorted. Pages show them as help, so this
// file imports nothing that needs Node.
import type { ListFields } from "../store/list-query.js";
import { ENDINGS } from "../tasks/ending.js";

/** `r` is the run, and `s` its summary. `r.live_status` is "interrupted" for a run whose process was killed. */
export const RUN_FIELDS = {
  run: { kind: "text", sql: "concat(r.id, ' ', r.name)", help: "name or id contains" },
  agent: { kind: "id", sql: "r.agent_id", help: "agent id contains" },
  model: { kind: "text", sql: "r.model", help: "model contains" },
  dataset: { kind: "text", sql: "r.source", help: "dataset or suite contains" },
  status: {
    kind: "choice",
    sql: "r.live_status",
    choices: ["running", "completed", "interrupted"],
    help: "running, completed or interrupted",
  },
  tag: { kind: "set", sql: "SELECT 1 FROM run_tags WHERE run_id = r.id AND tag", help: "tag (none: no tag)" },
  note: { kind: "text", sql: "r.note", help: "note contains" },
  score: { kind: "number", sql: "s.score", help: "headline score, with failed tasks as wrong if they can be" },
  tasks: { kind: "number", sql: "s.tasks", help: "number of tasks with a result" },
  failed: { kind: "number", sql: "s.failed_tasks", help: "number of failed tasks" },
  cost: { kind: "number", sql: "s.total_cost_usd", help: "cost including judging, in US dollars" },
  tokens: { kind: "number", sql: "s.tokens", help: "input and output tokens" },
  took: { kind: "number", sql: "nullif(r.active_ms, 0) / 1000.0", help: "total time in seconds" },
  started: { kind: "date", sql: "r.started_at", help: "start date (UTC)" },
} as const satisfies ListFields;

/** `t` is the row of the trace. */
export const TRACE_FIELDS = {
  run: { kind: "id", sql: "t.run_id", help: "run id contains (none: chats)" },
  task: { kind: "choice", sql: "t.task_id", help: "task id" },
  agent: { kind: "id", sql: "t.agent_id", help: "agent id contains" },
  session: { kind: "id", sql: "t.session_id", help: "session id contains" },
  model: { kind: "text", sql: "t.model", help: "model contains" },
  question: { kind: "text", sql: "t.question", help: "question contains" },
  answer: { kind: "text", sql: "t.answer", help: "answer contains" },
  ending: { kind: "choice", sql: "t.ending", choices: ENDINGS, help: "how the task ended" },
  score: { kind: "number", sql: "t.score", help: "first of the headline scores that the trace has" },
  label: {
    kind: "set",
    sql: "SELECT 1 FROM eval_labels WHERE trace_id = t.id AND label",
    help: "good, bad or skip: a label of the trace (none: no label)",
  },
  mode: {
    kind: "set",
    sql: "SELECT 1 FROM coded_modes WHERE trace_id = t.id AND mode",
    help: "failure mode in a coding note (none: no mode)",
  },
  rating: {
    kind: "choice",
    sql: "(SELECT rating FROM feedback f WHERE f.trace_id = t.id ORDER BY f.created_at DESC, f.rowid DESC LIMIT 1)",
    choices: ["positive", "neutral", "negative"],
    help: "rating in the newest feedback",
  },
  took: { kind: "number", sql: "t.duration_ms / 1000.0", help: "duration in seconds" },
  started: { kind: "date", sql: "t.started_at", help: "start date (UTC)" },
} as const satisfies ListFields;

/** `s` is the row of the session. */
export const SESSION_FIELDS = {
  agent: { kind: "id", sql: "s.agent_id", help: "agent id contains" },
  mailbox: { kind: "text", sql: "s.inbox", help: "mailbox contains" },
  question: {
    kind: "text",
    sql: "(SELECT question FROM traces WHERE session_id = s.id AND run_id IS NULL ORDER BY started_at, rowid LIMIT 1)",
    help: "first question contains",
  },
  date: { kind: "date", sql: "s.query_date", help: "last day with visible emails" },
  chats: {
    kind: "number",
    sql: "(SELECT count(*) FROM traces WHERE session_id = s.id AND run_id IS NULL)",
    help: "number of questions",
  },
  updated: { kind: "date", sql: "s.updated_at", help: "date of the last question (UTC)" },
} as const satisfies ListFields;
