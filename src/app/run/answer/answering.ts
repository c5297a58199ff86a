import type { Agent } from "../../../domain/agents/agent.js";
import type { AgentBackend } from "../../../domain/agents/agent-backend.js";
import type { Tool } from "../../../domain/agents/tool.js";
import type { Model } from "../../../domain/models/model.js";
import type { PlannedSuiteTask } from "../../../domain/tasks/planned-task.js";
import type { TaskDocuments } from "../../../domain/tasks/task-documents.js";
import type { Scoring } from "../../score/score-trace.js";
import type { TaskOpening } from "../../suites/open-suite-task.js";

/** What all tasks of a run have in common. */
export interface Answering {
  readonly runId: string;
  readonly agent: Agent;
  readonly model: Model;
  readonly tools: readonly Tool[];
  readonly cutoff: "query_date" | "off";
  readonly taskTimeoutMs: number;
  readonly maxTaskCostUsd: number | null;
  readonly scoring: Scoring;
  /** An external agent; undefined: the agent loop of this process. */
  readonly backend?: AgentBackend | undefined;
  /** Of a run over the tasks of a suite. */
  readonly suite?: SuiteTasks | undefined;
}

/** Opens the tasks of a run's suite. */
export interface SuiteTasks {
  open(task: PlannedSuiteTask, signal: AbortSignal): Promise<TaskOpening>;
  /** What an agent may search for this task. */
  documentsOf(task: PlannedSuiteTask): TaskDocuments & { close(): Promise<void> };
  close(): Promise<void>;
}
