import { z } from "zod";
import { EXIT, UserError } from "../../domain/errors.js";
import { deletedRunsText } from "../../reports/text/run-table.js";
import type { Command } from "../cli/command.js";
import { readFlags, wholeNumber } from "../cli/read-flags.js";
import { RUN_FILTER_FLAGS, runFilterShape } from "../flags/run-filter-flags.js";
import { YES_FLAG } from "./yes-flag.js";

const schema = z.object({
  ...runFilterShape,
  keep: wholeNumber(0).optional(),
  empty: z.boolean().default(false),
  yes: z.boolean().default(false),
});

export const pruneRunsCommand: Command = {
  flags: {
    ...RUN_FILTER_FLAGS,
    keep: { type: "number", requiresArg: true, describe: "Keep the newest that match, as many as this" },
    empty: { type: "boolean", describe: "Only runs that have not completed a single task" },
    ...YES_FLAG,
  },
  async run(argv, context) {
    const { yes, keep = 0, ...which } = readFlags("runs prune", schema, argv);
    if (argv.keep === undefined && Object.values(which).every((value) => value === undefined || value === false)) {
      throw new UserError(
        "flags_missing",
        "Nothing says which runs.",
        "Give --before, --keep, --empty, or another flag.",
      );
    }
    const { pruneRuns } = await import("../../app/runs/delete-runs.js");
    const done = await pruneRuns({ ...which, keep }, yes, context);
    context.out.result(done, () => deletedRunsText(done));
    return EXIT.done;
  },
};
