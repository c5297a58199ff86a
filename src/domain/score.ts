import { z } from "zod";
import type { Trace } from "./trace.js";

/** `value` null: could not be told, with the reason; kept out of every mean. */
export const scoreSchema = z.object({ value: z.number().nullable(), explanation: z.string().optional() });

export type Score = z.output<typeof scoreSchema>;

/** Says which Message-IDs name one mail: copies count as the mail they are copies of. */
export type SameMail = (messageId: string) => string;

/** Port. A scorer reads a finished trace; it never changes it. */
export type Scorer = (trace: Omit<Trace, "scores">, sameMail: SameMail) => Score;

/** Of the semantic score: high > 0.8, medium 0.5 to 0.8, low < 0.5. */
export const BANDS = ["high", "medium", "low"] as const;

export type Band = (typeof BANDS)[number];
