// A judge, its settings, and its verdict on an answer.
import { z } from "zod";
import type { TaskCalls } from "../models/call-budget.js";
import { REASONING_EFFORTS } from "../models/reasoning-effort.js";
import { extrasShape } from "../models/request-extras.js";
import { usageSchema } from "../models/usage.js";

export interface JudgeCase {
  readonly question: string;
  readonly gold: string;
  readonly answer: string;
}

/** Port for judges. Never throws: a failure is an unscored judgment with a reason. */
export interface Judge {
  readonly settings: JudgeSettings;
  /** A null `answer` means that the agent did not answer. */
  judge(
    item: Omit<JudgeCase, "answer"> & { readonly answer: string | null },
    signal: AbortSignal,
    calls?: TaskCalls,
  ): Promise<Judgment>;
}

/** Verdicts from the strictest to the mildest. If votes are tied, the strictest verdict wins. */
export const VERDICTS = ["wrong", "abstained", "partly", "correct"] as const;

export type Verdict = (typeof VERDICTS)[number];

/** How to prompt a judge. `art` requests one word, True or False, like the prompt used for the published figures. */
const JUDGE_PROTOCOLS = ["verdict", "art"] as const;

/**
 * Other forms of a prompt that mean the same. `position`: the texts are in another order. `wording`: the instructions
 * are in other words. Verdicts that change between them depend on the form of the prompt.
 */
export const PROMPT_VARIANTS = ["position", "wording"] as const;

export type PromptVariant = (typeof PROMPT_VARIANTS)[number];

/** An answer that a person labeled, for the judge's prompt. */
const judgeExampleSchema = z.object({
  question: z.string().describe("Question."),
  gold: z.string().describe("Gold answer."),
  answer: z.string().describe("Labeled answer."),
  label: z.enum(["good", "bad"]).describe("Label from a person."),
});

export type JudgeExample = z.output<typeof judgeExampleSchema>;

/** Everything that determines a verdict, except the question and the two answers. */
export const judgeSettingsSchema = z.object({
  model: z.string(),
  /** Base URL, or null for the provider's own server. */
  baseUrl: z.string().nullable(),
  protocol: z.enum(JUDGE_PROTOCOLS),
  /** Incremented when the wording of the protocol changes. */
  version: z.number().int().positive(),
  votes: z.number().int().positive(),
  /** Absent: the model's default. */
  reasoningEffort: z.enum(REASONING_EFFORTS).exactOptional(),
  examples: z
    .array(judgeExampleSchema)
    .readonly()
    .exactOptional()
    .describe("Labeled answers in the prompt. Absent if there are none."),
  ...extrasShape,
});

export type JudgeSettings = z.output<typeof judgeSettingsSchema>;

/** A judge's vote. If the judge failed or its reply could not be read, `verdict` is null and `reason` explains why. */
const voteSchema = z.object({
  verdict: z.enum(VERDICTS).nullable(),
  reason: z.string(),
  model: z
    .string()
    .exactOptional()
    .describe("The model that answered, as reported by the server. Absent if the server does not report it."),
  cached: z.boolean().describe("Whether the vote came from the cache, without new cost."),
});

export type Vote = z.output<typeof voteSchema>;

export const judgmentSchema = judgeSettingsSchema.omit({ examples: true }).extend({
  promptHash: z.string().describe("Start of the SHA-256 of the judge's instructions and examples."),
  verdict: z
    .enum(VERDICTS)
    .nullable()
    .describe("The verdict, or null for an unscored answer, which never counts as wrong."),
  reason: z.string(),
  agreement: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe("Fraction of the readable votes that agree with the verdict, or null without votes."),
  cast: z.array(voteSchema).describe("Empty if no judge was needed."),
  usage: usageSchema,
  costUsd: z.number().nullable().describe("US dollars, or null if unknown."),
});

export type Judgment = z.output<typeof judgmentSchema>;
