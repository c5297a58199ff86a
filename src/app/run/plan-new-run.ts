import { randomBytes } from "node:crypto";
import type { CommandContext } from "../../commands/cli/command.js";
import { notePreset } from "../../commands/flags/protocol-flag.js";
import { loadDataset, noteKnownBad, select } from "../../commands/flags/question-flags.js";
import { agentOfNewRun, type RunFlags } from "../../commands/run/run-flags.js";
import type { Agent } from "../../domain/agents/agent.js";
import type { RunSettings } from "../../domain/runs/benchmark-result.js";
import { NO_LIMITS, type RunLimits } from "../../domain/runs/run-limits.js";
import type { PlannedTask, Question } from "../../domain/tasks/question.js";
import type { Db } from "../../store/connection/open-store.js";
import { type LockWait, withWriteTransaction } from "../../store/connection/write-transaction.js";
import { readFingerprint } from "../../store/import/corpus-stats.js";
import { getVersion } from "../../store/registry/agent-versions.js";
import { getAgent } from "../../store/registry/agents.js";
import type { AttachedTool } from "../../store/registry/tools.js";
import type { RunRow } from "../../store/runs/runs.js";
import { attachedOrDefault } from "../../tools/load-tools.js";
import { saveCurrentVersion } from "../registry/versions.js";
import { agentTargetOf, agentTargetSettings, refuseFlagsTargetIgnores, usesMailHere } from "./agent-target.js";
import { checkMailboxes } from "./check-mailboxes.js";
import { type CreatedModel, createModel } from "./create-model.js";
import { createRun, type NewRunRequest, type RunSession } from "./create-run.js";
import { agentOf, newRunSettings } from "./new-run-settings.js";
import { limitsOf, outputToKeep } from "./run-limits.js";
import type { RunOwner } from "./run-lock.js";

/** A run that could begin: nothing has been written or spent. */
export interface RunPlan {
  readonly runId: string;
  readonly agent: Agent;
  readonly settings: RunSettings;
  readonly model: CreatedModel;
  /** Counts what would be asked; of a stored run that reads all of it. */
  tasks(): Promise<number>;
  readonly tools: readonly AttachedTool[];
  readonly limits: RunLimits;
  /** Where its results file goes, and when it is resumed goes again. */
  readonly output: string | undefined;
  /** Which questions, over which mail. */
  readonly over: Pick<RunRow, "dataset" | "split" | "corpusFingerprint">;
  /** Once. */
  begin(worker: RunOwner, waiting: LockWait): Promise<RunSession>;
}

export async function planNewRun(
  db: Db,
  flags: RunFlags,
  argv: Readonly<Record<string, unknown>>,
  door: CommandContext,
): Promise<RunPlan> {
  const agentId = agentOfNewRun(flags);
  const where = agentTargetOf(flags, door.settings.env);
  if (where !== undefined) refuseFlagsTargetIgnores(where, argv);
  if (where?.kind === "api" && flags.apiUrl === undefined) {
    door.out.note(`The agent is one of ${where.url}, as API_URL says.`);
  }
  const settings =
    where === undefined
      ? newRunSettings(db, flags, getAgent(db, agentId), door)
      : agentTargetSettings(where, agentId, flags, door.settings.env);
  notePreset(flags, db, door);
  // The key is asked for before anything is downloaded.
  const model = await createModel(settings, flags, door.settings, false);
  const set = await loadDataset(flags, door);
  noteKnownBad(set, flags, door);
  const questions = select(set, flags, flags.limit);
  if (usesMailHere(settings.elsewhere)) checkMailboxes(db, questions, flags.partialInboxes);
  const tasks = repeated(questions, flags.epochs);
  const { source, revision, sha256, split } = set;
  const runId = newRunId();
  const limits = limitsOf(flags, NO_LIMITS);
  const output = outputToKeep(flags.output);
  // Not the tasks themselves: they are let go when the run is laid down.
  const count = tasks.length;
  const lay = createRunOnce(db, { runId, set: { source, revision, sha256, split }, tasks, settings, limits, output });
  return {
    runId,
    agent: agentOf(settings),
    settings,
    model,
    tasks: async () => count,
    tools: toolsNow(db, settings),
    limits,
    output: flags.output,
    over: { dataset: { source, revision, sha256 }, split, corpusFingerprint: readFingerprint(db) ?? "" },
    async begin(worker, waiting) {
      if (settings.elsewhere === undefined) {
        await withWriteTransaction(db, waiting, () => saveCurrentVersion(db, settings.agentId));
      }
      return lay(worker, waiting);
    },
  };
}

/** Lays a run down when it is called, and lets go of the tasks then: what is in the file need not be in memory too. */
export function createRunOnce(db: Db, run: Omit<NewRunRequest, "worker" | "waiting">): RunPlan["begin"] {
  let { tasks } = run;
  const { tasks: _, ...rest } = run;
  return (worker, waiting) => {
    const laid = tasks;
    tasks = [];
    return createRun(db, { ...rest, tasks: laid, worker, waiting });
  };
}

function repeated(questions: readonly Question[], epochs: number): PlannedTask[] {
  return Array.from({ length: epochs }, (_, i) => questions.map((question) => ({ question, epoch: i + 1 }))).flat();
}

/** Sorts by the time it was begun; the last part tells apart what began in one second. */
export function newRunId(): string {
  const time = new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
  return `run_${time}_${randomBytes(3).toString("hex")}`;
}

/** The tools that the agent has now; one elsewhere has its own. */
export function toolsNow(db: Db, settings: RunSettings): readonly AttachedTool[] {
  return settings.elsewhere === undefined ? attachedOrDefault(db, settings.agentId) : [];
}

/** The tools that a run was begun with. */
export function toolsOfRun(db: Db, { settings }: RunRow): readonly AttachedTool[] {
  if (settings.elsewhere !== undefined) return [];
  return getVersion(db, settings.agentId, settings.agentVersion).tools;
}
