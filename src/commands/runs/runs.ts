import type { CommandGroup } from "../cli/command.js";

export const RUNS_GROUP: CommandGroup = {
  usage: "runs",
  describe: "List, show, name, tag and delete runs",
  subcommands: [
    {
      usage: "list",
      describe: "List runs with their scores, newest first",
      load: async () => (await import("./list-runs.js")).listRunsCommand,
    },
    {
      usage: "show [run]",
      describe: "Show a run with its tasks, failed and worst first",
      load: async () => (await import("./show-run.js")).showRunCommand,
    },
    {
      usage: "rename <run> [name]",
      describe: "Name a run; any command then takes the name for its id",
      load: async () => (await import("./rename-run.js")).renameRunCommand,
    },
    {
      usage: "note <run> [note]",
      describe: "Write a note beside a run",
      load: async () => (await import("./note-run.js")).noteRunCommand,
    },
    {
      usage: "tag <run> <tags..>",
      describe: "Give a run tags, or take them away (--remove)",
      load: async () => (await import("./tag-run.js")).tagRunCommand,
    },
    {
      usage: "delete <runs..>",
      describe: "Delete runs with their results and traces (--yes)",
      load: async () => (await import("./delete-runs.js")).deleteRunsCommand,
    },
    {
      usage: "prune",
      describe: "Delete runs by age, number or status; never those with a name, note or tag (--yes)",
      load: async () => (await import("./prune-runs.js")).pruneRunsCommand,
    },
  ],
};
