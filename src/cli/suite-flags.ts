import { COUNTERPARTS } from "../suites/select-tasks.js";
import type { Flags } from "./command.js";
import { oneOf, text, wordList } from "./read-flags.js";

export const SUITE_DIR = {
  type: "string",
  describe: "The suite: a folder that holds examples/<tool>/<id>/<id>.json",
} as const;

const words = text.transform(wordList);

/** Which tasks of a suite are meant. */
export const suiteSelectionShape = {
  task: words.optional(),
  tool: text.optional(),
  tag: words.optional(),
  index: text.optional(),
  counterparts: oneOf(COUNTERPARTS).optional(),
};

export const SUITE_SELECTION_FLAGS: Flags = {
  task: { type: "string", requiresArg: true, describe: "Task ids, or their beginnings, separated by commas" },
  tool: { type: "string", requiresArg: true, describe: "Tasks of this folder of examples/, such as jupyter" },
  tag: { type: "string", requiresArg: true, describe: "Tasks with all of these tags, separated by commas" },
  index: { type: "string", requiresArg: true, describe: "Tasks that an index file lists, such as test_one.json" },
  counterparts: {
    type: "string",
    requiresArg: true,
    describe: "both: whole pairs, counterparts added; abstract or verbose: one of each pair",
  },
};

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
