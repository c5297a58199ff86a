// The types and schemas of evals, their tests and their validation.
import { z } from "zod";
import { estimateSchema } from "../statistics/estimate.js";
import { type TaskId, taskIdSchema } from "../tasks/question.js";
import { JUDGED } from "../traces/headline-score.js";
import { judgeSettingsSchema, PROMPT_VARIANTS } from "../traces/judgment.js";
import type { Score } from "../traces/score.js";
import { BANDS } from "../traces/score-bands.js";
import type { ChatTrace, Trace } from "../traces/trace.js";
import type { EvalOutcome } from "./eval-outcome.js";

const PREFIX = "eval:";

/** The name of an eval's score in results, reports and gates. As a scorer, it can include a version: `eval:NAME@2`. */
export type EvalScore = `${typeof PREFIX}${string}`;

/** The input of an eval: the trace of a run's task or of a chat. */
export type EvaluatedTrace = Trace | ChatTrace;

/** A disagreement between an eval and the label of a trace. */
export interface Contradiction {
  readonly traceId: string;
  readonly runId: string | null;
  readonly taskId: TaskId | null;
  readonly label: "good" | "bad";
  readonly note: string | null;
  readonly score: number;
  readonly reason: string;
}

/** The status of the newest test. */
export type Validation = "none" | "stale" | "passed" | "rejected";

export type EvalOf<K extends EvalDefinition["kind"]> = Extract<EvalDefinition, { kind: K }>;

/** An eval before it is saved and gets a version. */
export type EvalDraft<K extends EvalDefinition["kind"] = EvalDefinition["kind"]> = K extends K
  ? Omit<EvalOf<K>, "version">
  : never;

/** Evals that this process can run on its own, one trace at a time. */
export type DataEval = EvalOf<"rules" | "assertions" | "cases">;

/** A stored eval. */
export interface StoredEval {
  readonly id: number;
  readonly definition: EvalDefinition;
  readonly status: EvalStatus;
  /** The criterion that the eval was activated for. Null selects the newest test of any criterion. */
  readonly validatedFor: string | null;
  readonly createdAt: string;
}

export function scoreNameOf({ name }: Pick<EvalDefinition, "name">): EvalScore {
  return `${PREFIX}${name}`;
}

export function isEvalScore(name: string): name is EvalScore {
  return name.startsWith(PREFIX) && name.length > PREFIX.length;
}

/** A score with measured errors: an eval's score, or the verdicts of a run's judge, whose errors an eval measures. */
export type ValidatedScore = EvalScore | typeof JUDGED;

export function isValidatedScore(name: string): name is ValidatedScore {
  return name === JUDGED || isEvalScore(name);
}

/** Returns the eval of a score, including the version if there is one. */
export function evalOfScore(score: EvalScore): string {
  return score.slice(PREFIX.length);
}

/** Converts an outcome to a score. An error has a null value and an explanation, never a score of 0. */
export function toScore({ score, reason, error }: EvalOutcome): Score {
  if (error !== null) return { value: null, explanation: `the eval failed: ${error}`, failed: true };
  return { value: score, explanation: reason };
}

const countSchema = z.int().nonnegative();
const shareSchema = z.number().min(0).max(1);
const weightSchema = z.number().nonnegative().max(1e12);
const weightsSchema = z.object({
  goodPassed: weightSchema,
  goodFailed: weightSchema,
  badPassed: weightSchema,
  badFailed: weightSchema,
});

/**
 * Sources of labels. Earlier sources take precedence. `import`: from a file that does not say who labeled. Only labels
 * by people validate an eval or correct its rates.
 */
export const LABEL_SOURCES = ["person", "import", "judge", "score"] as const;

export type LabelSource = (typeof LABEL_SOURCES)[number];

/** Number of labels by source. */
export type LabelSources = Partial<Record<LabelSource, number>>;

