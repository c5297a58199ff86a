import type { Email } from "../../domain/mail/email.js";
import type { Question } from "../../domain/tasks/question.js";

/** What a checker makes of a question and some mails. */
export interface CheckerAnswer {
  readonly found: boolean;
  readonly answer: string;
  /** Of the mails shown. */
  readonly messageIds: readonly string[];
}

/** Answers questions from the mails it is shown alone, and tells whether two answers say the same. */
export interface Checker {
  /** The model. */
  readonly id: string;
  /** Null: its reply cannot be read. */
  answer(question: PosedQuestion, mails: readonly Email[], signal: AbortSignal): Promise<CheckerAnswer | null>;
  /** Null: its reply cannot be read. */
  agree(pair: AnswerPair, signal: AbortSignal): Promise<boolean | null>;
}

export type PosedQuestion = Pick<Question, "question" | "inbox_address" | "query_date">;

export interface AnswerPair {
  readonly question: string;
  readonly gold: string;
  readonly answer: string;
}
