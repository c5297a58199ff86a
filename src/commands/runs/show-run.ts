import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import { runDetailsText } from "../../reports/text/run-details-text.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { RUN } from "./run-argument.js";

const schema = z.object({ run: text.default("latest"), all: z.boolean().default(false) });

/** Tasks listed without --all. */
const LISTED = 20;

export const showRunCommand: Command = {
  positionals: { run: { ...RUN, describe: `${RUN.describe} [default: latest]` } },
  flags: { all: { type: "boolean", describe: `List all tasks, not only the first ${LISTED}` } },
  async run(argv, { settings, out }) {
    const { run, all } = readFlags("runs show", schema, argv);
    const { runDetails } = await import("../../app/runs/show-run.js");
    const details = await runDetails(run, settings);
    out.result(details, () => runDetailsText(details, all ? details.tasks.length : LISTED));
    return EXIT.done;
  },
};
