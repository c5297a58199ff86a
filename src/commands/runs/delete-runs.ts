import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import { deletedRunsText } from "../../reports/text/run-table.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { RUN } from "./run-argument.js";
import { YES_FLAG } from "./yes-flag.js";

const schema = z.object({ runs: z.array(text).min(1, "expected a run"), yes: z.boolean().default(false) });

export const deleteRunsCommand: Command = {
  positionals: { runs: { ...RUN, array: true, describe: "Ids of runs, beginnings of them, or names" } },
  flags: YES_FLAG,
  async run(argv, context) {
    const { runs, yes } = readFlags("runs delete", schema, argv);
    const { deleteRuns } = await import("../../app/runs/delete-runs.js");
    const done = await deleteRuns(runs, yes, context);
    context.out.result(done, () => deletedRunsText(done));
    return EXIT.done;
  },
};
