import type { Flags } from "../cli/command.js";

export const CONFIG_FLAGS: Flags = {
  config: {
    type: "string",
    requiresArg: true,
    describe:
      "A file of settings, over which flags win, or off [default: art-e.yaml, here or beside the database, if there is one]",
  },
  only: {
    type: "string",
    requiresArg: true,
    describe: "Only these of the runs in the file of settings, separated by commas",
  },
};
