import { UserError } from "../../../domain/errors.js";
import type { PlannedTask } from "../../../domain/tasks/planned-task.js";
import { yieldBetween } from "../../../platform/yield-to-event-loop.js";
import type { Db } from "../../../store/connection/open-store.js";
import { readFingerprint } from "../../../store/import/corpus-stats.js";
import { tasksAt } from "../../../store/runs/planned-tasks.js";
import { getRun } from "../../../store/runs/runs.js";
import type { AppContext } from "../../use-case-context.js";
import { createModel } from "../create-model.js";
import { limitsOf, outputToKeep } from "./choose-limits.js";
import type { RunRequest } from "./run-options.js";
import { createRunOnce, newRunId, type RunPlan, refuseOptionsOfNewRun, toolsOfRun } from "./run-plan.js";
import { agentOf, differences, requestedSettings } from "./stored-settings.js";
import { suiteOfRun } from "./suite-of-run.js";

/**
 * A new run over the questions of an old one, with its prompt, model, settings and tools, even where the agent has
 * changed since. Where the mail has changed it is refused, unless --force records the difference.
 */
export async function planRepeat(db: Db, name: string, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { options, given, callsModel } = request;
  const run = getRun(db, name);
  refuseOptionsOfNewRun(given, "repeat", run.id);
  const requested = requestedSettings(run.settings, request, context);
  const changes = [
    ...differences(run.settings, requested),
    ...((readFingerprint(db) ?? "") === run.corpusFingerprint ? [] : ["the mail has grown since"]),
  ];
  if (changes.length > 0 && !options.force) {
    throw new UserError(
      "run_differs",
      `Run ${run.id} cannot be repeated as it was: ${changes.join("; ")}.`,
      "Leave out what differs, or add --force to repeat it all the same and have the difference recorded.",
    );
  }
  const concurrency = given.has("concurrency") ? options.concurrency : run.settings.concurrency;
  const settings = {
    ...requested,
    concurrency,
    repeats: run.id,
    ...(changes.length === 0 ? {} : { changes: [...(run.settings.changes ?? []), ...changes] }),
  };
  const tasks: PlannedTask[] = [];
  const positions = Array.from({ length: run.totalTasks }, (_, i) => i + 1);
  for await (const task of yieldBetween(tasksAt(db, run.id, positions))) tasks.push(task);
  const runId = newRunId();
  const limits = limitsOf(options, run.limits);
  const output = outputToKeep(options.output);
  const set = { ...run.dataset, split: run.split };
  return {
    runId,
    agent: agentOf(settings),
    settings,
    suite: await suiteOfRun({ ...run, settings }, options, context),
    model: await createModel(settings, { ...options, concurrency }, context.settings, { append: false, callsModel }),
    tasks: async () => run.totalTasks,
    tools: toolsOfRun(db, run),
    limits,
    output: options.output,
    over: { ...run, corpusFingerprint: readFingerprint(db) ?? "" },
    begin: createRunOnce(db, { runId, name: options.name, set, tasks, settings, limits, output }),
  };
}
