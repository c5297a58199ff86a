import { COUNTERPARTS } from "../../suites/definition/selection/select-tasks.js";
import type { Flags } from "../cli/command.js";
import { wordList } from "../cli/list-flags.js";
import { oneOf, text } from "../cli/read-flags.js";

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
