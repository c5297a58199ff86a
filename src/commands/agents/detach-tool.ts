import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { AGENT_ID } from "./agent-flags.js";
import { printChange } from "./print-agent.js";

const schema = z.object({ id: text, tool: text });

export const detachToolCommand: Command = {
  positionals: { id: AGENT_ID, tool: { type: "string", describe: "The tool's id" } },
  flags: {},
  async run(argv, { settings, out }) {
    const { id, tool } = readFlags("agents detach", schema, argv);
    const { nameVersion } = await import("../../app/registry/versions.js");
    const { changeRegistry } = await import("../../app/registry/open-registry.js");
    const { detachTool } = await import("../../app/registry/edit-agents.js");
    const changed = await changeRegistry(settings, (db) => {
      detachTool(db, id, tool);
      return nameVersion(db, id);
    });
    printChange(changed, "changed", out);
    return EXIT.done;
  },
};
