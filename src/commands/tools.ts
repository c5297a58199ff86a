import { z } from "zod";
import { EXIT } from "../domain/errors.js";
import type { ToolRow } from "../domain/tool.js";
import { getTool, listTools } from "../store/tools.js";
import { needId } from "./agents.js";
import type { Command, Door } from "./command.js";
import { oneOf, readFlags, text } from "./flags.js";
import { openRegistry } from "./registry-file.js";
import { table } from "./table.js";

const schema = z.object({ action: oneOf(["list", "show"]), id: text.optional(), category: text.optional() });

export const toolsCommand: Command = {
  positionals: {
    action: { type: "string", describe: "list or show" },
    id: { type: "string", describe: "The tool to show" },
  },
  flags: { category: { type: "string", requiresArg: true, describe: "List only this category" } },
  async run(argv, door) {
    const { action, id, category } = readFlags("tools", schema, argv);
    const db = openRegistry(door.settings);
    try {
      if (action === "list") printList(listTools(db, category ?? null), door);
      else printOne(getTool(db, needId(id, "tools")), door);
      return EXIT.done;
    } finally {
      db.close();
    }
  },
};

function printList(tools: readonly ToolRow[], { out }: Door): void {
  out.result(tools, () =>
    table(
      ["id", "category", "handler", "name"],
      tools.map((tool) => [tool.id, tool.category, tool.handlerKey, tool.name]),
    ),
  );
}

function printOne(tool: ToolRow, { out }: Door): void {
  out.result(tool, () =>
    [
      `${tool.id}: ${tool.name}`,
      tool.description,
      "",
      `Category: ${tool.category}`,
      `Handler:  ${tool.handlerKey}`,
      "",
      "Parameters:",
      JSON.stringify(tool.parametersSchema, null, 2),
    ].join("\n"),
  );
}
