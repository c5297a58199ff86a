import type { Question } from "../../../domain/tasks/question.js";
import type { QuestionProvenance } from "../../../domain/tasks/question-provenance.js";
import { sha256Of } from "../../../platform/download/download-cache.js";
import type { Checker } from "../../../questions/checks/checker.js";
import { queryDate, queryDateBefore } from "../../../questions/generation/query-date.js";
import type { QuestionDraft } from "../../../questions/generation/question-draft.js";
import { seededRandom } from "../../../statistics/seeded-random.js";
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
  readonly seed: number;
}

/** Checks a draft by rules, then by the checker; refused with the reason of the first check that fails. */
export async function verifyDraft(
  draft: QuestionDraft,
  mailbox: QuestionMailbox,
  settings: VerifySettings,
  signal: AbortSignal,
): Promise<{ readonly kept: VerifiedQuestion } | { readonly refused: string }> {
  const { madeBy, synthetic, checker, seed } = settings;
  const isTooEarly = draft.unanswerable === "mail_later";
  const day = dayOf(draft, seed);
  // A mail that quotes the source may come after the question.
  const cited = isTooEarly ? [] : draft.sources.filter(({ date }) => date.slice(0, 10) < day);
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
  const found = equivalent.map((messageId) => ({ messageId, date: mailbox.get(messageId)?.mail.date ?? "" }));
  // One of the day itself is a source too: the question is asked later, and checked again.
  const sameDay = found.filter(({ date }) => date.startsWith(day));
  if (sameDay.length > 0) {
    return verifyDraft({ ...draft, sources: [...draft.sources, ...sameDay] }, mailbox, settings, signal);
  }
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

/** Drawn by the question itself: a draft that another run did not have moves no date, and so changes no cached call. */
function dayOf({ question, sources, askableFrom, unanswerable }: QuestionDraft, seed: number): string {
  const random = seededRandom(seed + Number.parseInt(sha256Of(question).slice(0, 8), 16));
  const dates = sources.map(({ date }) => date).sort();
  return unanswerable === "mail_later"
    ? queryDateBefore(dates[0] ?? askableFrom, random)
    : queryDate(askableFrom, dates, random);
}
