import type { CommandContext } from "../../commands/cli/command.js";
import { RESUME_KEEPS, type RunFlags } from "../../commands/run/run-flags.js";
import { UserError } from "../../domain/errors.js";
import { checkWritable } from "../../platform/atomic-file.js";
import type { Db } from "../../store/connection/open-store.js";
import { readFingerprint } from "../../store/import/corpus-stats.js";
import { getRun, type RunRow } from "../../store/runs/runs.js";
import { toolsDigest } from "../../tools/load-tools.js";
import { createModel } from "./create-model.js";
import { findLeft, resumeRun } from "./create-run.js";
import { agentOf, askedFor, differences } from "./new-run-settings.js";
import { type RunPlan, toolsNow, toolsOfRun } from "./plan-new-run.js";
import { limitsOf, outputToKeep } from "./run-limits.js";

/**
 * A stored run taken up again. All its settings are those it was begun with; what is asked for otherwise, or has changed
 * since, would make its answers incomparable and is refused, unless --force records it.
 */
export async function planResume(
  db: Db,
  flags: RunFlags,
  argv: Readonly<Record<string, unknown>>,
  door: CommandContext,
): Promise<RunPlan> {
  const run = getRun(db, flags.resume ?? "latest");
  const other = Object.keys(RESUME_KEEPS).find((flag) => argv[flag] !== undefined && argv[flag] !== false);
  if (other !== undefined) {
    throw new UserError(
      "flags_contradict",
      `--resume answers what is missing of run ${run.id}: ${RESUME_KEEPS[other]} cannot choose anything else.`,
      "Leave it out, or begin a new run.",
    );
  }
  const asked = askedFor(run.settings, flags, argv, door);
  const changes = [...differences(run.settings, asked), ...changedSince(db, run)];
  if (changes.length > 0 && !flags.force) {
    throw new UserError(
      "run_differs",
      `Run ${run.id} cannot go on as it was begun: ${changes.join("; ")}.`,
      `Go on with what it was begun with, or go on all the same and have the difference recorded: art-e run --resume ${run.id} --force`,
    );
  }
  const settings =
    changes.length === 0 ? run.settings : { ...asked, changes: [...(run.settings.changes ?? []), ...changes] };
  const limits = limitsOf(flags, run.limits);
  const output = outputToKeep(flags.output) ?? run.output;
  if (flags.output === undefined && output !== null) checkWritable("--output", output);
  const concurrency = argv.concurrency === undefined ? run.settings.concurrency : flags.concurrency;
  return {
    runId: run.id,
    agent: agentOf(settings),
    settings,
    model: await createModel(settings, { ...flags, concurrency }, door.settings, true),
    tasks: async () => (await findLeft(db, run.id, flags.retryFailed)).length,
    tools: settings.repeats === undefined ? toolsNow(db, settings) : toolsOfRun(db, run),
    limits,
    output: flags.output ?? output ?? undefined,
    over: run,
    begin: (worker, waiting) =>
      resumeRun(db, run, { settings, limits, output, retryFailed: flags.retryFailed, worker, waiting }),
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
