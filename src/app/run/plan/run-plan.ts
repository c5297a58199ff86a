import { randomBytes } from "node:crypto";
import type { Agent } from "../../../domain/agents/agent.js";
import { UserError } from "../../../domain/errors.js";
import type { RunSettings } from "../../../domain/runs/benchmark-result.js";
import type { RunLimits } from "../../../domain/runs/run-limits.js";
import type { PlannedTask, Task } from "../../../domain/tasks/planned-task.js";
import type { Suite } from "../../../domain/tasks/suite.js";
import { flagName } from "../../../platform/flag-name.js";
import type { Db } from "../../../store/connection/open-store.js";
import type { LockWait } from "../../../store/connection/write-transaction.js";
import { getVersion } from "../../../store/registry/agent-versions.js";
import type { AttachedTool } from "../../../store/registry/tool-rows.js";
import type { RunRow } from "../../../store/runs/runs.js";
import { attachedOrDefault } from "../../../tools/attached-tools.js";
import type { CreatedModel } from "../create-model.js";
import { createRun, type NewRunRequest, type RunSession } from "../create-run.js";
import type { RunOwner } from "../run-lock.js";
import type { RunOptionName } from "./run-options.js";

/** A run that can start: nothing has been written or spent yet. */
export interface RunPlan {
  readonly runId: string;
  readonly agent: Agent;
  readonly settings: RunSettings;
  readonly model: CreatedModel;
  /** Opens the tasks. Close it in the end, as the model. */
  readonly suite: Suite;
  /** Counts the tasks to answer; of a stored run that reads all of it. */
  tasks(): Promise<number>;
  readonly tools: readonly AttachedTool[];
  readonly limits: RunLimits;
  /** Path of the results file; resuming the run writes it again. */
  readonly output: string | undefined;
  /** Which questions, over which mail. */
  readonly over: Pick<RunRow, "dataset" | "split" | "corpusFingerprint">;
  /** Creates or locks the run. Once. */
  begin(owner: RunOwner, waiting: LockWait): Promise<RunSession>;
}

/** Options that choose what is answered: a run that was created has them in the database. */
const SELECTS_TASKS: readonly RunOptionName[] = [
  "split",
  "dataset",
  "useJson",
  "revision",
  "limit",
  "minRealism",
  "maxSources",
  "ids",
  "inbox",
  "excludeKnownBad",
  "shuffle",
  "seed",
  "epochs",
  "price",
  "protocol",
  "suite",
  "task",
  "tool",
  "tag",
  "index",
  "counterparts",
];

/** Options of a resumed run that a repeat does not take. */
const RESUME_ONLY: readonly RunOptionName[] = ["resume", "retryFailed", "agent"];

export function refuseOptionsOfNewRun(given: ReadonlySet<string>, how: "resume" | "repeat", runId: string): void {
  const names = how === "resume" ? SELECTS_TASKS : [...SELECTS_TASKS, ...RESUME_ONLY];
  const other = names.find((name) => given.has(name));
  if (other === undefined) return;
  const message =
    how === "resume"
      ? `--resume answers what is missing of run ${runId}: ${flagName(other)} cannot choose anything else.`
      : `--repeat asks what run ${runId} asked, with the agent it had: ${flagName(other)} cannot change that.`;
  throw new UserError("flags_contradict", message, "Leave it out, or begin a new run.");
}

/** Creates the run on the first call, and frees the tasks then: they are in the database from there on. */
export function createRunOnce(db: Db, run: Omit<NewRunRequest, "worker" | "waiting">): RunPlan["begin"] {
  let { tasks } = run;
  const { tasks: _, ...rest } = run;
  return (owner, waiting) => {
    const all = tasks;
    tasks = [];
    return createRun(db, { ...rest, tasks: all, worker: owner, waiting });
  };
}

/** All of them once for each epoch. */
export function repeated<T extends Task>(tasks: readonly T[], epochs: number): PlannedTask<T>[] {
  return Array.from({ length: epochs }, (_, i) => tasks.map((task) => ({ task, epoch: i + 1 }))).flat();
}

/** Sorts by time; the random part tells apart runs of the same second. */
export function newRunId(): string {
  const time = new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
  return `run_${time}_${randomBytes(3).toString("hex")}`;
}

/** The tools the agent has now. An external agent has its own. */
export function toolsNow(db: Db, settings: RunSettings): readonly AttachedTool[] {
  return settings.elsewhere === undefined ? attachedOrDefault(db, settings.agentId) : [];
}

/** The tools a run was created with. */
export function toolsOfRun(db: Db, { settings }: RunRow): readonly AttachedTool[] {
  if (settings.elsewhere !== undefined) return [];
  return getVersion(db, settings.agentId, settings.agentVersion).tools;
}
