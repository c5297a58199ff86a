import { z } from "zod";
import { COUNTERPARTS } from "../tasks/suite-task.js";
import { oneOf, text, wordList } from "./read-flags.js";

/** The folder of a suite, as an argument. */
export const suiteDir = text.meta({
  description: "The suite: a folder that holds examples/<tool>/<id>/<id>.json, or Harbor tasks",
});

const words = text.transform(wordList);

/** Which tasks of a suite are meant. */
export const suiteSelectionShape = {
  task: words.optional().meta({ description: "Task ids, or their beginnings, separated by commas" }),
  tool: text
    .optional()
    .meta({ description: "Tasks of this folder of examples/ (or of Harbor tasks), such as jupyter" }),
  tag: words.optional().meta({ description: "Tasks with all of these tags, separated by commas" }),
  index: text.optional().meta({ description: "Tasks that an index file lists, such as test_one.json" }),
  counterparts: oneOf(COUNTERPARTS)
    .optional()
    .meta({ description: "both: whole pairs, counterparts added; abstract or verbose: one of each pair" }),
  runnable: z.boolean().optional().meta({ description: "Only tasks that can be run here" }),
};

/** The user's own set-up and evaluation functions. */
export const functionsShape = {
  functions: text
    .optional()
    .meta({ description: "A module of your own set-up and evaluation functions; it runs with your rights" }),
};

/** What tasks of suites take from outside of the suite. */
export const suiteResourceShape = {
  ...functionsShape,
  accountSettings: text.optional().meta({
    description: "A folder of VENDOR/settings.json, for tasks tagged account [default: the suite's settings/]",
  }),
};
