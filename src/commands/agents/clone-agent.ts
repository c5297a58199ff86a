import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { AGENT_ID } from "./agent-flags.js";
import { printChange } from "./print-agent.js";

const schema = z.object({ id: text, new_id: text });

export const cloneAgentCommand: Command = {
  positionals: { id: AGENT_ID, new_id: { type: "string", describe: "The id of the copy" } },
  flags: {},
  async run(argv, { settings, out }) {
    const { id, new_id: newId } = readFlags("agents clone", schema, argv);
    const { nameVersion } = await import("../../app/registry/versions.js");
    const { changeRegistry } = await import("../../app/registry/open-registry.js");
    const { cloneAgent } = await import("../../app/registry/edit-agents.js");
    const created = await changeRegistry(settings, (db) => nameVersion(db, cloneAgent(db, id, newId).id));
    printChange(created, "created", out);
    return EXIT.done;
  },
};
