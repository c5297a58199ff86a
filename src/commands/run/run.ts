import type { OpenMonitor } from "../../app/run/execute-run.js";
import type { SessionEnd } from "../../app/run/run-tasks.js";
import { EXIT, type ExitCode } from "../../domain/errors.js";
import { limitHeapGrowth } from "../../platform/heap-growth.js";
import type { Command, CommandContext } from "../cli/command.js";
import { explainConfigured } from "../config/explain-configured.js";
import { readConfiguredRuns } from "../config/read-config.js";
import { type PreparedRun, prepareRuns } from "./prepare-run.js";
import { printEstimate } from "./print-estimate.js";
import { printTotals } from "./print-totals.js";
import { RUN_FLAGS } from "./run-flags.js";
import { RUN_HELP } from "./run-help.js";
import { stoppedError } from "./stopped-error.js";
import { terminalProgress } from "./terminal-progress.js";
import { withRunPage } from "./watch-run.js";

export const runCommand: Command = {
  flags: RUN_FLAGS,
  help: RUN_HELP,
  async run(argv, context) {
    limitHeapGrowth();
    const runs = await prepareRuns(await readConfiguredRuns(argv, context), context);
    const [only, ...others] = runs;
    if (only !== undefined && others.length === 0) return execute(only, context);
    const { runInTurn } = await import("./run-in-turn.js");
    return runInTurn(runs, context, execute);
  },
};

async function execute(prepared: PreparedRun, context: CommandContext): Promise<ExitCode> {
  try {
    return await executeRun(prepared, context);
  } catch (error) {
    throw explainConfigured(error, prepared.configured);
  }
}

async function executeRun({ configured, flags, request }: PreparedRun, context: CommandContext): Promise<ExitCode> {
  if (flags.stats) {
    const { printDatasetFigures } = await import("../stats/print-dataset.js");
    await printDatasetFigures(flags, context);
    return EXIT.done;
  }
  const { estimateBenchmark, runBenchmark } = await import("../../app/run/run-benchmark.js");
  if (flags.dryRun) {
    printEstimate(await estimateBenchmark(request, context), configured, context);
    return EXIT.done;
  }
  const openProgress: OpenMonitor = (activity) => terminalProgress(context.settings, activity);
  const { end, gates, output, shortfall } = await withRunPage(flags, context, openProgress, (openMonitor) =>
    runBenchmark(request, context, openMonitor),
  );
  // A run that could not begin to answer has nothing to show in a table.
  const isEmpty = end.totals.totalTasks === 0 && end.stopped !== null && end.stopped.by !== "user";
  if (!isEmpty || context.settings.json) printTotals(end.totals, gates, { ...flags, output }, context);
  if (shortfall !== null) context.note(`${shortfall}. Ask again: art-e score --run ${end.totals.runId}`);
  const code = exitCodeOf(end, context);
  const { throwIfMissed } = await import("../../app/gates/run-gates.js");
  throwIfMissed(end.totals.runId, gates);
  return code;
}

function exitCodeOf(end: SessionEnd, { note }: CommandContext): ExitCode {
  const { runId, failedTasks, totalTasks } = end.totals;
  if (end.stopped !== null) throw stoppedError(end, end.stopped);
  if (failedTasks * 2 <= totalTasks) return EXIT.done;
  note(
    `art-e: ${failedTasks} of ${totalTasks} tasks failed. See why: art-e export-traces --run ${runId} --failed; answer them again: art-e run --resume ${runId} --retry-failed`,
  );
  return EXIT.gate;
}
