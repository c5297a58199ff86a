import type { RunSettings } from "../../../domain/runs/benchmark-result.js";
import { NO_LIMITS } from "../../../domain/runs/run-limits.js";
import type { Suite, TaskList } from "../../../domain/tasks/suite.js";
import type { Db } from "../../../store/connection/open-store.js";
import { withWriteTransaction } from "../../../store/connection/write-transaction.js";
import { readFingerprint } from "../../../store/import/corpus-stats.js";
import { saveCurrentVersion } from "../../registry/versions.js";
import type { CreatedModel } from "../create-model.js";
import { limitsOf, outputToKeep } from "./choose-limits.js";
import type { RunOptions } from "./run-options.js";
import { createRunOnce, newRunId, type RunPlan, repeated, toolsNow } from "./run-plan.js";
import { agentOf } from "./stored-settings.js";

/** What a new run is made of. */
export interface NewRun {
  readonly suite: Suite;
  readonly list: TaskList;
  readonly settings: RunSettings;
  readonly model: CreatedModel;
}

/** The plan of a new run over these tasks, each once for every epoch. */
export function newRunPlan(db: Db, { suite, list, settings, model }: NewRun, options: RunOptions): RunPlan {
  const { set } = list;
  const { split, ...dataset } = set;
  const tasks = repeated(list.tasks, options.epochs);
  const runId = newRunId();
  const limits = limitsOf(options, NO_LIMITS);
  const output = outputToKeep(options.output);
  // The plan keeps the number, not the tasks: they are freed when the run is created.
  const count = tasks.length;
  const create = createRunOnce(db, {
    ...{ runId, name: options.name, tags: options.tags, set, tasks, settings, limits, output },
  });
  return {
    runId,
    agent: agentOf(settings),
    settings,
    model,
    suite,
    tasks: async () => count,
    tools: toolsNow(db, settings),
    limits,
    output: options.output,
    over: { dataset, split, corpusFingerprint: readFingerprint(db) ?? "" },
    async begin(owner, waiting) {
      if (settings.elsewhere === undefined) {
        await withWriteTransaction(db, waiting, () => saveCurrentVersion(db, settings.agentId));
      }
      return create(owner, waiting);
    },
  };
}
