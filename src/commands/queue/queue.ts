import type { CommandGroup } from "../cli/command.js";

export const QUEUE_GROUP: CommandGroup = {
  usage: "queue",
  describe: "What is on a queue of runs, and how to clean it",
  subcommands: [
    {
      usage: "status",
      describe: "The runs on a queue, and the workers that answer them",
      load: async () => (await import("./show-status.js")).queueStatusCommand,
    },
    {
      usage: "clean [id]",
      describe: "Remove a run from a queue, or all, with the results that nobody has taken in",
      load: async () => (await import("./clean-queue.js")).cleanQueueCommand,
    },
  ],
};
