import type { Agent } from "../../../domain/agents/agent.js";
import type { AgentBackend } from "../../../domain/agents/agent-backend.js";
import type { Tool } from "../../../domain/agents/tool.js";
import type { Model } from "../../../domain/models/model.js";
import type { TaskActivity } from "../../../domain/runs/task-activity.js";
import type { Suite } from "../../../domain/tasks/suite.js";
import type { TaskId } from "../../../domain/tasks/task-id.js";
import type { Scoring } from "../../score/score-trace.js";

/** What all tasks of a run have in common. */
export interface AnswerContext {
  readonly runId: string;
  readonly agent: Agent;
  readonly model: Model;
  readonly tools: readonly Tool[];
  /** Opens the tasks. */
  readonly suite: Pick<Suite, "open">;
  readonly taskTimeoutMs: number;
  readonly maxTaskCostUsd: number | null;
  readonly scoring: Scoring;
  /** An external agent; undefined: the agent loop of this process. */
  readonly backend?: AgentBackend | undefined;
  /** Hears what the tasks under way are doing. Must not throw. */
  readonly onActivity?: OnActivity | undefined;
}

export type OnActivity = (task: { readonly id: TaskId; readonly epoch: number }, activity: TaskActivity) => void;
