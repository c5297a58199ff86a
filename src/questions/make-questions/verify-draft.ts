// Checks a drafted question, gives it a date, and finds the other emails that answer it.
import { sha256Of } from "../../platform/sha256.js";
import { seededRandom } from "../../statistics/seeded-random.js";
import type { Question } from "../../tasks/question.js";
import type { Checker } from "../check-questions/check-by-rules.js";
import { checkQuestion, isEasy } from "../check-questions.js";
import type { QuestionProvenance } from "../provenance.js";
import { PATTERNS_MODEL } from "../question-models.js";
import { type QuestionDraft, queryDate, queryDateBefore } from "./draft-by-model.js";
import type { QuestionMailbox } from "./usable-mail.js";

export interface VerifiedQuestion {
  readonly question: Omit<Question, "id">;
  readonly provenance: Omit<QuestionProvenance, "id">;
}

interface VerifySettings {
  readonly madeBy: string;
  /** The checker model, or null if only rules check. */
  readonly checker: Checker | null;
  readonly seed: number;
}

/** Checks a draft by rules and then with the checker. A rejection states the reason of the first failed check. */
export async function verifyDraft(
  draft: QuestionDraft,
  mailbox: QuestionMailbox,
  settings: VerifySettings,
  signal: AbortSignal,
): Promise<{ readonly question: VerifiedQuestion } | { readonly refused: string }> {
  const { madeBy, checker, seed } = settings;
  const isTooEarly = draft.unanswerable === "mail_later";
  const day = dayOf(draft, seed);
  // An email that quotes the source can arrive after the question.
  const earlierSources = isTooEarly ? [] : draft.sources.filter(({ date }) => date.slice(0, 10) < day);
  const question: Question = {
    id: 0,
    question: draft.question,
    answer: draft.answer,
    message_ids: earlierSources.map(({ messageId }) => messageId),
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
  const sources = equivalent.map((messageId) => ({ messageId, date: mailbox.get(messageId)?.mail.date ?? "" }));
  // Emails on the question's date are also sources, so the question is given a later date and checked again.
  const sameDay = sources.filter(({ date }) => date.startsWith(day));
  if (sameDay.length > 0) {
    return verifyDraft({ ...draft, sources: [...draft.sources, ...sameDay] }, mailbox, settings, signal);
  }
  const { id: _, ...rest } = question;
  return {
    question: {
      question: { ...rest, message_ids: [...rest.message_ids, ...equivalent] },
      provenance: {
        made_by: madeBy,
        kind: draft.kind,
        synthetic: madeBy === PATTERNS_MODEL,
        unanswerable: draft.unanswerable,
        easy: isEasy(question, mailbox),
        passages: [...draft.passages],
        checks: [...checks],
      },
    },
  };
}

/**
 * Draws the date based on a hash of the question, so additional drafts do not change the dates of other questions, and
 * cached calls stay valid.
 */
function dayOf({ question, sources, askableFrom, unanswerable }: QuestionDraft, seed: number): string {
  const random = seededRandom(seed + Number.parseInt(sha256Of(question).slice(0, 8), 16));
  const dates = sources.map(({ date }) => date).sort();
  return unanswerable === "mail_later"
    ? queryDateBefore(dates[0] ?? askableFrom, random)
    : queryDate(askableFrom, dates, random);
}
