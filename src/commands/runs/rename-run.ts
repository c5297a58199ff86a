import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { RUN } from "./run-argument.js";

const schema = z
  .object({ run: text, name: z.coerce.string().optional(), remove: z.boolean().default(false) })
  .refine(({ name, remove }) => (name === undefined) === remove, {
    path: ["name"],
    message: "expected a name, or --remove",
  });

export const renameRunCommand: Command = {
  positionals: { run: RUN, name: { type: "string", describe: "Its name" } },
  flags: { remove: { type: "boolean", describe: "Take the name away" } },
  async run(argv, context) {
    const { run, name = null } = readFlags("runs rename", schema, argv);
    const { renameRun } = await import("../../app/runs/label-run.js");
    const labels = await renameRun(run, name, context);
    context.out.result(labels, () =>
      labels.name === null ? `Run ${labels.id} has no name now.` : `Run ${labels.id} is named "${labels.name}".`,
    );
    return EXIT.done;
  },
};
