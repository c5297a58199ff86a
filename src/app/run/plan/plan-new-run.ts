import { NO_LIMITS } from "../../../domain/runs/run-limits.js";
import type { Db } from "../../../store/connection/open-store.js";
import { withWriteTransaction } from "../../../store/connection/write-transaction.js";
import { readFingerprint } from "../../../store/import/corpus-stats.js";
import { getAgent } from "../../../store/registry/agent-rows.js";
import { pinEvals } from "../../evals/evals-as-scorers.js";
import { loadDataset, noteKnownBad, select } from "../../questions/load-dataset.js";
import { saveCurrentVersion } from "../../registry/versions.js";
import type { AppContext } from "../../use-case-context.js";
import { createModel } from "../create-model.js";
import { checkMailboxes } from "./check-mailboxes.js";
import { agentTargetOf, refuseFlagsTargetIgnores, usesMailHere } from "./choose-agent-target.js";
import { limitsOf, outputToKeep } from "./choose-limits.js";
import { externalAgentSettings, newRunSettings } from "./new-settings.js";
import { noteUnsetConditions } from "./note-differences-from-published.js";
import { agentOfNewRun, type RunRequest } from "./run-options.js";
import { createRunOnce, newRunId, type RunPlan, repeated, toolsNow } from "./run-plan.js";
import { agentOf } from "./stored-settings.js";

/** Loads and selects the questions of a new run, and creates its model. */
export async function planNewRun(db: Db, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { options, isEstimate } = request;
  const { env } = context.settings;
  const agentId = agentOfNewRun(options);
  const target = agentTargetOf(options, env);
  if (target !== undefined) refuseFlagsTargetIgnores(target, request);
  if (target?.kind === "api" && options.apiUrl === undefined) {
    context.note(`The agent is one of ${target.url}, as API_URL says.`);
  }
  const unpinned =
    target === undefined
      ? newRunSettings(db, options, getAgent(db, agentId), context)
      : externalAgentSettings(target, agentId, options, env);
  const settings = { ...unpinned, scorers: pinEvals(db, unpinned.scorers) };
  noteUnsetConditions(options, db, context);
  // Before the download: a missing key is found at once.
  const model = await createModel(settings, options, context.settings, { append: false, isEstimate });
  const set = await loadDataset(options, context);
  noteKnownBad(set, options, context);
  const questions = select(set, options, options.limit);
  if (usesMailHere(settings.elsewhere)) checkMailboxes(db, questions, options.partialInboxes);
  const tasks = repeated(questions, options.epochs);
  const { source, revision, sha256, split } = set;
  const runId = newRunId();
  const limits = limitsOf(options, NO_LIMITS);
  const output = outputToKeep(options.output);
  // The plan keeps the number, not the tasks: they are freed when the run is created.
  const count = tasks.length;
  const create = createRunOnce(db, {
    runId,
    set: { source, revision, sha256, split },
    tasks,
    settings,
    limits,
    output,
  });
  return {
    runId,
    agent: agentOf(settings),
    settings,
    model,
    tasks: async () => count,
    tools: toolsNow(db, settings),
    limits,
    output: options.output,
    over: { dataset: { source, revision, sha256 }, split, corpusFingerprint: readFingerprint(db) ?? "" },
    async begin(owner, waiting) {
      if (settings.elsewhere === undefined) {
        await withWriteTransaction(db, waiting, () => saveCurrentVersion(db, settings.agentId));
      }
      return create(owner, waiting);
    },
  };
}
