import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { RUN } from "./run-argument.js";

const schema = z.object({
  run: text,
  tags: z.array(z.coerce.string()).min(1, "expected a tag"),
  remove: z.boolean().default(false),
});

export const tagRunCommand: Command = {
  positionals: { run: RUN, tags: { type: "string", array: true, describe: "One or more tags" } },
  flags: { remove: { type: "boolean", describe: "Take the tags away" } },
  async run(argv, context) {
    const { run, tags, remove } = readFlags("runs tag", schema, argv);
    const { tagRun } = await import("../../app/runs/label-run.js");
    const labels = await tagRun(run, tags, remove ? "remove" : "add", context);
    context.out.result(labels, () => `Tags of run ${labels.id}: ${labels.tags.join(", ") || "none"}`);
    return EXIT.done;
  },
};
