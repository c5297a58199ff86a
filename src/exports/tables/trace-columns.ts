import type { Trace } from "../../domain/runs/trace.js";
import type { Column, TableSource } from "./table.js";

export interface TracePart {
  readonly run: TableSource["head"];
  readonly trace: Trace;
}

/** What joins the rows of a trace with those of the tasks: runId, taskId and epoch, or traceId. */
export const TRACE_COLUMNS: readonly Column<TracePart>[] = [
  { name: "runId", type: "text", read: ({ run }) => run.runId },
  { name: "agentId", type: "text", read: ({ run }) => run.agentId },
  { name: "model", type: "text", read: ({ run }) => run.model },
  { name: "taskId", type: "text", read: ({ trace }) => String(trace.taskId) },
  { name: "epoch", type: "integer", read: ({ trace }) => trace.epoch },
  { name: "traceId", type: "text", read: ({ trace }) => trace.traceId },
];
