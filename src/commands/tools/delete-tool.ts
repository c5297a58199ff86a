import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { TOOL_ID } from "./tool-flags.js";

const schema = z.object({ id: text });

export const deleteToolCommand: Command = {
  positionals: { id: TOOL_ID },
  flags: {},
  async run(argv, { settings, out }) {
    const { id } = readFlags("tools delete", schema, argv);
    const { changeRegistry } = await import("../../app/registry/open-registry.js");
    const { deleteTool } = await import("../../app/registry/edit-tools.js");
    await changeRegistry(settings, (db) => deleteTool(db, id));
    out.result({ id, deleted: true }, () => `Tool ${id} is deleted.`);
    return EXIT.done;
  },
};
