import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import { table } from "../../reports/text/text-table.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";

const schema = z.object({ category: text.optional() });

export const listToolsCommand: Command = {
  flags: { category: { type: "string", requiresArg: true, describe: "Only tools of this category" } },
  async run(argv, { settings, out }) {
    const { category = null } = readFlags("tools list", schema, argv);
    const { listTools } = await import("../../store/registry/tool-rows.js");
    const { readRegistry } = await import("../../app/registry/open-registry.js");
    const tools = await readRegistry(settings, (db) => listTools(db, category));
    out.result(tools, () =>
      table(
        ["id", "category", "handler", "name"],
        tools.map((tool) => [tool.id, tool.category, tool.handlerKey, tool.name]),
      ),
    );
    return EXIT.done;
  },
};