/** A positive is a trace labeled good. */
const confusionSchema = z.object({
  goodPassed: countSchema,
  goodFailed: countSchema,
  badPassed: countSchema,
  badFailed: countSchema,
});

export type Confusion = z.output<typeof confusionSchema>;

/** Agreement of an eval with labels. The 95% intervals account for repetitions of a question. */
const agreementSchema = z.object({
  good: countSchema,
  bad: countSchema,
  /** Number of labels by source, including those of traces that are not judged. */
  sources: z.partialRecord(z.enum(LABEL_SOURCES), countSchema),
  /** Number of labeled traces that the eval does not apply to. All rates exclude them. */
  notApplicable: countSchema,
  /** Number of labeled traces on which the eval failed or timed out. All rates exclude them. */
  errors: countSchema,
  /** Fraction of the good traces, and of the bad ones, that the eval applies to. Null if there are no such traces. */
  judged: z.object({ good: shareSchema.nullable(), bad: shareSchema.nullable() }),
  /** Fraction of the good traces that pass. */
  truePositiveRate: estimateSchema,
  /** Fraction of the bad traces that fail. */
  trueNegativeRate: estimateSchema,
  /** Fraction of the good traces that fail. */
  falseFailureRate: estimateSchema,
  confusion: confusionSchema,
  /**
   * Total weights in the cells of the confusion table, from which the rates follow, with the sums of their squares and
   * the expected weight of one more trace that passes or fails. Absent if every trace had the same chance to be
   * labeled.
   */
  weighted: weightsSchema
    .extend({
      squares: weightsSchema,
      next: z.object({ passed: weightSchema, failed: weightSchema }),
      /** Factors by which repetitions of questions increase the variances of the two rates. */
      designEffect: z.object({ good: weightSchema, bad: weightSchema }).exactOptional(),
    })
    .exactOptional(),
  /**
   * Traces with two or more labels, which show how many labels are wrong, and the fraction of the wrong ones that
   * adjudication has removed. A trace with more than two can be alike in part. Absent if fewer than five have two
   * labels.
   */
  labelPairs: z
    .object({
      alike: weightSchema,
      n: countSchema,
      resolved: shareSchema.exactOptional(),
      /** Fractions of the labels from coding notes, good and bad, that a direct label has replaced. */
      again: z.object({ good: shareSchema, bad: shareSchema }).exactOptional(),
    })
    .exactOptional(),
});

export type Agreement = z.output<typeof agreementSchema>;

export const THRESHOLD_NAMES = ["usable", "gate"] as const;

export type ThresholdName = (typeof THRESHOLD_NAMES)[number];

/** How the results of an eval change if its model receives another form of the prompt. */
const variantSchema = z.object({
  variant: z.enum(PROMPT_VARIANTS),
  /** Fraction of the traces with the same result. Excludes traces on which either form failed. */
  agreement: estimateSchema,
  /** Number of traces that pass only with this form, and that fail only with it. */
  passedOnly: countSchema,
  failedOnly: countSchema,
});

/** The agent of traces, as far as it is known. */
const tracedAgentSchema = z.object({
  agentId: z.string(),
  /** Null for an external agent. */
  version: z.int().nullable(),
  model: z.string(),
  /** Start of the SHA-256 of the prompt, or null if the prompt is unknown. */
  prompt: z.string().nullable(),
});

export type TracedAgent = z.output<typeof tracedAgentSchema>;

