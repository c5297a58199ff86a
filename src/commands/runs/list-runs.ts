import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import { runTable } from "../../reports/text/run-table.js";
import type { Command } from "../cli/command.js";
import { readFlags, text, wholeNumber } from "../cli/read-flags.js";
import { RUN_FILTER_FLAGS, runFilterShape } from "../flags/run-filter-flags.js";

const schema = z.object({
  ...runFilterShape,
  tag: text.optional(),
  text: text.optional(),
  limit: wholeNumber(0).default(20),
});

export const listRunsCommand: Command = {
  flags: {
    ...RUN_FILTER_FLAGS,
    tag: { type: "string", requiresArg: true, describe: "Only runs with this tag" },
    text: { type: "string", requiresArg: true, describe: "Only runs with this in their name or note" },
    limit: { alias: "l", type: "number", requiresArg: true, describe: "How many; 0: all [default: 20]" },
  },
  async run(argv, { settings, out }) {
    const { limit, ...filter } = readFlags("runs list", schema, argv);
    const { runsWithHeadlines } = await import("../../app/runs/list-runs.js");
    const { runs, total } = await runsWithHeadlines(filter, limit, settings);
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    out.result(runs, () => (total === 0 && isFiltered ? "No run matches." : runTable(runs)));
    if (total > runs.length) out.note(`${total - runs.length} older ones are not listed: --limit 0 lists all.`);
    return EXIT.done;
  },
};
