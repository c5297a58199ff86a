import pLimit from "p-limit";
import { ModelError } from "../../../domain/models/model.js";
import { CostLimitReached } from "../../../models/middleware/limit-cost.js";
import { UNREADABLE_REPLY } from "../../../questions/checks/check-by-model.js";
import type { QuestionDraft } from "../../../questions/generation/question-draft.js";
import { count } from "../../../reports/text/format-number.js";
import type { NamedCounts } from "../../../statistics/named-counts.js";
import { JUDGE_CONCURRENCY } from "../../score/create-judge.js";
import { type AppContext, Interrupted } from "../../use-case-context.js";
import { callOrFailure, draftsOfModel, draftsOfPatterns } from "./draft-questions.js";
import { FailureStreak, UnusableModel } from "./failure-streak.js";
import type { MakeOptions } from "./make-options.js";
import type { OpenedModels } from "./open-models.js";
import type { QuestionMailbox } from "./question-mailbox.js";
import { QuestionQuota } from "./question-quota.js";
import type { UsableMailbox } from "./usable-mailboxes.js";
import { type VerifiedQuestion, verifyDraft } from "./verify-draft.js";

export interface CollectRequest {
  readonly mailboxes: ReadonlyMap<string, QuestionMailbox>;
  readonly usable: readonly UsableMailbox[];
  readonly models: OpenedModels;
  readonly refusals: NamedCounts;
}

export interface Collected {
  readonly questions: readonly VerifiedQuestion[];
  /** Why no more were made; a sentence without its full stop. */
  readonly stopped: string;
  /** What to do about it; empty: nothing. */
  readonly advice: string;
}

/** Drafts and checks until there are as many questions as wanted, the mail is used up, or the money is. */
export async function collectQuestions(
  options: MakeOptions,
  request: CollectRequest,
  { signal, progress }: AppContext,
): Promise<Collected> {
  const quota = new QuestionQuota(options.number, options.unanswerable, request.refusals);
  const streak = new FailureStreak(request.models.checker?.id ?? "");
  const bar = progress("Questions");
  try {
    for await (const drafts of draftGroups(options, request, quota, signal)) {
      const queue = [...drafts];
      while (queue.length > 0 && quota.missing > 0) {
        signal.throwIfAborted();
        const verified = await verifyAll(quota.takeFrom(queue), options, request, signal);
        quota.kept.push(...verified.flatMap((one) => ("kept" in one ? [one.kept] : [])));
        bar.update(quota.kept.length, options.number, `${count(quota.kept.length)} of ${count(options.number)}`);
        for (const one of verified) recordRefusal(one, request.refusals, streak);
        const limit = verified.find((one) => one instanceof CostLimitReached);
        if (limit !== undefined) throw limit;
      }
      if (quota.missing === 0) break;
    }
    return { questions: quota.kept, stopped: "the mail gives no more", advice: "" };
  } catch (error) {
    if (error instanceof CostLimitReached || error instanceof UnusableModel) {
      return { questions: quota.kept, stopped: error.message.replace(/\.$/, ""), advice: error.hint };
    }
    if (!signal.aborted) throw error;
    throw new Interrupted(
      `stopped after ${count(quota.kept.length)} questions; nothing is written. The same command goes on: replies that are paid for are in the cache.`,
    );
  } finally {
    bar.stop();
  }
}

function draftGroups(
  options: MakeOptions,
  { usable, models: { writer }, refusals }: CollectRequest,
  quota: QuestionQuota,
  signal: AbortSignal,
): Iterable<QuestionDraft[]> | AsyncIterable<QuestionDraft[]> {
  return writer === null
    ? draftsOfPatterns(usable, options, refusals)
    : draftsOfModel(usable, writer, options, () => quota.missing, refusals, signal);
}

/** A draft that passed, why it did not, or the limit of cost that left it unchecked. */
type Verified =
  | { readonly kept: VerifiedQuestion }
  | { readonly refused: string; readonly fault: string | null }
  | CostLimitReached;

/** In the drafts' order. */
function verifyAll(
  drafts: readonly QuestionDraft[],
  { model, seed }: MakeOptions,
  { mailboxes, models: { writer, checker } }: CollectRequest,
  signal: AbortSignal,
): Promise<Verified[]> {
  const settings = { madeBy: model, synthetic: writer === null, checker, seed };
  return pLimit(JUDGE_CONCURRENCY).map(drafts, async (draft): Promise<Verified> => {
    const mailbox = mailboxes.get(draft.inbox);
    if (mailbox === undefined) throw new Error(`No mailbox ${draft.inbox} is open.`);
    const verified = await callOrFailure(() => verifyDraft(draft, mailbox, settings, signal));
    if (verified instanceof CostLimitReached || "kept" in verified) return verified;
    if (verified instanceof ModelError) return { refused: "the checker's call failed", fault: verified.message };
    const { refused } = verified;
    return { refused, fault: refused === UNREADABLE_REPLY ? refused : null };
  });
}

/** Throws where the checker gives nothing usable. */
function recordRefusal(verified: Verified, refusals: NamedCounts, streak: FailureStreak): void {
  if (verified instanceof CostLimitReached) return;
  const refused = "kept" in verified ? null : verified;
  if (refused !== null) refusals.add(refused.refused);
  streak.add(refused?.fault ?? null);
}
