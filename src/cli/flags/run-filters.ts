import { agentName, day, oneOf, text } from "../../platform/flag-values.js";
import type { RunStatus } from "../../traces/task-result.js";

const STATUSES = { running: "running", completed: "completed", stopped: "interrupted" } as const satisfies Record<
  string,
  RunStatus
>;

export const runFilterShape = {
  agent: agentName.optional().meta({ placeholder: "ID", description: "Only runs of this agent" }),
  model: text.optional().meta({ placeholder: "TEXT", description: "Only runs with this text in the model name" }),
  dataset: text
    .optional()
    .meta({ placeholder: "TEXT", description: "Only runs with this text in the dataset or suite name" }),
  status: oneOf(["running", "completed", "stopped"])
    .transform((status) => STATUSES[status])
    .optional()
    .meta({ description: "Only runs with this status: running, completed or stopped" }),
  since: day.optional().meta({ description: "Only runs started on this date (UTC) or later (YYYY-MM-DD)" }),
  before: day.optional().meta({ description: "Only runs started before this date (UTC, YYYY-MM-DD)" }),
};
