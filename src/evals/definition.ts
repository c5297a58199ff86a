import { z } from "zod";
import { estimateSchema } from "../statistics/estimate.js";
import { type TaskId, taskIdSchema } from "../tasks/question.js";
import type { Score } from "../traces/score.js";
import type { ChatTrace, Trace } from "../traces/trace.js";
import type { EvalOutcome } from "./eval-outcome.js";

const PREFIX = "eval:";

/** The name of an eval's score in results, reports and gates; as a scorer it may name a version: `eval:NAME@2`. */
export type EvalScore = `${typeof PREFIX}${string}`;

export function scoreNameOf({ name }: Pick<EvalDefinition, "name">): EvalScore {
  return `${PREFIX}${name}`;
}

export function isEvalScore(name: string): name is EvalScore {
  return name.startsWith(PREFIX) && name.length > PREFIX.length;
}

/** The eval that a score is of, with its version where one is named. */
export function evalOfScore(score: EvalScore): string {
  return score.slice(PREFIX.length);
}

/** An error is no score of 0: it has none, and says why. */
export function toScore({ score, reason, error }: EvalOutcome): Score {
  return { value: score, explanation: error === null ? reason : `the eval failed: ${error}` };
}

/** What an eval reads: the trace of a task of a run, or of a chat. */
export type EvaluatedTrace = Trace | ChatTrace;

const countSchema = z.int().nonnegative();
const shareSchema = z.number().min(0).max(1);

/** Positive: the label is good. */
const confusionSchema = z.object({
  goodPassed: countSchema,
  goodFailed: countSchema,
  badPassed: countSchema,
  badFailed: countSchema,
});

export type Confusion = z.output<typeof confusionSchema>;

/** How far an eval agrees with labels; 95 % intervals, which allow for repeats of a question. */
const agreementSchema = z.object({
  good: countSchema,
  bad: countSchema,
  /** Labelled traces that it does not apply to; in none of the figures. */
  notApplicable: countSchema,
  /** Labelled traces on which it failed or timed out; in none of the figures. */
  errors: countSchema,
  /** Share of the good and of the bad traces that it says something of; null of none. */
  judged: z.object({ good: shareSchema.nullable(), bad: shareSchema.nullable() }),
  accuracy: estimateSchema,
  /** Share of the good traces that pass; also called recall. */
  truePositiveRate: estimateSchema,
  /** Share of the bad traces that fail; also called coverage. */
  trueNegativeRate: estimateSchema,
  /** Share of the passing traces that are good. */
  precision: estimateSchema,
  /** Cohen's kappa: agreement beyond chance. */
  kappa: estimateSchema,
  /** Share of the good traces that fail. */
  falseFailureRate: estimateSchema,
  confusion: confusionSchema,
  /** 95 % of the kappas with shuffled labels are below; null where it cannot be told. */
  shuffledKappa: z.number().nullable(),
});

export type Agreement = z.output<typeof agreementSchema>;

/** A labelled trace on which label and eval disagree. */
export interface Contradiction {
  readonly traceId: string;
  readonly runId: string | null;
  readonly taskId: TaskId | null;
  readonly label: "good" | "bad";
  readonly note: string | null;
  readonly score: number;
  readonly reason: string;
}

export const THRESHOLD_NAMES = ["usable", "gate"] as const;

export type ThresholdName = (typeof THRESHOLD_NAMES)[number];

const labelCeilingSchema = z.object({
  /** Share of the labels that are wrong, as the share that was given otherwise when asked again tells. */
  noise: shareSchema,
  truePositiveRate: shareSchema,
  trueNegativeRate: shareSchema,
});

export type LabelCeiling = z.output<typeof labelCeilingSchema>;

