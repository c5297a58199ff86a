import type { CommandGroup } from "../cli/command.js";

export const JUDGE_GROUP: CommandGroup = {
  usage: "judge",
  describe: "Measure a judge: how far it agrees with people",
  subcommands: [
    {
      usage: "calibrate <labels>",
      describe: "Compare a judge with answers that people have graded",
      load: async () => (await import("./calibrate-judge.js")).calibrateCommand,
    },
  ],
};
