import { z } from "zod";
import { usageSchema } from "../models/model.js";

/** From the strictest to the mildest: of tied votes the stricter one counts. */
export const VERDICTS = ["wrong", "abstained", "partly", "correct"] as const;

export type Verdict = (typeof VERDICTS)[number];

/** How a judge is asked. `art`: one word, True or False, as the published figures were made. */
export const JUDGE_PROTOCOLS = ["verdict", "art"] as const;

/** Everything that decides a verdict besides the question and the two answers. */
export const judgeSettingsSchema = z.object({
  /** `provider/name`. */
  model: z.string(),
  /** Null: the provider's own server. */
  baseUrl: z.string().nullable(),
  protocol: z.enum(JUDGE_PROTOCOLS),
  /** Incremented when the wording of the protocol changes. */
  version: z.number().int().positive(),
  votes: z.number().int().positive(),
});

export type JudgeSettings = z.output<typeof judgeSettingsSchema>;

/** One vote of a judge. `verdict` null: it failed, or its reply could not be read; `reason` then says why. */
export const voteSchema = z.object({
  verdict: z.enum(VERDICTS).nullable(),
  reason: z.string(),
  /** The model that answered, as the server names it; absent where it names none. */
  model: z.string().exactOptional(),
  /** Taken from the cache; no cost now. */
  cached: z.boolean(),
});

export type Vote = z.output<typeof voteSchema>;

/** The outcome of the votes. */
export const judgementSchema = judgeSettingsSchema.extend({
  /** Null: the answer is unscored, never wrong. */
  verdict: z.enum(VERDICTS).nullable(),
  reason: z.string(),
  /** Share of the votes that could be read which went to the verdict; null where none was cast. */
  agreement: z.number().min(0).max(1).nullable(),
  /** Empty if no judge was needed. */
  cast: z.array(voteSchema),
  usage: usageSchema,
  /** In US dollars; null: not known. */
  costUsd: z.number().nullable(),
});

export type Judgement = z.output<typeof judgementSchema>;

/** What a judge reads. */
export interface JudgeCase {
  readonly question: string;
  readonly gold: string;
  readonly answer: string;
}

/** Port. Never throws: what failed is an unscored judgement that says why. */
export interface Judge {
  readonly settings: JudgeSettings;
  /** `answer` null: none was given. */
  judge(item: Omit<JudgeCase, "answer"> & { readonly answer: string | null }, signal: AbortSignal): Promise<Judgement>;
}
