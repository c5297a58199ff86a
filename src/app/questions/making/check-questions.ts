import { setMaxListeners } from "node:events";
import pLimit from "p-limit";
import { ModelError } from "../../../domain/models/model.js";
import type { Question } from "../../../domain/tasks/question.js";
import type { QuestionCheck } from "../../../domain/tasks/question-provenance.js";
import { CostLimitReached } from "../../../models/middleware/limit-cost.js";
import { UNREADABLE_REPLY } from "../../../questions/checks/check-by-model.js";
import { NearDuplicates } from "../../../questions/generation/near-duplicates.js";
import { count } from "../../../reports/text/format-number.js";
import { checkMailboxes } from "../../run/plan/check-mailboxes.js";
import { JUDGE_CONCURRENCY } from "../../score/create-judge.js";
import { type AppContext, Interrupted } from "../../use-case-context.js";
import { withStore } from "../../with-store.js";
import { type DatasetOptions, loadDataset, type SelectionOptions, select } from "../load-dataset.js";
import { checkQuestion, isEasy } from "./check-question.js";
import { callOrFailure } from "./draft-questions.js";
import { FailureStreak } from "./failure-streak.js";
import { ModelSpending } from "./model-spending.js";
import { openModels } from "./open-models.js";
import { questionMailboxes } from "./question-mailbox.js";

export interface CheckOptions extends DatasetOptions, SelectionOptions {
  /** 0: all. */
  readonly limit: number;
  /** provider/model; undefined: rules alone. */
  readonly checker?: string | undefined;
  readonly checkerBaseUrl?: string | undefined;
  readonly maxCost?: number | undefined;
}

export interface CheckedQuestion {
  readonly question: Question;
  readonly checks: readonly QuestionCheck[];
  /** It repeats a phrase of its mail, and the first search finds it. */
  readonly easy: boolean;
  readonly duplicate: boolean;
  /** Why it is doubtful; empty: it is not. */
  readonly doubts: readonly string[];
}

export interface CheckedDataset {
  readonly source: string;
  readonly checker: string | null;
  readonly questions: readonly CheckedQuestion[];
  /** Not checked, as --max-cost was reached. */
  readonly unchecked: number;
  readonly costUsd: number;
}

/** Checks the questions of any dataset as new ones are checked. */
export function checkQuestions(options: CheckOptions, context: AppContext): Promise<CheckedDataset> {
  const { settings, signal, progress } = context;
  return withStore(settings, async (db) => {
    const set = await loadDataset(options, context);
    const questions = select(set, options, options.limit);
    checkMailboxes(db, questions);
    const spending = new ModelSpending(options.maxCost);
    const { checker } = await openModels({ ...options, writer: null }, spending, context);
    const open = questionMailboxes(db);
    const duplicates = new NearDuplicates();
    const streak = new FailureStreak(checker?.id ?? "");
    // A checker that fails for good ends the calls under way too.
    const failing = new AbortController();
    const stop = AbortSignal.any([signal, failing.signal]);
    // Every question under way listens to it.
    setMaxListeners(0, stop);
    const bar = progress("Checking");
    let done = 0;
    const checked = await pLimit(JUDGE_CONCURRENCY)
      .map([...questions], async (question) => {
        if (stop.aborted) return null;
        const mailbox = open(question.inbox_address);
        const duplicate = !duplicates.add({ inbox: question.inbox_address, question: question.question });
        const outcome = await callOrFailure(() => checkQuestion(question, mailbox, checker, stop));
        if (outcome instanceof CostLimitReached) return null;
        bar.update(++done, questions.length, `${count(done)} of ${count(questions.length)}`);
        const checks = outcome instanceof ModelError ? [] : outcome.checks;
        const isUnread = checks.some(({ reason }) => reason === UNREADABLE_REPLY);
        streak.add(outcome instanceof ModelError ? outcome.message : isUnread ? UNREADABLE_REPLY : null);
        const failed = checks.flatMap(({ passed, reason }) => (passed ? [] : [reason]));
        const doubts = [
          ...(outcome instanceof ModelError ? ["the checker's call failed"] : failed),
          ...(duplicate ? ["it asks nearly the same as one before it"] : []),
        ];
        return { question, checks, easy: isEasy(question, mailbox), duplicate, doubts };
      })
      .catch((error) => {
        failing.abort();
        throw error;
      })
      .finally(() => bar.stop());
    if (signal.aborted) {
      throw new Interrupted("stopped. The same command goes on: the checker's replies are in the cache.");
    }
    const kept = checked.filter((one) => one !== null);
    return {
      source: set.source,
      checker: checker?.id ?? null,
      questions: kept,
      unchecked: questions.length - kept.length,
      costUsd: spending.limit.spentUsd,
    };
  });
}
