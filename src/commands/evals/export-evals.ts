import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import { EVAL_FORMATS, evalFiles } from "../../evalgen/code/eval-formats.js";
import type { Command } from "../cli/command.js";
import { oneOf, readFlags, text } from "../cli/read-flags.js";

const schema = z.object({
  names: z.array(text).default([]),
  output: text.default("evals"),
  format: oneOf(EVAL_FORMATS).default("json"),
});

export const exportEvalsCommand: Command = {
  positionals: {
    names: { type: "string", array: true, describe: "Evals in use, or NAME@2 [default: all that are not retired]" },
  },
  flags: {
    format: {
      type: "string",
      requiresArg: true,
      describe: "json, to import again; python, promptfoo or inspect, as code [default: json]",
    },
    output: { alias: "o", type: "string", requiresArg: true, describe: "Folder to write to [default: evals]" },
  },
  async run(argv, { settings, out }) {
    const { names, output, format } = readFlags("evals export", schema, argv);
    const { evalsToExport, writeFolder } = await import("../../app/evals/files/export-evals.js");
    const definitions = await evalsToExport(names, settings);
    const files = await writeFolder(output, evalFiles(definitions, format));
    out.result({ files }, () => files.join("\n"));
    return EXIT.done;
  },
};
