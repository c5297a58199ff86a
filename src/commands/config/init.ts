import { lstatSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { EXIT, UserError } from "../../domain/errors.js";
import { checkWritable, writeFileAtomically } from "../../platform/atomic-file.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { askSettings, defaultAnswers } from "./ask-settings.js";
import { configTemplate } from "./config-template.js";
import { CONFIG_NAME } from "./open-config.js";

const SCHEMA = fileURLToPath(new URL("../../../schema/config.schema.json", import.meta.url));

const schema = z.object({ yes: z.boolean().default(false), output: text.default(CONFIG_NAME) });

export const initCommand: Command = {
  flags: {
    yes: { type: "boolean", describe: "Ask nothing: the defaults, by the API keys that are set" },
    output: {
      alias: "o",
      type: "string",
      requiresArg: true,
      describe: `Write it to FILE, which must not exist [default: ${CONFIG_NAME}]`,
    },
  },
  async run(argv, context) {
    const { yes, output } = readFlags("init", schema, argv);
    checkWritable("--output", output);
    if (lstatSync(output, { throwIfNoEntry: false }) !== undefined) {
      throw new UserError("config_exists", `${output} exists, and is not written over.`, "Name another: -o FILE.");
    }
    const answers = yes ? defaultAnswers(context.settings.env) : await askSettings(context);
    await writeFileAtomically(output, [configTemplate(answers, schemaFrom(dirname(output)))]);
    const run = output === CONFIG_NAME ? "art-e run" : `art-e run --config ${output}`;
    context.out.result(
      { path: output, ...answers },
      () => `${output} is written. What it would take: ${run} --dry-run`,
    );
    return EXIT.done;
  },
};

/** Relative where the program is installed below the folder (node_modules), so that the file can be shared. */
function schemaFrom(folder: string): string {
  const path = relative(resolve(folder), SCHEMA);
  return path.startsWith(`..${sep}`) || isAbsolute(path) ? SCHEMA : `./${path.replaceAll(sep, "/")}`;
}
