import { z } from "zod";

/** `neutral`: neither, by a score between the bands. `skip`: a person could not tell. Both are left out and counted. */
export const EVAL_LABELS = ["good", "bad", "neutral", "skip"] as const;

export type EvalLabel = (typeof EVAL_LABELS)[number];

/** Who labelled; the first that did counts. */
export const LABEL_SOURCES = ["person", "judge", "score"] as const;

export type LabelSource = (typeof LABEL_SOURCES)[number];

/** What labels are about where nothing else is said: whether the answer is good. */
export const OVERALL = "overall";

/** A failure mode that traces are labelled for; `overall` for none in particular. */
export const criterionNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, "expected a name of small letters, digits and _, such as invented_numbers");

export interface TraceLabel {
  readonly traceId: string;
  /** The failure mode it is about. */
  readonly criterion: string;
  readonly label: EvalLabel;
  readonly source: LabelSource;
  /** Why, in a person's or the judge's words. */
  readonly note: string | null;
  /** A trace that was labelled before was shown again, to measure how far a person agrees with himself. */
  readonly isRepeat: boolean;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}
