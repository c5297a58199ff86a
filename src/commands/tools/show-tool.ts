import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { TOOL_ID } from "./tool-flags.js";

const schema = z.object({ id: text });

export const showToolCommand: Command = {
  positionals: { id: TOOL_ID },
  flags: {},
  async run(argv, { settings, out }) {
    const { id } = readFlags("tools show", schema, argv);
    const { getTool, listAgentsWithTool } = await import("../../store/registry/tool-rows.js");
    const { readRegistry } = await import("../../app/registry/open-registry.js");
    const { agents, ...tool } = await readRegistry(settings, (db) => ({
      ...getTool(db, id),
      agents: listAgentsWithTool(db, id).map((agent) => agent.id),
    }));
    const config = Object.keys(tool.handlerConfig).length === 0 ? [] : [JSON.stringify(tool.handlerConfig, null, 2)];
    out.result({ ...tool, agents }, () =>
      [
        `${tool.id}: ${tool.name}`,
        tool.description,
        "",
        `Category: ${tool.category}`,
        `Handler:  ${tool.handlerKey}`,
        `Agents:   ${agents.length === 0 ? "none" : agents.join(", ")}`,
        ...config.flatMap((json) => ["", "Config:", json]),
        "",
        "Parameters:",
        JSON.stringify(tool.parametersSchema, null, 2),
      ].join("\n"),
    );
    return EXIT.done;
  },
};
