import { z } from "zod";
import { EXIT, UserError } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags } from "../cli/read-flags.js";
import { AGENT_FLAGS, AGENT_ID, agentColumns, agentSettings, agentShape } from "./agent-flags.js";
import { printChange } from "./print-agent.js";

const schema = z.object(agentShape);

export const setAgentCommand: Command = {
  positionals: { id: AGENT_ID },
  flags: AGENT_FLAGS,
  async run(argv, { settings, out }) {
    const flags = readFlags("agents set", schema, argv);
    const columns = agentColumns(flags);
    const changes = agentSettings(flags);
    if (Object.keys({ ...columns, ...changes }).length === 0) {
      throw new UserError("flag_missing", "agents set: there is nothing to change.", "See art-e agents set --help.");
    }
    const { nameVersion } = await import("../../app/registry/versions.js");
    const { changeRegistry } = await import("../../app/registry/open-registry.js");
    const { updateAgent } = await import("../../app/registry/edit-agents.js");
    const changed = await changeRegistry(settings, (db) =>
      nameVersion(db, updateAgent(db, flags.id, { ...columns, settings: changes }).id),
    );
    printChange(changed, "changed", out);
    return EXIT.done;
  },
};