/** What testing an eval on the held-out half gave. */
const evalTestSchema = z.object({
  criterion: z.string(),
  /** SHA-256 of the held-out labels. */
  labelsHash: z.string(),
  agreement: agreementSchema,
  /** How often the most read of these traces were tested on, for any criterion, this time included. */
  heldOutReads: countSchema,
  /** How often by a version of this eval. */
  readsByThisEval: countSchema,
  /** Running time per trace in ms: half take less, 95 % take less. */
  latencyMs: z.object({ p50: z.number(), p95: z.number() }),
  /** US dollars for a trace; 0 for what calls no model, null where the price is not known. */
  costUsdPerTrace: z.number().nullable(),
  /** What an eval that is always right would reach on labels that contradict themselves as often as these. */
  ceiling: labelCeilingSchema.nullable(),
  thresholds: z.enum(THRESHOLD_NAMES),
  /** Why it was rejected; empty: it passed. */
  rejections: z.array(z.string()).readonly(),
  /** Worth knowing: few labels, a half that was read often. */
  warnings: z.array(z.string()).readonly(),
  /** It came with the eval's file: its labels are in another database. */
  isImported: z.literal(true).exactOptional(),
});

export type EvalTest = z.output<typeof evalTestSchema>;

/** A test as the file of its eval holds it. */
export const fileValidationSchema = evalTestSchema.extend({
  /** Of what was tested: where the file says something else, it says nothing of it. */
  definitionHash: z.string(),
  testedAt: z.string(),
});

export type FileValidation = z.output<typeof fileValidationSchema>;

/** What a newest test is worth. */
export type Validation = "none" | "stale" | "passed" | "rejected";

export function validationOf(test: { readonly report: EvalTest; readonly isStale: boolean } | null): Validation {
  if (test === null) return "none";
  if (test.isStale) return "stale";
  return test.report.rejections.length === 0 ? "passed" : "rejected";
}

export const MAX_CONDITIONS = 4;

const feature = z.string().min(1);

/** A bound on one feature of a trace. Where the feature does not apply, the condition holds. */
const conditionSchema = z.union(
  [z.strictObject({ feature, at_least: z.number() }), z.strictObject({ feature, at_most: z.number() })],
  "expected a feature with at_least or at_most",
);

export type Condition = z.output<typeof conditionSchema>;

/** What a person says of the words of an answer. Capitals and white space count in a pattern only. */
const assertionSchema = z.union(
  [
    z.strictObject({ contains: z.string().trim().min(1).max(1_000) }),
    z.strictObject({ lacks: z.string().trim().min(1).max(1_000) }),
    /** A regular expression of JavaScript; `(?i)` before it: capitals do not count. */
    z.strictObject({ matches: z.string().max(1_000).refine(isPattern, "expected a regular expression") }),
    /** It is JSON, with these keys at its top. */
    z.strictObject({ json: z.array(z.string().min(1).max(200)).max(100) }),
  ],
  "expected contains, lacks, matches or json",
);

export type Assertion = z.output<typeof assertionSchema>;

/** The parts that RegExp takes. */
export function patternParts(pattern: string): [string, string] {
  return pattern.startsWith("(?i)") ? [pattern.slice(4), "i"] : [pattern, ""];
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(...patternParts(pattern)).source !== "(?:)";
  } catch {
    return false;
  }
}

/** What an answer to one task must hold. */
const regressionCaseSchema = z.strictObject({
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
  z.strictObject({
    ...common,
    kind: z.literal("assertions"),
    answer: z.strictObject({ all: z.array(assertionSchema).min(1).max(20) }),
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

/** An eval before it is saved, which gives it its version. */
export type EvalDraft<K extends EvalDefinition["kind"] = EvalDefinition["kind"]> = K extends K
  ? Omit<EvalOf<K>, "version">
  : never;

/** Evals that this process itself reads and applies to one trace at a time. */
export type DataEval = EvalOf<"rules" | "assertions" | "cases">;

export function isDataEval(definition: EvalDefinition): definition is DataEval {
  return definition.kind !== "python" && definition.kind !== "rubric";
}

/** `draft`: suggested or made; `active`: the one version of its name in use; `retired`: was. */
const EVAL_STATUSES = ["draft", "active", "retired"] as const;

export type EvalStatus = (typeof EVAL_STATUSES)[number];

/** An eval as it is stored. */
export interface StoredEval {
  readonly id: number;
  readonly definition: EvalDefinition;
  readonly status: EvalStatus;
  /** The criterion whose newest test says what it is worth; null: whichever was tested last. */
  readonly validatedFor: string | null;
  readonly createdAt: string;
}
