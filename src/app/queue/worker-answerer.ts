import type { PlannedTask } from "../../domain/tasks/planned-task.js";
import type { Suite } from "../../domain/tasks/suite.js";
import type { RunManifest, TaskMessage } from "../../queue/messages.js";
import { SharedLimits } from "../../queue/shared-limits.js";
import { questionOpener } from "../questions/art-e-suite.js";
import { buildAnswerContext, resourcesOf } from "../run/answer/build-answer-context.js";
import { answerHere, type TaskAnswerer } from "../run/answer/task-answerer.js";
import { type CreatedModel, createModel } from "../run/create-model.js";
import type { ServerWatch } from "../run/detect-dead-server.js";
import { createRunJudge } from "../score/create-judge.js";
import { accountOf } from "./rate-limit-account.js";
import type { WorkerResources } from "./worker-resources.js";

/** What a worker answers the tasks of a run with. Close it in the end. */
export interface OpenAnswerContext {
  readonly model: CreatedModel;
  readonly answerer: TaskAnswerer;
  toTask(message: TaskMessage): PlannedTask;
  close(): Promise<void>;
}

/** Loads the run's agent, its tools, its judge and its suite. Throws a UserError for what is not to be had here. */
export async function openAnswerContext(
  manifest: RunManifest,
  shared: WorkerResources,
  watch: ServerWatch,
): Promise<OpenAnswerContext> {
  const { runId, settings, requests, tools } = manifest;
  const { timeoutMs, rpm, tpm, cache } = requests;
  const { settings: own, note } = shared.context;
  const limits = new SharedLimits(shared.redis, { runId, account: accountOf(settings, own.env), rpm, tpm });
  const options = { concurrency: shared.concurrency, requestTimeout: timeoutMs / 1_000, cache, shared: limits };
  const model = await createModel(settings, options, own, { append: false, callsModel: true });
  const judge = await createRunJudge(settings, model, timeoutMs, own, note, judgeLimits(manifest, shared));
  const { suite, toTask, close } = await openTasks(manifest, shared);
  const context = buildAnswerContext(
    { runId, settings, model, tools, suite, judge: judge?.judge ?? null },
    resourcesOf(settings, shared.tools),
    note,
  );
  return {
    model,
    answerer: answerHere(context, watch),
    toTask,
    async close() {
      await close();
      model.close();
    },
  };
}

/** A server that refuses the judge at one worker is left alone by all. Undefined: there is no judge. */
function judgeLimits(
  { runId, settings: { judge } }: RunManifest,
  { redis, context }: WorkerResources,
): SharedLimits | undefined {
  if (judge === null) return undefined;
  const account = accountOf({ ...judge, wireApi: null }, context.settings.env);
  return new SharedLimits(redis, { runId, account, rpm: null, tpm: null });
}

/** Of a suite only the ids of tasks come over the queue: what is run and graded is in this machine's folder. */
async function openTasks(
  { suite: wanted, settings }: RunManifest,
  { suite: own, context }: WorkerResources,
): Promise<Pick<OpenAnswerContext, "toTask" | "close"> & { readonly suite: Pick<Suite, "open"> }> {
  if (wanted === null || own === null) {
    return { suite: { open: questionOpener(settings.cutoff) }, toTask: questionOf, close: async () => undefined };
  }
  // Machines are not loaded for runs over questions.
  const { openFolderSuite } = await import("../suites/folder-suite.js");
  const suite = await openFolderSuite(own.path, { limit: null, cutoff: settings.cutoff }, context);
  return {
    suite,
    toTask({ task, epoch }) {
      const found = "suiteTask" in task ? own.tasks.get(task.suiteTask) : undefined;
      if (found === undefined) throw new Error(`the suite ${own.name} has no such task`);
      return { task: found, epoch };
    },
    close: () => suite.close(),
  };
}

function questionOf({ task, epoch }: TaskMessage): PlannedTask {
  if ("suiteTask" in task) throw new Error("a task of a suite is in a run over questions");
  return { task, epoch };
}
