import { agentTargetOf, usesMailHere } from "../../app/run/agent-target.js";
import { EXIT } from "../../domain/errors.js";
import { limitHeapGrowth } from "../../platform/heap-growth.js";
import { prioritizeThisThread } from "../../platform/thread-priority.js";
import { FileWatch } from "../../store/connection/file-watch.js";
import { deferCheckpoints, limitPageCache, openStore } from "../../store/connection/open-store.js";
import { SearchPool } from "../../tools/search-pool/search-pool.js";
import { checkOutputs, type InputFile, replayFile } from "../cli/check-outputs.js";
import type { Command, CommandContext } from "../cli/command.js";
import { readFlags } from "../cli/read-flags.js";
import { withProtocol } from "../flags/protocol-flag.js";
import { refuseContradictions } from "../flags/question-flags.js";
import { agentOfNewRun, outputsOf, RUN_FLAGS, type RunFlags, runSchema } from "./run-flags.js";

/**
 * Half a core compiles in the first seconds of a run, when all tasks begin at once. With 10 a run of 5,000 tasks at 200 ms a
 * call is 2 % faster on two cores, and one without latency not slower; with 19 it varies more.
 */
const LESS_URGENT = 10;

export const runCommand: Command = {
  flags: RUN_FLAGS,
  async run(given, door) {
    const argv = withProtocol(given, door.settings.env);
    limitHeapGrowth();
    prioritizeThisThread(LESS_URGENT);
    const flags = readFlags("run", runSchema, argv);
    refuseContradictions(flags);
    if (flags.stats) {
      const { printDatasetFigures } = await import("../stats.js");
      await printDatasetFigures(flags, door);
      return EXIT.done;
    }
    if (flags.resume === undefined && flags.repeat === undefined) agentOfNewRun(flags);
    checkOutputs(outputsOf(flags), inputsOf(flags), { db: door.settings.db, overwrite: flags.overwrite });
    const readsMail = needsFile(flags, door);
    const db = openStore(door.settings.db, { mustExist: readsMail });
    const watch = new FileWatch(door.settings.db);
    limitPageCache(db);
    deferCheckpoints(db);
    // Before all else: they get ready while the rest of the program is loaded and the run is laid down.
    const searchThreads = readsMail && !flags.dryRun ? new SearchPool(door.settings.db) : undefined;
    try {
      const { executeRun: workOnRun } = await import("../../app/run/execute-run.js");
      return await workOnRun({ db, searchThreads, watch }, flags, argv, door);
    } finally {
      await searchThreads?.close();
      db.close();
    }
  },
};

function inputsOf({ dataset, baseline, modelId, judge }: RunFlags): readonly InputFile[] {
  return [
    { name: "the dataset", path: dataset },
    { name: "the baseline", path: baseline },
    { name: "the file of replies", path: replayFile(modelId) },
    { name: "the judge's file of replies", path: replayFile(judge) },
  ];
}

/** An agent elsewhere with mail of its own needs none here: a file for the results is made. */
function needsFile(flags: RunFlags, { settings }: CommandContext): boolean {
  if (flags.resume !== undefined || flags.repeat !== undefined) return true;
  return usesMailHere(agentTargetOf(flags, settings.env));
}
