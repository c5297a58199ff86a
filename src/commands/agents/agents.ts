import type { CommandGroup } from "../cli/command.js";

export const AGENTS_GROUP: CommandGroup = {
  usage: "agents",
  describe: "List, show, create, change and delete agents; attach and detach tools; export and import",
  subcommands: [
    {
      usage: "list",
      describe: "List all agents",
      load: async () => (await import("./list-agents.js")).listAgentsCommand,
    },
    {
      usage: "show [id]",
      describe: "Show an agent, one of its versions (ID@VERSION), or the agent of a run (--run)",
      load: async () => (await import("./show-agent.js")).showAgentCommand,
    },
    {
      usage: "versions <id>",
      describe: "List the versions of an agent, with the number of runs of each",
      load: async () => (await import("./list-versions.js")).listVersionsCommand,
    },
    {
      usage: "create <id>",
      describe: "Create an agent",
      load: async () => (await import("./create-agent.js")).createAgentCommand,
    },
    {
      usage: "set <id>",
      describe: "Change an agent",
      load: async () => (await import("./set-agent.js")).setAgentCommand,
    },
    {
      usage: "clone <id> <new_id>",
      describe: "Copy an agent under another id",
      load: async () => (await import("./clone-agent.js")).cloneAgentCommand,
    },
    {
      usage: "delete <id>",
      describe: "Delete an agent; its runs and versions stay",
      load: async () => (await import("./delete-agent.js")).deleteAgentCommand,
    },
    {
      usage: "attach <id> <tool>",
      describe: "Give an agent a tool",
      load: async () => (await import("./attach-tool.js")).attachToolCommand,
    },
    {
      usage: "detach <id> <tool>",
      describe: "Take a tool from an agent",
      load: async () => (await import("./detach-tool.js")).detachToolCommand,
    },
    {
      usage: "export <id>",
      describe: "Write an agent with its own tools as YAML",
      load: async () => (await import("./export-agent.js")).exportAgentCommand,
    },
    {
      usage: "import <file>",
      describe: "Create an agent from a YAML file",
      load: async () => (await import("./import-agent.js")).importAgentCommand,
    },
  ],
};
