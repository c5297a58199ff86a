import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { RUN } from "./run-argument.js";

const schema = z
  .object({ run: text, note: z.coerce.string().optional(), remove: z.boolean().default(false) })
  .refine(({ note, remove }) => (note === undefined) === remove, {
    path: ["note"],
    message: "expected a note, or --remove",
  });

export const noteRunCommand: Command = {
  positionals: { run: RUN, note: { type: "string", describe: "The note" } },
  flags: { remove: { type: "boolean", describe: "Take the note away" } },
  async run(argv, context) {
    const { run, note = null } = readFlags("runs note", schema, argv);
    const { noteRun } = await import("../../app/runs/label-run.js");
    const labels = await noteRun(run, note, context);
    context.out.result(labels, () =>
      labels.note === null ? `Run ${labels.id} has no note now.` : `Run ${labels.id}: ${labels.note}`,
    );
    return EXIT.done;
  },
};
