import type { Question } from "../../../domain/tasks/question.js";
import type { QuestionCheck, QuestionProvenance } from "../../../domain/tasks/question-provenance.js";
import { checkByModel } from "../../../questions/checks/check-by-model.js";
import { checkGold } from "../../../questions/checks/check-gold.js";
import type { Checker } from "../../../questions/checks/checker.js";
import { queryDate, queryDateBefore } from "../../../questions/generation/query-date.js";
import type { QuestionDraft } from "../../../questions/generation/question-draft.js";
import { longestSharedPhrase, PHRASE_WORDS } from "../../../questions/generation/shared-wording.js";
import type { QuestionMailbox } from "./question-mailbox.js";

/** Other matches that a checker is shown: as many as an agent gets by one search. */
const OTHER_MATCHES = 10;

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
  const { checks, equivalent } = await checkQuestion(question, mailbox, checker, signal);
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

/** Checks a question of any dataset: by rules, then by the checker if there is one. */
export async function checkQuestion(
  question: Question,
  mailbox: QuestionMailbox,
  checker: Checker | null,
  signal: AbortSignal,
): Promise<{ readonly checks: readonly QuestionCheck[]; readonly equivalent: readonly string[] }> {
  const cited = question.message_ids.map((messageId) => {
    const found = mailbox.get(messageId);
    return { messageId, mail: found?.mail ?? null, isInInbox: found?.isInInbox ?? false };
  });
  const gold = checkGold(question, cited);
  if (!gold.passed || checker === null) return { checks: [gold], equivalent: [] };
  const canonical = new Set(question.message_ids.map((id) => mailbox.canonicalId(id)));
  const others = mailbox
    .bestMatches(question.question, question.query_date, OTHER_MATCHES + canonical.size)
    .filter(({ messageId }) => !canonical.has(mailbox.canonicalId(messageId)))
    .slice(0, OTHER_MATCHES);
  const sources = cited.flatMap(({ mail }) => mail ?? []);
  const { checks, equivalent } = await checkByModel(question, { sources, others }, checker, signal);
  return { checks: [gold, ...checks], equivalent };
}

/** Whether the question repeats a phrase of its mail, and finds it first. */
export function isEasy({ question, query_date, message_ids }: Question, mailbox: QuestionMailbox): boolean {
  const [first] = mailbox.bestMatches(question, query_date, 1);
  if (first === undefined) return false;
  const id = mailbox.canonicalId(first.messageId);
  const isGold = message_ids.some((gold) => mailbox.canonicalId(gold) === id);
  return isGold && longestSharedPhrase(question, `${first.subject}\n${first.body}`) >= PHRASE_WORDS;
}
