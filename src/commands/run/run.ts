import { throwIfMissed } from "../../app/gates/run-gates.js";
import { checkOutputs, type InputFile, replayFile } from "../../app/output-files/check-outputs.js";
import { refuseContradictions } from "../../app/questions/load-dataset.js";
import type { OpenMonitor } from "../../app/run/execute-run.js";
import { agentOfNewRun, outputsOf } from "../../app/run/plan/run-options.js";
import { estimateBenchmark, runBenchmark } from "../../app/run/run-benchmark.js";
import type { SessionEnd } from "../../app/run/run-tasks.js";
import { EXIT, type ExitCode } from "../../domain/errors.js";
import { limitHeapGrowth } from "../../platform/heap-growth.js";
import type { Command, CommandContext } from "../cli/command.js";
import { givenFlags, readFlags } from "../cli/read-flags.js";
import { type ConfiguredFlags, explainConfigured, readConfig } from "../config/read-config.js";
import { sendsTraces } from "../flags/otlp-flags.js";
import { withProtocol } from "../flags/protocol-flag.js";
import { printEstimate } from "./print-estimate.js";
import { printTotals } from "./print-totals.js";
import { RUN_FLAGS, type RunFlags, runSchema } from "./run-flags.js";
import { RUN_HELP } from "./run-help.js";
import { stoppedError } from "./stopped-error.js";
import { terminalProgress } from "./terminal-progress.js";
import { refuseUnwatched, withRunPage } from "./watch-run.js";

export const runCommand: Command = {
  flags: RUN_FLAGS,
  help: RUN_HELP,
  async run(argv, context) {
    limitHeapGrowth();
    const configured = await readConfig(argv, context);
    try {
      return await execute(configured, context);
    } catch (error) {
      throw explainConfigured(error, configured);
    }
  },
};

async function execute(configured: ConfiguredFlags, context: CommandContext): Promise<ExitCode> {
  const preset = withProtocol(configured.argv, context.settings.env);
  const flags = readFlags("run", runSchema, preset);
  refuseContradictions(flags);
  if (flags.stats) {
    const { printDatasetFigures } = await import("../stats/print-dataset.js");
    await printDatasetFigures(flags, context);
    return EXIT.done;
  }
  refuseUnwatched(flags);
  sendsTraces(flags);
  if (flags.resume === undefined && flags.repeat === undefined) agentOfNewRun(flags);
  const inputs = [{ name: "the file of settings", path: configured.path }, ...inputsOf(flags)];
  checkOutputs(outputsOf(flags), inputs, { db: context.settings.db, overwrite: flags.overwrite });
  const queue = flags.queue ?? (context.settings.env.ART_E_QUEUE_URL || undefined);
  const options = { ...flags, queue };
  const request = { options, given: givenFlags(preset), callsModel: !flags.dryRun && queue === undefined };
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
  throwIfMissed(end.totals.runId, gates);
  return code;
}

function inputsOf({ dataset, baseline, oracle, modelId, judge }: RunFlags): readonly InputFile[] {
  return [
    { name: "the dataset", path: dataset },
    { name: "the baseline", path: baseline },
    { name: "the oracle file", path: oracle },
    { name: "the file of replies", path: replayFile(modelId) },
    { name: "the judge's file of replies", path: replayFile(judge) },
  ];
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
