import type { Question } from "../../../domain/tasks/question.js";
import type { QuestionProvenance } from "../../../domain/tasks/question-provenance.js";
import type { Checker } from "../../../questions/checks/checker.js";
import { queryDate, queryDateBefore } from "../../../questions/generation/query-date.js";
import type { QuestionDraft } from "../../../questions/generation/question-draft.js";
import { checkQuestion, isEasy } from "./check-question.js";
import type { QuestionMailbox } from "./question-mailbox.js";

/** A question without its number. */
export interface VerifiedQuestion {
  readonly question: Omit<Question, "id">;
  readonly provenance: Omit<QuestionProvenance, "id">;
}

export interface VerifySettings {
  readonly madeBy: string;
  readonly synthetic: boolean;
  /** Null: rules alone check. */
  readonly checker: Checker | null;
  readonly random: (limit: number) => number;
}

/** The same question asked before any mail that answers it. */
export function asAskedTooEarly(draft: QuestionDraft): QuestionDraft {
  return { ...draft, answer: "I don't know", unanswerable: "mail_later" };
}

/** Checks a draft by rules, then by the checker; refused with the reason of the first check that fails. */
export async function verifyDraft(
  draft: QuestionDraft,
  mailbox: QuestionMailbox,
  { madeBy, synthetic, checker, random }: VerifySettings,
  signal: AbortSignal,
): Promise<{ readonly kept: VerifiedQuestion } | { readonly refused: string }> {
  const dates = draft.sources.map(({ date }) => date).sort();
  const isTooEarly = draft.unanswerable === "mail_later";
  const day = isTooEarly
    ? queryDateBefore(dates[0] ?? draft.askableFrom, random)
    : queryDate(draft.askableFrom, random);
  // A mail that quotes the source may come after the question.
  const cited = isTooEarly ? [] : draft.sources.filter(({ date }) => date.slice(0, 10) <= day);
  const question: Question = {
    id: 0,
    question: draft.question,
    answer: draft.answer,
    message_ids: cited.map(({ messageId }) => messageId),
    how_realistic: draft.howRealistic,
    inbox_address: mailbox.address,
    query_date: day,
  };
  const { checks, equivalent } = await checkQuestion(
    question,
    mailbox,
    checker,
    signal,
    draft.kind === "change" && !isTooEarly,
  );
  const failed = checks.find(({ passed }) => !passed);
  if (failed !== undefined) return { refused: failed.reason };
  const { id: _, ...rest } = question;
  return {
    kept: {
      question: { ...rest, message_ids: [...rest.message_ids, ...equivalent] },
      provenance: {
        made_by: madeBy,
        kind: draft.kind,
        synthetic,
        unanswerable: draft.unanswerable,
        easy: isEasy(question, mailbox),
        passages: [...draft.passages],
        checks: [...checks],
      },
    },
  };
}
