import { z } from "zod";
import { EXIT } from "../../platform/errors.js";
import type { Command } from "../command.js";
import { readConfig } from "../config-file.js";
import { CONFIG_FLAGS, OVERWRITE_FLAGS, overwriteShape } from "../flags.js";
import { readFlags, text } from "../read-flags.js";
import { JUDGE_FLAGS, judgeShape, SCORER_FLAGS, scorerShape } from "../scoring-flags.js";
import { printTotals } from "./run-output.js";

const schema = z.object({
  run: text.default("latest"),
  output: text.optional(),
  ...overwriteShape,
  ...scorerShape,
  ...judgeShape,
});

export const scoreCommand: Command = {
  flags: {
    run: { type: "string", requiresArg: true, describe: "Its id, the beginning of it, or latest [default: latest]" },
    ...SCORER_FLAGS,
    ...JUDGE_FLAGS,
    output: { alias: "o", type: "string", requiresArg: true, describe: "Save the results to a JSON file" },
    ...OVERWRITE_FLAGS,
    ...CONFIG_FLAGS,
  },
  async run(argv, context) {
    const configured = await readConfig(argv, context, ["judge", "run.scorers"]);
    const flags = readFlags("score", schema, configured.argv);
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
};
