import type { CommandContext } from "../../commands/cli/command.js";
import { RESUME_KEEPS, type RunFlags } from "../../commands/run/run-flags.js";
import { UserError } from "../../domain/errors.js";
import type { PlannedTask, Split } from "../../domain/tasks/question.js";
import { yieldBetween } from "../../platform/yield-to-event-loop.js";
import type { Db } from "../../store/connection/open-store.js";
import { readFingerprint } from "../../store/import/corpus-stats.js";
import { tasksAt } from "../../store/runs/planned-tasks.js";
import { getRun } from "../../store/runs/runs.js";
import { createModel } from "./create-model.js";
import { agentOf, askedFor, differences } from "./new-run-settings.js";
import { createRunOnce, newRunId, type RunPlan, toolsOfRun } from "./plan-new-run.js";
import { limitsOf, outputToKeep } from "./run-limits.js";

/** What a repeat is told by flags that a resumed run may be told otherwise. */
const ONLY_RESUME = { resume: "--resume", retryFailed: "--retry-failed", agent: "--agent" } as const;

/**
 * A new run over the questions of an old one, with its prompt, model, settings and tools as they were, whatever has been
 * made of the agent since. Other mail would answer otherwise: it is refused, unless --force records it.
 */
export async function planRepeat(
  db: Db,
  name: string,
  flags: RunFlags,
  argv: Readonly<Record<string, unknown>>,
  door: CommandContext,
): Promise<RunPlan> {
  const run = getRun(db, name);
  const keeps: Readonly<Record<string, string>> = { ...RESUME_KEEPS, ...ONLY_RESUME };
  const other = Object.keys(keeps).find((flag) => argv[flag] !== undefined && argv[flag] !== false);
  if (other !== undefined) {
    throw new UserError(
      "flags_contradict",
      `--repeat asks what run ${run.id} asked, with the agent it had: ${keeps[other]} has no say in it.`,
      "Leave it out, or begin a new run.",
    );
  }
  const changes = [
    ...differences(run.settings, askedFor(run.settings, flags, argv, door)),
    ...((readFingerprint(db) ?? "") === run.corpusFingerprint ? [] : ["the mail has grown since"]),
  ];
  if (changes.length > 0 && !flags.force) {
    throw new UserError(
      "run_differs",
      `Run ${run.id} cannot be repeated as it was: ${changes.join("; ")}.`,
      "Leave out what differs, or add --force to repeat it all the same and have the difference recorded.",
    );
  }
  const concurrency = argv.concurrency === undefined ? run.settings.concurrency : flags.concurrency;
  const settings = {
    ...askedFor(run.settings, flags, argv, door),
    concurrency,
    repeats: run.id,
    ...(changes.length === 0 ? {} : { changes: [...(run.settings.changes ?? []), ...changes] }),
  };
  const tasks: PlannedTask[] = [];
  const positions = Array.from({ length: run.totalTasks }, (_, i) => i + 1);
  for await (const task of yieldBetween(tasksAt(db, run.id, positions))) tasks.push(task);
  const runId = newRunId();
  const limits = limitsOf(flags, run.limits);
  const output = outputToKeep(flags.output);
  const set = { ...run.dataset, split: run.split as Split };
  return {
    runId,
    agent: agentOf(settings),
    settings,
    model: await createModel(settings, { ...flags, concurrency }, door.settings, false),
    tasks: async () => run.totalTasks,
    tools: toolsOfRun(db, run),
    limits,
    output: flags.output,
    over: { ...run, corpusFingerprint: readFingerprint(db) ?? "" },
    begin: createRunOnce(db, { runId, set, tasks, settings, limits, output }),
  };
}