/** The result of testing an eval on the held-out half, or by cross-fitting on both. */
const evalTestSchema = z.object({
  criterion: z.string(),
  /** Agents of the tested traces. */
  agents: z.array(tracedAgentSchema).readonly(),
  /** SHA-256 of the labels. */
  labelsHash: z.string(),
  /**
   * The half or halves of the labels that a cross-fitted test used: each trace was judged by the eval as chosen without
   * the part of the labels that contains it. Absent if the eval itself judged the held-out labels.
   */
  crossFitted: z.enum(["both", "heldout"]).exactOptional(),
  agreement: agreementSchema,
  /** Highest number of tests that have used any one of these traces, for any criterion and including this test. */
  heldOutReads: countSchema,
  /** Number of tests of any version of this eval. */
  readsByThisEval: countSchema,
  /** Running time per trace in milliseconds: median and 95% quantile. */
  latencyMs: z.object({ p50: z.number(), p95: z.number() }),
  /** US dollars per trace. 0 without a model call, null if the price is unknown. */
  costUsdPerTrace: z.number().nullable(),
  /** Other forms of the prompt. Absent for evals without a model. */
  variants: z.array(variantSchema).readonly().exactOptional(),
  thresholds: z.enum(THRESHOLD_NAMES),
  /** Reasons for a rejection. Empty if the eval passed. */
  rejections: z.array(z.string()).readonly(),
  /** Limitations of the test, such as a small number of labels or frequent reads. */
  warnings: z.array(z.string()).readonly(),
  /** Whether the test came with the eval's file. Its labels are in another database. */
  isImported: z.literal(true).exactOptional(),
});

export type EvalTest = z.output<typeof evalTestSchema>;

/** Returns the half of the labels that a test used, or null for both. */
export function halfOfTest({ crossFitted }: Pick<EvalTest, "crossFitted">): "heldout" | null {
  return crossFitted === "both" ? null : "heldout";
}

/** A test result in an eval file. */
export const fileValidationSchema = evalTestSchema.extend({
  /** Hash of the tested definition. The test is not valid for any other definition. */
  definitionHash: z.string(),
  testedAt: z.string(),
  /** Hash of all other fields. Without it, the test does not count. */
  figuresHash: z.string().exactOptional(),
});

export type FileValidation = z.output<typeof fileValidationSchema>;

export function validationOf(test: { readonly report: EvalTest; readonly isStale: boolean } | null): Validation {
  if (test === null) return "none";
  if (test.isStale) return "stale";
  return test.report.rejections.length === 0 ? "passed" : "rejected";
}

export const MAX_CONDITIONS = 4;

const feature = z.string().min(1);

/** A bound on one feature of a trace. The condition does not apply if the feature does not. */
const conditionSchema = z.union(
  [z.strictObject({ feature, at_least: z.number() }), z.strictObject({ feature, at_most: z.number() })],
  "expected a feature with at_least or at_most",
);

export type Condition = z.output<typeof conditionSchema>;

/** An assertion about an answer. Case and white space matter only in patterns. */
const assertionSchema = z.union(
  [
    z.strictObject({ contains: z.string().trim().min(1).max(1_000) }),
    z.strictObject({ lacks: z.string().trim().min(1).max(1_000) }),
    /** A JavaScript regular expression. The prefix `(?i)` ignores case. */
    z.strictObject({ matches: z.string().max(1_000).refine(isPattern, "expected a regular expression") }),
    /** The answer is JSON with these top-level keys. */
    z.strictObject({ json: z.array(z.string().min(1).max(200)).max(100) }),
  ],
  "expected contains, lacks, matches or json",
);

export type Assertion = z.output<typeof assertionSchema>;

/** Returns the arguments for RegExp. */
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

/** The trace that a case was made from, so that a failing case can be understood without the database. */
const caseOriginSchema = z.strictObject({
  run: z.string(),
  trace: z.string(),
  band: z.enum(BANDS),
  /** The label or the score that put the trace into its band. */
  basis: z.string(),
  question: z.string(),
  gold: z.string(),
  /** The answer in the trace, or null if the agent did not answer. */
  answer: z.string().nullable(),
  /** Terms of the case that this answer does not contain. */
  missing: z.array(z.string()),
});

export type CaseOrigin = z.output<typeof caseOriginSchema>;

