import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";

const schema = z.object({ files: z.array(text).min(1, "expected files or folders") });

export const importEvalsCommand: Command = {
  positionals: {
    files: {
      type: "string",
      array: true,
      describe: "Files or folders that evals export wrote, or Python files with an eval_function",
    },
  },
  flags: {},
  async run(argv, { settings, out }) {
    const { files } = readFlags("evals import", schema, argv);
    const { importEvals } = await import("../../app/evals/files/import-evals.js");
    const imported = await importEvals(files, settings);
    out.result(
      imported.map(({ path, stored: { definition, status }, isNew }) => ({
        path,
        name: definition.name,
        version: definition.version,
        status,
        isNew,
      })),
      () =>
        imported
          .map(({ path, stored: { definition, status }, isNew }) => {
            const label = `${definition.name}@${definition.version}`;
            return `${path}: ${label}${isNew ? "" : ` (was there: ${status})`}`;
          })
          .join("\n"),
    );
    return EXIT.done;
  },
};
