import type { Flags } from "../cli/command.js";
import { text } from "../cli/read-flags.js";

/** The user's own set-up and evaluation functions. */
export const functionsShape = { functions: text.optional() };

export const FUNCTIONS_FLAGS: Flags = {
  functions: {
    type: "string",
    requiresArg: true,
    describe: "A module of your own set-up and evaluation functions; it runs with your rights",
  },
};

/** What tasks of suites take from outside of the suite. */
export const suiteResourceShape = { ...functionsShape, accountSettings: text.optional() };

export const SUITE_RESOURCE_FLAGS: Flags = {
  ...FUNCTIONS_FLAGS,
  "account-settings": {
    type: "string",
    requiresArg: true,
    describe: "A folder of VENDOR/settings.json, for tasks tagged account [default: the suite's settings/]",
  },
};
