// Checks the questions of a dataset: by rules, by search, and with a model that answers them.
import { setMaxListeners } from "node:events";
import pLimit from "p-limit";
import { readMailboxHistory } from "../mail/mailbox-history.js";
import { CostLimitReached } from "../models/call-budget.js";
import { ModelError } from "../models/model.js";
import { type AppContext, Interrupted } from "../platform/app-context.js";
import { JUDGE_CONCURRENCY } from "../scoring/judge-settings.js";
import { type Db, withStore } from "../store/open-store.js";
import type { Question, SelectionTask } from "../tasks/question.js";
import { count } from "../text/format.js";
import { checkMailboxes } from "./check-mailboxes.js";
import { checkByModel, UNREADABLE_REPLY } from "./check-questions/check-by-model.js";
import { type Checker, checkGold } from "./check-questions/check-by-rules.js";
import { selectionChecker } from "./check-questions/check-selection.js";
import { loadDataset, type QuestionOptions, requireAnswers, select } from "./dataset.js";
import { callOrFailure, FailureStreak } from "./make-questions/draft-questions.js";
import {
  longestSharedPhrase,
  NearDuplicates,
  PHRASE_WORDS,
  type QuestionMailbox,
  questionMailboxes,
} from "./make-questions/usable-mail.js";
import type { QuestionCheck } from "./provenance.js";
import { ModelSpending, openModels } from "./question-models.js";

interface CheckOptions extends QuestionOptions {
  /** provider/model, or undefined if only rules check. */
  readonly checker?: string | undefined;
  readonly checkerBaseUrl?: string | undefined;
  readonly maxCost?: number | undefined;
}

interface CheckedQuestion {
  readonly question: Question;
  readonly checks: readonly QuestionCheck[];
  /** Whether the question repeats a phrase from its email and the first search finds that email. */
  readonly easy: boolean;
  readonly duplicate: boolean;
  /** Reasons to doubt the question, if any. */
  readonly doubts: readonly string[];
}

export interface CheckedDataset {
  readonly source: string;
  readonly checker: string | null;
  readonly questions: readonly CheckedQuestion[];
  /** Number of questions left unchecked because --max-cost was reached. */
  readonly unchecked: number;
  /** US dollars, or null if the checker's price is unknown. */
  readonly costUsd: number | null;
}

/** Checks the questions in any dataset, as if they were new. */
export function checkQuestions(options: CheckOptions, context: AppContext): Promise<CheckedDataset> {
  const { settings, signal, progress } = context;
  return withStore(settings, async (db) => {
    const set = await loadDataset(options, context);
    const questions = select(set, options);
    requireAnswers(questions, "art-e questions check", "emails");
    checkMailboxes(db, questions);
    const spending = new ModelSpending(options.maxCost);
    const { checker } = await openModels({ ...options, writer: null }, spending, context);
    const open = questionMailboxes(db);
    const checkSelection = openSelectionChecks(db);
    const duplicates = new NearDuplicates();
    const streak = new FailureStreak(checker?.id ?? "");
    // A permanent checker failure also aborts the running calls.
    const failing = new AbortController();
    const stop = AbortSignal.any([signal, failing.signal]);
    // Every running question adds a listener.
    setMaxListeners(0, stop);
    const bar = progress("Checking");
    let done = 0;
    const checked = await pLimit(JUDGE_CONCURRENCY)
      .map([...questions], async (question) => {
        if (stop.aborted) return null;
        const mailbox = open(question.inbox_address);
        const { select, inbox_address, query_date } = question;
        // Tasks about the future of a mailbox repeat their words on every date.
        const inbox = select === undefined ? inbox_address : `${inbox_address} ${query_date} ${select.kind}`;
        const duplicate = !duplicates.add({ inbox, question: question.question });
        const outcome =
          select === undefined
            ? await callOrFailure(() => checkQuestion(question, mailbox, checker, stop))
            : { checks: [checkSelection({ ...question, select })] };
        if (outcome instanceof CostLimitReached) return null;
        bar.update(++done, questions.length, `${count(done)} of ${count(questions.length)}`);
        const checks = outcome instanceof ModelError ? [] : outcome.checks;
        const isUnread = checks.some(({ reason }) => reason === UNREADABLE_REPLY);
        streak.add(outcome instanceof ModelError ? outcome.message : isUnread ? UNREADABLE_REPLY : null);
        const failed = checks.flatMap(({ passed, reason }) => (passed ? [] : [reason]));
        const doubts = [
          ...(outcome instanceof ModelError ? ["the checker call failed"] : failed),
          ...(duplicate ? ["it is nearly the same as an earlier question"] : []),
        ];
        return { question, checks, easy: select === undefined && isEasy(question, mailbox), duplicate, doubts };
      })
      .catch((error) => {
        failing.abort();
        throw error;
      })
      .finally(() => bar.stop());
    if (signal.aborted) {
      throw new Interrupted("interrupted. Run the same command again to continue. The checker's replies are cached.");
    }
    const remaining = checked.filter((one) => one !== null);
    return {
      source: set.source,
      checker: checker?.id ?? null,
      questions: remaining,
      unchecked: questions.length - remaining.length,
      costUsd: spending.limit.costUsd,
    };
  });
}

