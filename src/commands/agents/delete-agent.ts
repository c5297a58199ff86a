import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { AGENT_ID } from "./agent-flags.js";

const schema = z.object({ id: text });

export const deleteAgentCommand: Command = {
  positionals: { id: AGENT_ID },
  flags: {},
  async run(argv, { settings, out }) {
    const { id } = readFlags("agents delete", schema, argv);
    const { changeRegistry } = await import("../../app/registry/open-registry.js");
    const { deleteAgent } = await import("../../app/registry/edit-agents.js");
    await changeRegistry(settings, (db) => deleteAgent(db, id));
    out.result({ id, deleted: true }, () => `Agent ${id} is deleted. Its runs and versions stay.`);
    return EXIT.done;
  },
};
