import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { oneOf, readFlags, text, wholeNumber } from "../cli/read-flags.js";
import { DATASET_FLAGS, datasetSchema, SELECTION_FLAGS, selectionSchema } from "../flags/question-flags.js";

const SUITES = ["art-e"] as const;

const schema = datasetSchema.extend(selectionSchema.shape).extend({
  suite: oneOf(SUITES),
  limit: wholeNumber(0).default(10),
  output: text,
});

export const exportSuiteCommand: Command = {
  positionals: { suite: { type: "string", describe: "art-e: the questions about mailboxes" } },
  flags: {
    output: { alias: "o", type: "string", requiresArg: true, describe: "The suite's folder, which must not be there" },
    limit: { alias: "l", type: "number", requiresArg: true, describe: "Max tasks to write; 0 = all [default: 10]" },
    ...DATASET_FLAGS,
    ...SELECTION_FLAGS,
  },
  async run(argv, context) {
    const flags = readFlags("suite export", schema, argv);
    const { refuseContradictions } = await import("../../app/questions/load-dataset.js");
    refuseContradictions(flags);
    const { exportArtE } = await import("../../app/suites/export-art-e.js");
    const exported = await exportArtE("--output", flags.output, flags, context);
    context.out.result(exported, () =>
      [
        `${exported.tasks} tasks in ${flags.output}`,
        `Run an agent on them: art-e run --suite ${flags.output} -a baseline`,
      ].join("\n"),
    );
    return EXIT.done;
  },
};
