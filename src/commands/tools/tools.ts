import { openRegistry, openRegistryToChange } from "../../app/registry/open-registry.js";
import { deleteTool } from "../../app/registry/tools.js";
import type { StoredTool } from "../../domain/agents/tool.js";
import { EXIT, type ExitCode } from "../../domain/errors.js";
import { table } from "../../reports/text/text-table.js";
import type { Db } from "../../store/connection/open-store.js";
import { getTool, listAgentsWithTool, listTools } from "../../store/registry/tools.js";
import type { Command, CommandContext } from "../cli/command.js";
import { readFlags } from "../cli/read-flags.js";
import { needId, refuseOthers } from "../cli/subcommand-args.js";
import { addTool, setTool } from "./add-tool.js";
import { TAKES, TOOL_ACTIONS, TOOLS_FLAGS, type ToolFlags, toolsSchema } from "./tools-flags.js";
import { testTool } from "./try-tool.js";

type ToolAction = (db: Db, flags: ToolFlags, door: CommandContext) => ExitCode | Promise<ExitCode>;

const DOES: Readonly<Record<(typeof TOOL_ACTIONS)[number], ToolAction>> = {
  list: (db, { category }, door) => printList(listTools(db, category ?? null), door),
  show: (db, { id }, door) => printOne(db, getTool(db, needId(id, "tools", "show")), door),
  add: addTool,
  set: setTool,
  delete(db, flags, { out }) {
    const id = needId(flags.id, "tools", "delete");
    deleteTool(db, id);
    out.result({ id, deleted: true }, () => `Tool ${id} is deleted.`);
    return EXIT.done;
  },
  test: testTool,
};

const CHANGES: ReadonlySet<string> = new Set(["add", "set", "delete"]);

export const toolsCommand: Command = {
  positionals: {
    action: { type: "string", describe: TOOL_ACTIONS.join(", ") },
    id: { type: "string", describe: "The tool" },
    arguments: { type: "string", describe: "test: its arguments as a JSON object" },
  },
  flags: TOOLS_FLAGS,
  async run(argv, door) {
    const flags = readFlags("tools", toolsSchema, argv);
    const { action } = flags;
    refuseOthers("tools", action, flags, TAKES[action], Object.keys(toolsSchema.shape));
    const db = CHANGES.has(action) ? openRegistryToChange(door.settings) : openRegistry(door.settings);
    try {
      return await DOES[action](db, flags, door);
    } finally {
      db.close();
    }
  },
};

function printList(tools: readonly StoredTool[], { out }: CommandContext): ExitCode {
  out.result(tools, () =>
    table(
      ["id", "category", "handler", "name"],
      tools.map((tool) => [tool.id, tool.category, tool.handlerKey, tool.name]),
    ),
  );
  return EXIT.done;
}

function printOne(db: Db, tool: StoredTool, { out }: CommandContext): ExitCode {
  const agents = listAgentsWithTool(db, tool.id).map(({ id }) => id);
  const config = Object.keys(tool.handlerConfig).length === 0 ? [] : [JSON.stringify(tool.handlerConfig, null, 2)];
  out.result({ ...tool, agents }, () =>
    [
      `${tool.id}: ${tool.name}`,
      tool.description,
      "",
      `Category: ${tool.category}`,
      `Handler:  ${tool.handlerKey}`,
      `Agents:   ${agents.length === 0 ? "none" : agents.join(", ")}`,
      ...config.flatMap((text) => ["", "Config:", text]),
      "",
      "Parameters:",
      JSON.stringify(tool.parametersSchema, null, 2),
    ].join("\n"),
  );
  return EXIT.done;
}