/** Returns the check of tasks about the future of a mailbox. Each mailbox is read once. */
function openSelectionChecks(db: Db): (task: SelectionTask) => QuestionCheck {
  const byInbox = new Map<string, ReturnType<typeof selectionChecker>>();
  return (task) => {
    const inbox = task.inbox_address;
    const check = byInbox.get(inbox) ?? selectionChecker(readMailboxHistory(db, inbox));
    byInbox.set(inbox, check);
    return check(task);
  };
}

/** Number of other matches shown to a checker, the same number as an agent gets from one search. */
export const OTHER_MATCHES = 10;

/**
 * Checks a question from any dataset, by rules and then with the checker, if there is one. `isChange` means that the
 * latest cited email corrects the earlier ones.
 */
export async function checkQuestion(
  question: Question,
  mailbox: QuestionMailbox,
  checker: Checker | null,
  signal: AbortSignal,
  isChange = false,
): Promise<{ readonly checks: readonly QuestionCheck[]; readonly equivalent: readonly string[] }> {
  const citedMail = (messageId: string) => {
    const email = mailbox.get(messageId);
    return { messageId, mail: email?.mail ?? null, isInInbox: email?.isInInbox ?? false };
  };
  const goldMails = question.message_ids.map(citedMail);
  const gold = checkGold(question, goldMails);
  if (!gold.passed || checker === null) return { checks: [gold], equivalent: [] };
  const canonical = new Set(question.message_ids.map((id) => mailbox.canonicalId(id)));
  const others = mailbox
    .bestMatches(question.question, question.query_date, OTHER_MATCHES + canonical.size)
    .filter(({ messageId }) => !canonical.has(mailbox.canonicalId(messageId)))
    .slice(0, OTHER_MATCHES);
  const sources = goldMails.flatMap(({ mail }) => mail ?? []);
  const { checks, equivalent } = await checkByModel(question, { sources, others, isChange }, checker, signal);
  // A checker might list more emails than the ones that contain its answer.
  const holding = equivalent.filter((id) => checkGold(question, [citedMail(id)]).passed);
  return { checks: [gold, ...checks], equivalent: holding };
}

/** Returns whether the question repeats a phrase from its email and a search for it finds that email first. */
export function isEasy({ question, query_date, message_ids }: Question, mailbox: QuestionMailbox): boolean {
  const [first] = mailbox.bestMatches(question, query_date, 1);
  if (first === undefined) return false;
  const id = mailbox.canonicalId(first.messageId);
  const isGold = message_ids.some((gold) => mailbox.canonicalId(gold) === id);
  return isGold && longestSharedPhrase(question, `${first.subject}\n${first.body}`) >= PHRASE_WORDS;
}