/** Requirements on the answer to one task. */
const regressionCaseSchema = z.strictObject({
  task: taskIdSchema,
  must_contain: z.array(z.string().min(1)),
  /** Message-IDs. Citing one of these emails is enough, because each contains the answer. */
  must_cite: z.array(z.string().min(1)),
  from: caseOriginSchema.exactOptional(),
});

export type RegressionCase = z.output<typeof regressionCaseSchema>;

export const evalNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, "expected lowercase letters, digits and _, starting with a letter, at most 64");

const common = {
  name: evalNameSchema,
  version: z.int().positive(),
  /** Whether the eval needs gold answers, scores or a judge's verdict. Such evals cannot run without them. */
  reference: z.boolean(),
  /** The failure mode it detects, described as a sentence about a good trace. */
  criterion: z.string().min(1).max(1_000),
  /** How the eval was made. */
  origin: z.object({
    by: z.enum(["templates", "person", "model"]),
    seed: z.int().nullable(),
    /** SHA-256 of the labels that the eval was made from, or null if it was made without labels. */
    labels: z.string().nullable(),
  }),
};

/** The origin of an eval from a person, or from a template without labels. */
export const BY_PERSON = { by: "person", seed: null, labels: null } as const;
export const BY_TEMPLATES = { by: "templates", seed: null, labels: null } as const;

/** The languages of evals that are code. */
export const EVAL_LANGUAGES = ["python", "typescript"] as const;

export type EvalLanguage = (typeof EVAL_LANGUAGES)[number];

/** Maximum length of an eval's code, in characters. */
const MAX_CODE = 100_000;

const MAX_RUBRIC = 10_000;

/** Maximum number of cases in an eval. */
export const MAX_CASES = 10_000;

/** An eval in a JSON file. It is data, and its code runs only in the sandbox. */
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
  z.strictObject({
    ...common,
    kind: z.literal("cases"),
    /** `fraction` scores the fraction of the terms found. Absent: 1 if the case is met, otherwise 0. */
    scoring: z.literal("fraction").exactOptional(),
    cases: z.array(regressionCaseSchema).min(1).max(MAX_CASES),
  }),
  z.strictObject({
    ...common,
    kind: z.literal("python"),
    /** Defines `eval_function(task, task_metadata, trace, ctx)`, which returns (0 to 1 or None, reason). */
    code: z.string().min(1).max(MAX_CODE),
  }),
  z.strictObject({
    ...common,
    kind: z.literal("typescript"),
    /** Exports a function `(input, output, trace)` that returns `{score, reason}`, or a promise of it. */
    code: z.string().min(1).max(MAX_CODE),
  }),
  z.strictObject({
    ...common,
    kind: z.literal("rubric"),
    /** The conditions for passing and failing, written for a model. */
    rubric: z.string().min(1).max(MAX_RUBRIC),
    /** `provider/name`. */
    model: z.string().regex(/^[a-z]+\/\S+$/, "expected provider/name"),
  }),
  z.strictObject({
    ...common,
    kind: z.literal("judge"),
    /** A judge of answers. A trace passes if the judge calls its answer correct. */
    judge: judgeSettingsSchema,
  }),
]);

export type EvalDefinition = z.output<typeof evalDefinitionSchema>;

export function isDataEval(definition: EvalDefinition): definition is DataEval {
  return definition.kind === "rules" || definition.kind === "assertions" || definition.kind === "cases";
}

/** Whether an eval calls a model, which costs money. */
export function callsModel(definition: EvalDefinition): definition is EvalOf<"rubric" | "judge"> {
  return definition.kind === "rubric" || definition.kind === "judge";
}

/** Whether an eval is a program, whose scores can differ between runs. */
export function isCode(definition: EvalDefinition): definition is EvalOf<EvalLanguage> {
  return definition.kind === "python" || definition.kind === "typescript";
}

/** A `draft` is new, the `active` version scores runs, and a `retired` one no longer does. */
export const EVAL_STATUSES = ["draft", "active", "retired"] as const;

export type EvalStatus = (typeof EVAL_STATUSES)[number];
