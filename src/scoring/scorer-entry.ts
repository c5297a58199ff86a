// The types of the entries in the table of scorers.
import type { AskedFor, TaskGrade } from "../tasks/question.js";
import type { Score, ScoreDescription } from "../traces/score.js";
import type { QuestionTrace } from "../traces/trace.js";

/** Maps the Message-ID of a copy to that of the original email. */
export type SameMail = (messageId: string) => string;

export type UnscoredTrace = Omit<QuestionTrace, "scores">;

/** Port for scorers. A scorer reads a finished trace and never changes it. */
export type Scorer = (trace: UnscoredTrace, sameMail: SameMail) => Score;

export interface ScorerEntry extends ScoreDescription {
  readonly score: Scorer;
  /** The tasks that can have the score: what they ask for (by default an answer), or those with a planted email. */
  readonly tasks?: AskedFor | "attacked";
  /** `needed` if the score requires a judge's verdict, `used` if a verdict improves it. */
  readonly judge?: "needed" | "used";
}

/** A score of suite tasks, computed from their grade. A task without a grade is unscored. */
export interface SuiteScorerEntry extends ScoreDescription {
  readonly scoreGrade: (grade: TaskGrade) => Score;
}
