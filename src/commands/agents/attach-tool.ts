import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { jsonObject, readFlags, text } from "../cli/read-flags.js";
import { AGENT_ID } from "./agent-flags.js";
import { printChange } from "./print-agent.js";

const schema = z.object({ id: text, tool: text, config: jsonObject.optional() });

export const attachToolCommand: Command = {
  positionals: { id: AGENT_ID, tool: { type: "string", describe: "The tool's id" } },
  flags: {
    config: { type: "string", requiresArg: true, describe: "A JSON object that overrides the tool's own config" },
  },
  async run(argv, { settings, out }) {
    const { id, tool, config } = readFlags("agents attach", schema, argv);
    const { nameVersion } = await import("../../app/registry/versions.js");
    const { changeRegistry } = await import("../../app/registry/open-registry.js");
    const { attachTool } = await import("../../app/registry/edit-agents.js");
    const changed = await changeRegistry(settings, (db) => {
      attachTool(db, id, tool, config ?? null);
      return nameVersion(db, id);
    });
    printChange(changed, "changed", out);
    return EXIT.done;
  },
};
