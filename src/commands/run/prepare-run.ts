import { checkOutputs, type InputFile, replayFile } from "../../app/output-files/check-outputs.js";
import { agentOfNewRun, outputsOf, type RunRequest } from "../../app/run/plan/run-options.js";
import type { CommandContext } from "../cli/command.js";
import { givenFlags, readFlags } from "../cli/read-flags.js";
import { explainConfigured } from "../config/explain-configured.js";
import type { ConfiguredFlags } from "../config/read-config.js";
import { sendsTraces } from "../flags/otlp-flags.js";
import { withProtocol } from "../flags/protocol-flag.js";
import { type RunFlags, runSchema } from "./run-flags.js";
import { refuseUnwatched } from "./watch-run.js";

/** A run whose flags are checked, before anything is spent. */
export interface PreparedRun {
  readonly configured: ConfiguredFlags;
  readonly flags: RunFlags;
  readonly request: RunRequest;
}

/** Checks what can be checked of runs that go one after another. Throws a UserError before the first of them begins. */
export async function prepareRuns(
  all: readonly ConfiguredFlags[],
  context: CommandContext,
): Promise<readonly PreparedRun[]> {
  const runs: PreparedRun[] = [];
  for (const configured of all) {
    try {
      runs.push(await prepareRun(configured, runs.flatMap(outputsOfRun), context));
    } catch (error) {
      throw explainConfigured(error, configured);
    }
  }
  return runs;
}

async function prepareRun(
  configured: ConfiguredFlags,
  taken: readonly InputFile[],
  { settings }: CommandContext,
): Promise<PreparedRun> {
  const preset = await withProtocol(configured.argv, settings.env);
  const flags = readFlags("run", runSchema, preset);
  const { refuseContradictions } = await import("../../app/questions/load-dataset.js");
  refuseContradictions(flags);
  const queue = flags.queue ?? (settings.env.ART_E_QUEUE_URL || undefined);
  const options = { ...flags, queue, tags: configured.run === null ? [] : [configured.run] };
  const request = { options, given: givenFlags(preset), callsModel: !flags.dryRun && queue === undefined };
  if (flags.stats) return { configured, flags, request };
  refuseUnwatched(flags);
  sendsTraces(flags);
  if (flags.resume === undefined && flags.repeat === undefined) agentOfNewRun(flags);
  const inputs = [{ name: "the file of settings", path: configured.path }, ...inputsOf(flags), ...taken];
  checkOutputs(outputsOf(flags), inputs, { db: settings.db, overwrite: flags.overwrite });
  return { configured, flags, request };
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

function outputsOfRun({ configured, flags }: PreparedRun): readonly InputFile[] {
  return outputsOf(flags).map(({ flag, path }) => ({ name: `${flag} of the run ${configured.run}`, path }));
}
