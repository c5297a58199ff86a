import { z } from "zod";
import { evalsToExport, toEvalFile, writeFolder } from "../../app/evals/export-evals.js";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";

const schema = z.object({ names: z.array(text).default([]), output: text.default("evals") });

export const exportEvalsCommand: Command = {
  positionals: {
    names: { type: "string", array: true, describe: "Evals in use, or NAME@2 [default: all that are not retired]" },
  },
  flags: {
    output: { alias: "o", type: "string", requiresArg: true, describe: "Folder to write to [default: evals]" },
  },
  async run(argv, { settings, out }) {
    const { names, output } = readFlags("evals export", schema, argv);
    const definitions = await evalsToExport(names, settings);
    const files = await writeFolder(output, new Map(definitions.map(toEvalFile)));
    out.result({ files }, () => files.join("\n"));
    return EXIT.done;
  },
};
