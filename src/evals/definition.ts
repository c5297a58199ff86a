import { z } from "zod";
import type { Estimate } from "../statistics/estimate.js";
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

/** Positive: the label is good. */
export interface Confusion {
  readonly goodPassed: number;
  readonly goodFailed: number;
  readonly badPassed: number;
  readonly badFailed: number;
}

/** How far an eval agrees with labels; 95 % intervals, which allow for repeats of a question. */
export interface Agreement {
  readonly good: number;
  readonly bad: number;
  /** Labelled traces that it does not apply to; in none of the figures. */
  readonly notApplicable: number;
  /** Labelled traces on which it failed or timed out; in none of the figures. */
  readonly errors: number;
  /** Share of the good and of the bad traces that it says something of; null of none. */
  readonly judged: { readonly good: number | null; readonly bad: number | null };
  readonly accuracy: Estimate;
  /** Share of the good traces that pass; also called recall. */
  readonly truePositiveRate: Estimate;
  /** Share of the bad traces that fail; also called coverage. */
  readonly trueNegativeRate: Estimate;
  /** Share of the passing traces that are good. */
  readonly precision: Estimate;
  /** Cohen's kappa: agreement beyond chance. */
  readonly kappa: Estimate;
  /** Share of the good traces that fail. */
  readonly falseFailureRate: Estimate;
  readonly confusion: Confusion;
  /** 95 % of the kappas with shuffled labels are below; null where it cannot be told. */
  readonly shuffledKappa: number | null;
}

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

/** What testing an eval on the held-out half gave. */
export interface EvalTest {
  readonly criterion: string;
  /** SHA-256 of the held-out labels. */
  readonly labelsHash: string;
  readonly agreement: Agreement;
  /** How often the most read of these traces were tested on, for any criterion, this time included. */
  readonly heldOutReads: number;
  /** How often by a version of this eval. */
  readonly readsByThisEval: number;
  /** Running time per trace in ms: half take less, 95 % take less. */
  readonly latencyMs: { readonly p50: number; readonly p95: number };
  /** US dollars for a trace; 0 for what calls no model, null where the price is not known. */
  readonly costUsdPerTrace: number | null;
  /** What an eval that is always right would reach on labels that contradict themselves as often as these. */
  readonly ceiling: LabelCeiling | null;
  readonly thresholds: ThresholdName;
  /** Why it was rejected; empty: it passed. */
  readonly rejections: readonly string[];
  /** Worth knowing: few labels, a half that was read often. */
  readonly warnings: readonly string[];
}

/** What a newest test is worth. */
export type Proof = "none" | "stale" | "passed" | "rejected";

export function proofOf(test: { readonly report: EvalTest; readonly isStale: boolean } | null): Proof {
  if (test === null) return "none";
  if (test.isStale) return "stale";
  return test.report.rejections.length === 0 ? "passed" : "rejected";
}

export interface LabelCeiling {
  /** Share of the labels that are wrong, as the share that was given otherwise when asked again tells. */
  readonly noise: number;
  readonly truePositiveRate: number;
  readonly trueNegativeRate: number;
}

export const MAX_CONDITIONS = 4;

const feature = z.string().min(1);

/** A bound on one feature of a trace. Where the feature does not apply, the condition holds. */
const conditionSchema = z.union(
  [z.strictObject({ feature, at_least: z.number() }), z.strictObject({ feature, at_most: z.number() })],
  "expected a feature with at_least or at_most",
);

export type Condition = z.output<typeof conditionSchema>;

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
const EVAL_STATUSES = ["draft", "active", "retired"] as const;

export type EvalStatus = (typeof EVAL_STATUSES)[number];

/** An eval as it is stored. */
export interface StoredEval {
  readonly id: number;
  readonly definition: EvalDefinition;
  readonly status: EvalStatus;
  /** The criterion whose newest test says what it is worth; null: whichever was tested last. */
  readonly provedFor: string | null;
  readonly createdAt: string;
}
