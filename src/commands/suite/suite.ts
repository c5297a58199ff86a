import type { CommandGroup } from "../cli/command.js";

export const SUITE_GROUP: CommandGroup = {
  usage: "suite",
  describe: "List, show, check and export task suites: folders of tasks with set-up and evaluation functions",
  subcommands: [
    {
      usage: "list <dir>",
      describe: "List tasks, with what they are graded by",
      load: async () => (await import("./list-tasks.js")).listTasksCommand,
    },
    {
      usage: "show <dir> <id>",
      describe: "Show a task: its instruction, set-up, evaluation, and what is wrong or odd about it",
      load: async () => (await import("./show-task.js")).showTaskCommand,
    },
    {
      usage: "check <dir>",
      describe: "Check the files of all tasks, or grade what an oracle file says an agent left behind (--oracle)",
      load: async () => (await import("./check-suite.js")).checkSuiteCommand,
    },
    {
      usage: "image <name>",
      describe: "Print the Dockerfile of a snapshot: the programs and modules that its tasks find",
      load: async () => (await import("./write-image.js")).writeImageCommand,
    },
    {
      usage: "export <suite>",
      describe: "Write the questions of ART-E as a suite's folder, to be run with art-e run --suite",
      load: async () => (await import("./export-suite.js")).exportSuiteCommand,
    },
  ],
};
