import { z } from "zod";
import type { QuestionTrace } from "../runs/trace.js";
import type { TaskGrade } from "../tasks/task.js";

/** `value` null: could not be told, with the reason; kept out of every mean. */
export const scoreSchema = z.object({ value: z.number().nullable(), explanation: z.string().optional() });

export type Score = z.output<typeof scoreSchema>;

/** Says which Message-IDs name one mail: copies count as the mail they are copies of. */
export type SameMail = (messageId: string) => string;

/** Port. A scorer reads a finished trace; it never changes it. */
export type Scorer = (trace: Omit<QuestionTrace, "scores">, sameMail: SameMail) => Score;

/** The least and the most that a score can be; left out where it has no such end. */
export interface Scale {
  readonly min?: number;
  readonly max?: number;
}

/** What a question itself says of which scores it can have. */
export interface ScorableQuestion {
  readonly goldAnswer: string;
  readonly goldMails: number;
}

/**
 * What a reader must know of a score's figure. `rate`: 0 or 1 a task; `mean`: any number. Its name is the field's own
 * word (exactMatch, tokenF1) and the key of its figures everywhere.
 */
export interface ScoreDescription {
  /** In a table's head. */
  readonly label: string;
  readonly kind: "rate" | "mean";
  readonly better: "higher" | "lower";
  /** One sentence: what it measures, and over which tasks. */
  readonly meaning: string;
  /** Of a mean; a rate goes from 0 to 1. */
  readonly scale?: Scale;
  /** It says nothing of other questions, not even where they failed; left out: it applies to all. */
  readonly appliesTo?: (question: ScorableQuestion) => boolean;
  /** False: a failed task has no value over all tasks either. Left out: it is wrong there, 0. */
  readonly failedAsWrong?: false;
}

/** A score of questions about mailboxes. */
export interface ScorerEntry extends ScoreDescription {
  readonly score: Scorer;
  /** `needed`: unscored without a judge's verdict; `used`: says more with one. */
  readonly judge?: "needed" | "used";
}

/** A score of tasks of suites, from what their evaluation functions gave. A task without a grade has none. */
export interface SuiteScorerEntry extends ScoreDescription {
  readonly scoreGrade: (grade: TaskGrade) => Score;
}
