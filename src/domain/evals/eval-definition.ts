import { z } from "zod";
import { taskIdSchema } from "../tasks/task-id.js";

export const MAX_CONDITIONS = 4;

const feature = z.string().min(1);

/** A bound on one feature of a trace. Where the feature does not apply, the condition holds. */
export const conditionSchema = z.union(
  [z.strictObject({ feature, at_least: z.number() }), z.strictObject({ feature, at_most: z.number() })],
  "expected a feature with at_least or at_most",
);

export type Condition = z.output<typeof conditionSchema>;

/** What an answer to one task must hold. */
export const regressionCaseSchema = z.strictObject({
  task: taskIdSchema,
  must_contain: z.array(z.string().min(1)),
  /** Message-IDs; one of them is enough, as each holds the answer. */
  must_cite: z.array(z.string().min(1)),
});

export type RegressionCase = z.output<typeof regressionCaseSchema>;

export const evalNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, "expected small letters, digits and _, beginning with a letter, at most 64");

const common = {
  name: evalNameSchema,
  version: z.int().positive(),
  /** It sees gold answers, scores or a judge's verdict, so it cannot be used where there are none. */
  reference: z.boolean(),
  /** The one failure mode it looks for, as a sentence about a good trace. */
  criterion: z.string().min(1).max(1_000),
  /** Where it came from. */
  origin: z.strictObject({
    by: z.enum(["templates", "person", "model"]),
    seed: z.int().nullable(),
    /** SHA-256 of the labels it was chosen by; null: none. */
    labels: z.string().nullable(),
    /** The version it was refined from. */
    parent: z.int().positive().nullable(),
  }),
};

/** Characters of an eval's code. */
const MAX_CODE = 100_000;

const MAX_RUBRIC = 10_000;

/** An eval as its JSON file holds it. It is data: code in it runs in the sandbox and nowhere else. */
export const evalDefinitionSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    ...common,
    kind: z.literal("rules"),
    pass: z.strictObject({ all: z.array(conditionSchema).min(1).max(MAX_CONDITIONS) }),
  }),
  z.strictObject({ ...common, kind: z.literal("cases"), cases: z.array(regressionCaseSchema).min(1).max(10_000) }),
  z.strictObject({
    ...common,
    kind: z.literal("python"),
    /** Defines `eval_function(task, task_metadata, trace, ctx)`, which gives (0 to 1 or None, feedback). */
    code: z.string().min(1).max(MAX_CODE),
  }),
  z.strictObject({
    ...common,
    kind: z.literal("rubric"),
    /** What makes a trace pass and what makes it fail, for a model to read. */
    rubric: z.string().min(1).max(MAX_RUBRIC),
    /** `provider/name`. */
    model: z.string().regex(/^[a-z]+\/\S+$/, "expected provider/name"),
  }),
]);

export type EvalDefinition = z.output<typeof evalDefinitionSchema>;

export type EvalOf<K extends EvalDefinition["kind"]> = Extract<EvalDefinition, { kind: K }>;

/** Evals that this process itself reads and applies to one trace at a time. */
export type DataEval = EvalOf<"rules" | "cases">;

export function isDataEval(definition: EvalDefinition): definition is DataEval {
  return definition.kind === "rules" || definition.kind === "cases";
}

/** `draft`: suggested or made; `active`: the one version of its name in use; `retired`: was. */
export const EVAL_STATUSES = ["draft", "active", "retired"] as const;

export type EvalStatus = (typeof EVAL_STATUSES)[number];

/** An eval as it is stored. */
export interface StoredEval {
  readonly id: number;
  readonly definition: EvalDefinition;
  readonly status: EvalStatus;
  readonly createdAt: string;
}
