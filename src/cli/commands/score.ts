// The command `score`: scores stored traces again.
import { z } from "zod";
import { EXIT } from "../../platform/errors.js";
import { file, OVERWRITE_FLAG, shapeOf } from "../../platform/flag-values.js";
import { CONFIG_FLAGS, JUDGE_FLAGS, type RunFlagName, SCORER_FLAGS } from "../../runs/run-flags.js";
import type { CommandDefinition } from "../command.js";
import { readConfig } from "../config/merge-config.js";
import { latestRun } from "../flags/argument-schemas.js";
import { declaredIn, readFlags } from "../flags/define-command.js";
import { printTotals } from "../output/print-run.js";

const schema = z.object({
  run: latestRun,
  output: file.optional().meta({ description: "Save the results as a JSON file", alias: "o" }),
  ...shapeOf(OVERWRITE_FLAG),
  ...shapeOf(SCORER_FLAGS),
  ...shapeOf(JUDGE_FLAGS),
  ...shapeOf(CONFIG_FLAGS),
});

const CONFIGURED = Object.keys({ ...JUDGE_FLAGS, ...SCORER_FLAGS }) as RunFlagName[];

export const scoreCommand: CommandDefinition = (usage) => ({
  ...declaredIn(schema, usage),
  async run(argv, context) {
    const configured = await readConfig(argv, context, CONFIGURED);
    const flags = readFlags(usage, schema, configured.argv);
    const { settings } = context;
    const { checkOutputs, replayFile } = await import("../../trace-formats/output-files.js");
    checkOutputs(
      [{ flag: "--output", path: flags.output, kind: "results" }],
      [
        { name: "the judge's file of replies", path: replayFile(flags.judge) },
        { name: "the config file", path: configured.path },
      ],
      { db: settings.db, overwrite: flags.overwrite },
    );
    const { scoreStoredRun } = await import("../../runs/score-traces.js");
    const { totals, shortfall } = await scoreStoredRun(flags, context);
    await printTotals(totals, { gates: [], until: null }, flags, context);
    if (shortfall !== null) context.note(`${shortfall}. Retry with the same command.`);
    return EXIT.done;
  },
});
