import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { printToolChange } from "./print-tool-change.js";
import { TOOL_FLAGS, TOOL_ID, toolDescription, toolShape } from "./tool-flags.js";

const schema = z.object({ id: text, ...toolShape });

export const setToolCommand: Command = {
  positionals: { id: TOOL_ID },
  flags: TOOL_FLAGS,
  async run(argv, { settings, out, signal }) {
    const { id, ...flags } = readFlags("tools set", schema, argv);
    const described = toolDescription(flags);
    const { changeRegistry } = await import("../../app/registry/open-registry.js");
    const { changeTool } = await import("../../app/registry/add-tool.js");
    await changeRegistry(settings, (db) => changeTool(db, id, described, settings, signal));
    printToolChange(id, "changed", out);
    return EXIT.done;
  },
};
