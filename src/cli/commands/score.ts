import { z } from "zod";
import { EXIT } from "../../platform/errors.js";
import type { CommandDefinition } from "../command.js";
import { readConfig } from "../config/merge-config.js";
import { configShape, overwriteShape } from "../flags/flags.js";
import { declaredIn, file, readFlags, runId } from "../flags/read-flags.js";
import { judgeShape, scorerShape } from "../flags/scoring-flags.js";
import { printTotals } from "../output/run-output.js";

const schema = z.object({
  run: runId.default("latest").meta({ description: "Run id, the start of an id, or latest" }),
  output: file.optional().meta({ description: "Save the results as a JSON file", alias: "o" }),
  ...overwriteShape,
  ...scorerShape,
  ...judgeShape,
  ...configShape,
});

export const scoreCommand: CommandDefinition = (usage) => ({
  ...declaredIn(schema, usage),
  async run(argv, context) {
    const configured = await readConfig(argv, context, ["judge", "run.scorers"]);
    const flags = readFlags(usage, schema, configured.argv);
    const { settings } = context;
    const { checkOutputs, replayFile } = await import("../../trace-formats/output-files.js");
    checkOutputs(
      [{ flag: "--output", path: flags.output, kind: "results" }],
      [
        { name: "the judge's file of replies", path: replayFile(flags.judge) },
        { name: "the file of settings", path: configured.path },
      ],
      { db: settings.db, overwrite: flags.overwrite },
    );
    const { scoreStoredRun } = await import("../../runs/score-traces.js");
    const { totals, shortfall } = await scoreStoredRun(flags, context);
    printTotals(totals, [], flags, context);
    if (shortfall !== null) context.note(`${shortfall}. Ask again with the same command.`);
    return EXIT.done;
  },
});
