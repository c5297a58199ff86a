import type { CommandGroup } from "../cli/command.js";

export const TOOLS_GROUP: CommandGroup = {
  usage: "tools",
  describe: "List, show, add, change and delete tools, and call one to test it",
  subcommands: [
    {
      usage: "list",
      describe: "List all tools",
      load: async () => (await import("./list-tools.js")).listToolsCommand,
    },
    {
      usage: "show <id>",
      describe: "Show a tool with its parameters and the agents that have it",
      load: async () => (await import("./show-tool.js")).showToolCommand,
    },
    {
      usage: "add [id]",
      describe: "Add a tool: a web address, a program, a module, or those of an MCP server",
      load: async () => (await import("./add-tool.js")).addToolCommand,
    },
    {
      usage: "set <id>",
      describe: "Change a tool",
      load: async () => (await import("./set-tool.js")).setToolCommand,
    },
    {
      usage: "delete <id>",
      describe: "Delete a tool that no agent has",
      load: async () => (await import("./delete-tool.js")).deleteToolCommand,
    },
    {
      usage: "test <id> [arguments]",
      describe: "Call a tool once; exit with 1 if the call fails",
      load: async () => (await import("./try-tool.js")).testToolCommand,
    },
  ],
};
