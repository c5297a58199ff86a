import { UserError } from "../../../domain/errors.js";
import { checkWritable } from "../../../platform/atomic-file.js";
import type { Db } from "../../../store/connection/open-store.js";
import { readFingerprint } from "../../../store/import/corpus-stats.js";
import { getRun, type RunRow } from "../../../store/runs/runs.js";
import { toolsDigest } from "../../../tools/load-tools.js";
import type { AppContext } from "../../use-case-context.js";
import { createModel } from "../create-model.js";
import { findLeft, resumeRun } from "../create-run.js";
import { limitsOf, outputToKeep } from "./choose-limits.js";
import type { RunRequest } from "./run-options.js";
import { type RunPlan, refuseOptionsOfNewRun, toolsNow, toolsOfRun } from "./run-plan.js";
import { agentOf, differences, requestedSettings } from "./stored-settings.js";
import { suiteOfRun } from "./suite-of-run.js";

/**
 * A stored run, with the settings it was created with. Other options, other mail or other tools would make its answers
 * incomparable: they are refused, unless --force records the difference.
 */
export async function planResume(db: Db, name: string, request: RunRequest, context: AppContext): Promise<RunPlan> {
  const { options, given, callsModel } = request;
  const run = getRun(db, name, "newest");
  refuseOptionsOfNewRun(given, "resume", run.id);
  const requested = requestedSettings(run.settings, request, context);
  const changes = [...differences(run.settings, requested), ...changedSince(db, run)];
  if (changes.length > 0 && !options.force) {
    throw new UserError(
      "run_differs",
      `Run ${run.id} cannot go on as it was begun: ${changes.join("; ")}.`,
      `Go on with what it was begun with, or go on all the same and have the difference recorded: art-e run --resume ${run.id} --force`,
    );
  }
  const settings =
    changes.length === 0 ? run.settings : { ...requested, changes: [...(run.settings.changes ?? []), ...changes] };
  const limits = limitsOf(options, run.limits);
  const output = outputToKeep(options.output) ?? run.output;
  if (options.output === undefined && output !== null) checkWritable("--output", output);
  const concurrency = given.has("concurrency") ? options.concurrency : run.settings.concurrency;
  return {
    runId: run.id,
    agent: agentOf(settings),
    settings,
    suite: await suiteOfRun({ ...run, settings }, options, context),
    model: await createModel(settings, { ...options, concurrency }, context.settings, { append: true, callsModel }),
    tasks: async () => (await findLeft(db, run.id, options.retryFailed)).length,
    tools: settings.repeats === undefined ? toolsNow(db, settings) : toolsOfRun(db, run),
    limits,
    output: options.output ?? output ?? undefined,
    over: run,
    begin: (owner, waiting) =>
      resumeRun(db, run, { settings, limits, output, retryFailed: options.retryFailed, worker: owner, waiting }),
  };
}

function changedSince(db: Db, { settings, corpusFingerprint }: RunRow): string[] {
  return [
    ...((readFingerprint(db) ?? "") === corpusFingerprint ? [] : ["the mail has grown since"]),
    // A repeat has the tools of the run that it repeats, whatever has been made of them since.
    ...(settings.repeats !== undefined ||
    settings.elsewhere !== undefined ||
    toolsDigest(db, settings.agentId) === settings.toolsDigest
      ? []
      : ["the agent's tools have changed since"]),
  ];
}
