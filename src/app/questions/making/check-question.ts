import type { Question } from "../../../domain/tasks/question.js";
import type { QuestionCheck } from "../../../domain/tasks/question-provenance.js";
import { checkByModel } from "../../../questions/checks/check-by-model.js";
import { checkGold } from "../../../questions/checks/check-gold.js";
import type { Checker } from "../../../questions/checks/checker.js";
import { longestSharedPhrase, PHRASE_WORDS } from "../../../questions/generation/shared-wording.js";
import type { QuestionMailbox } from "./question-mailbox.js";

/** Other matches that a checker is shown: as many as an agent gets by one search. */
export const OTHER_MATCHES = 10;

/**
 * Checks a question of any dataset: by rules, then by the checker if there is one. `isChange`: its latest mail is said
 * to correct those before it.
 */
export async function checkQuestion(
  question: Question,
  mailbox: QuestionMailbox,
  checker: Checker | null,
  signal: AbortSignal,
  isChange = false,
): Promise<{ readonly checks: readonly QuestionCheck[]; readonly equivalent: readonly string[] }> {
  const citedMail = (messageId: string) => {
    const found = mailbox.get(messageId);
    return { messageId, mail: found?.mail ?? null, isInInbox: found?.isInInbox ?? false };
  };
  const cited = question.message_ids.map(citedMail);
  const gold = checkGold(question, cited);
  if (!gold.passed || checker === null) return { checks: [gold], equivalent: [] };
  const canonical = new Set(question.message_ids.map((id) => mailbox.canonicalId(id)));
  const others = mailbox
    .bestMatches(question.question, question.query_date, OTHER_MATCHES + canonical.size)
    .filter(({ messageId }) => !canonical.has(mailbox.canonicalId(messageId)))
    .slice(0, OTHER_MATCHES);
  const sources = cited.flatMap(({ mail }) => mail ?? []);
  const { checks, equivalent } = await checkByModel(question, { sources, others, isChange }, checker, signal);
  // A checker may name more mails than it answered from.
  const holding = equivalent.filter((id) => checkGold(question, [citedMail(id)]).passed);
  return { checks: [gold, ...checks], equivalent: holding };
}

/** Whether the question repeats a phrase of its mail, and finds it first. */
export function isEasy({ question, query_date, message_ids }: Question, mailbox: QuestionMailbox): boolean {
  const [first] = mailbox.bestMatches(question, query_date, 1);
  if (first === undefined) return false;
  const id = mailbox.canonicalId(first.messageId);
  const isGold = message_ids.some((gold) => mailbox.canonicalId(gold) === id);
  return isGold && longestSharedPhrase(question, `${first.subject}\n${first.body}`) >= PHRASE_WORDS;
}
