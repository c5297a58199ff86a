import type { Passage, QuestionKind } from "../../domain/tasks/question-provenance.js";

/** A mail that answers a question. */
export interface Source {
  readonly messageId: string;
  /** ISO 8601. */
  readonly date: string;
}

/** A question that is not checked yet and has no id. */
export interface QuestionDraft {
  readonly kind: QuestionKind;
  readonly question: string;
  readonly answer: string;
  /** The mails that answer, the one it was made of first. None for an unanswerable question of no mail. */
  readonly sources: readonly Source[];
  readonly passages: readonly Passage[];
  readonly howRealistic: number;
  readonly inbox: string;
  /** Address; spreads the questions over senders. */
  readonly sender: string;
  /** ISO 8601 date after which the question may be asked. */
  readonly askableFrom: string;
  /** How it is asked before the mail that answers came; null: other mails may answer it then. */
  readonly askedTooEarly: string | null;
  readonly unanswerable: "mail_later" | "detail_absent" | null;
}
