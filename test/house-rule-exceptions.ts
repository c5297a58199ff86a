/**
 * Where a rule of test/house.test.ts does not hold yet, or not for a reason. An entry that is no longer needed goes.
 */

export const CROWDED_FOLDERS: ReadonlyMap<string, string> = new Map([
  ["test/commands", "A file per behaviour of the built program, which its name tells; helpers are in art-e.ts."],
]);

/** Longer than 120 lines. */
export const LONG_COMMANDS: ReadonlyMap<string, string> = new Map([
  ["src/commands/cli/command-table.ts", "A table of all commands."],
  ["src/commands/run/run-flags.ts", "A table of some fifty flags and their schema."],
  ["src/commands/cli/command-table.ts", "A table of the commands, five lines each."],
]);

/** Files below the doors that use the process. */
export const PROCESS_USERS: ReadonlyMap<string, string> = new Map([
  ["src/app/settings/env-file.ts", "Reads the environment and .env once, for every door."],
  [
    "src/app/run/open-agent-target.ts",
    "Shows the stderr of an agent's program with --verbose; the door is to pass a function.",
  ],
]);
