import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { readText } from "../cli/read-text.js";
import { printChange } from "./print-agent.js";

const schema = z.object({ file: text, replace: z.boolean().default(false) });

export const importAgentCommand: Command = {
  positionals: { file: { type: "string", describe: "A YAML file, as agents export writes it" } },
  flags: {
    replace: { type: "boolean", describe: "Replace an agent of the same id; its versions stay" },
  },
  async run(argv, { settings, out }) {
    const { file, replace } = readFlags("agents import", schema, argv);
    const yaml = readText(file, "FILE");
    const { nameVersion } = await import("../../app/registry/versions.js");
    const { changeRegistry } = await import("../../app/registry/open-registry.js");
    const { importAgent } = await import("../../app/registry/agent-file.js");
    const imported = await changeRegistry(settings, (db) => nameVersion(db, importAgent(db, yaml, file, replace).id));
    printChange(imported, "imported", out);
    return EXIT.done;
  },
};
