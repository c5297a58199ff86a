import { z } from "zod";
import { jsonObjectSchema } from "../../domain/json.js";

const name = z.string("expected a text").min(1, "expected a text").max(200, "expected at most 200 characters");
const texts = z.array(z.string("expected a text"), "expected a list of texts").nullish();

const flowbookCall = z.looseObject({
  func: name.describe("Name of the function."),
  arguments: jsonObjectSchema.nullish().describe("Its arguments by name. Paths are relative to the task's folder."),
});

const spiderCall = z.looseObject({
  type: name.describe("Name of the function."),
  parameters: jsonObjectSchema.nullish().describe("Its arguments by name. Paths are relative to the suite's root."),
});

/** A function as either dialect writes it. */
export const functionCallSchema = z.union([flowbookCall, spiderCall], {
  error: "expected {func, arguments} or {type, parameters}",
});

const calls = z.array(functionCallSchema, "expected a list of functions").nullish();

/** `{}` and null stand for no getter. */
const NO_GETTER = "expected {type, ...}, {} or null";
const getter = z.union([z.looseObject({ type: name }), z.strictObject({}, NO_GETTER), z.null()], NO_GETTER);

const oneOrMore = <T extends z.ZodType>(schema: T, error: string) => z.union([schema, z.array(schema)], { error });

const evaluation = z.looseObject({
  func: name.nullish().describe("The evaluation function; without one the task has no score."),
  arguments: jsonObjectSchema
    .nullish()
    .describe("Its arguments: gold files of the task's folder, paths in the machine, options."),
});

const evaluator = z.looseObject({
  postconfig: calls.describe("Functions run in the machine before anything is collected from it."),
  func: oneOrMore(name, "expected the name of a function, or a list of names").describe(
    "The evaluation function, or a list of them.",
  ),
  conj: z
    .enum(["and", "or"], 'expected "and" or "or"')
    .nullish()
    .describe("How the scores of a list count: and (default) is 0 at the first 0, else the mean; or is the best."),
  result: oneOrMore(getter, "expected {type, ...}, or a list of them")
    .optional()
    .describe("Gets what the agent left behind; one for each function of a list."),
  expected: oneOrMore(getter, "expected {type, ...}, or a list of them")
    .optional()
    .describe("Gets what it is compared with; one for each function of a list."),
  options: oneOrMore(jsonObjectSchema.nullable(), "expected an object, or a list of them")
    .optional()
    .describe("Further arguments of the function; one object for each function of a list."),
});

/**
 * A task's file, `examples/<tool>/<id>/<id>.json`, in both spellings. Unknown fields are let through: whoever made the
 * task knows what they are for.
 */
export const taskFileSchema = z.looseObject({
  id: name.describe("The task's id, which is the name of its folder and of its file too."),
  snapshot: name.describe("Names what the task's machine holds, such as jupyter."),
  instruction: z
    .string("expected a text")
    .min(1, "expected a text")
    .describe("What the agent is told: the goal, or a step-by-step guide."),
  source: z.union([texts, z.string()], { error: "expected a list of texts" }).describe("Where the task comes from."),
  related_apps: texts.describe("The programs it is about."),
  tags: texts.describe(
    "Interface (cli, gui, cli+gui), guidance (verbose, abstract), domain (such as data_warehousing), and account where credentials are needed.",
  ),
  action_number: z
    .number("expected a whole number")
    .int("expected a whole number")
    .min(0, "expected a whole number of at least 0")
    .nullish()
    .describe("Steps that a person takes."),
  config: calls.describe("Functions that set the machine up, in their order."),
  evaluation: evaluation.nullish().describe("How the task is graded, as Flowbook writes it."),
  evaluator: evaluator.nullish().describe("How the task is graded, as Spider2-V writes it."),
  counterpart: z
    .string("expected a text")
    .nullish()
    .describe("Id of the same task with an abstract instead of a verbose instruction, or the reverse."),
});

export type TaskFile = z.output<typeof taskFileSchema>;
export type WrittenCall = z.output<typeof functionCallSchema>;
export type WrittenEvaluator = z.output<typeof evaluator>;
