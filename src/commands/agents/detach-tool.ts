import { z } from "zod";
import { detachTool } from "../../app/registry/edit-agents.js";
import { changeRegistry } from "../../app/registry/open-registry.js";
import { nameVersion } from "../../app/registry/versions.js";
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
    const changed = await changeRegistry(settings, (db) => {
      detachTool(db, id, tool);
      return nameVersion(db, id);
    });
    printChange(changed, "changed", out);
    return EXIT.done;
  },
};
