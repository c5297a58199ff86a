import type { RunStatus } from "../../domain/runs/run-status.js";
import type { Flags } from "../cli/command.js";
import { day, oneOf, text } from "../cli/read-flags.js";

const STATUSES = { running: "running", completed: "completed", stopped: "interrupted" } as const satisfies Record<
  string,
  RunStatus
>;

export const runFilterShape = {
  agent: text.optional(),
  model: text.optional(),
  dataset: text.optional(),
  status: oneOf(["running", "completed", "stopped"])
    .transform((status) => STATUSES[status])
    .optional(),
  since: day.optional(),
  before: day.optional(),
};

export const RUN_FILTER_FLAGS: Flags = {
  agent: { type: "string", requiresArg: true, describe: "Only runs of this agent" },
  model: { type: "string", requiresArg: true, describe: "Only runs with this in their model's name" },
  dataset: { type: "string", requiresArg: true, describe: "Only runs with this in the name of their dataset or suite" },
  status: { type: "string", requiresArg: true, describe: "Only runs that are running, completed or stopped" },
  since: { type: "string", requiresArg: true, describe: "Only runs begun on this day (UTC) or later, YYYY-MM-DD" },
  before: { type: "string", requiresArg: true, describe: "Only runs begun before this day (UTC), YYYY-MM-DD" },
};
