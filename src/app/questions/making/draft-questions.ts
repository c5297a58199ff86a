import pLimit from "p-limit";
import { UserError } from "../../../domain/errors.js";
import type { Email } from "../../../domain/mail/email.js";
import { type Model, ModelError } from "../../../domain/models/model.js";
import { CostLimitReached } from "../../../models/middleware/limit-cost.js";
import {
  draftRequest,
  QUESTIONS_PER_BATCH,
  readWrittenQuestions,
} from "../../../questions/generation/draft-protocol.js";
import { mailBatches } from "../../../questions/generation/mail-batches.js";
import { draftPatternQuestions } from "../../../questions/generation/patterns/draft-pattern-questions.js";
import type { QuestionDraft } from "../../../questions/generation/question-draft.js";
import { resolveCitations } from "../../../questions/generation/resolve-citations.js";
import { stratifiedOrder } from "../../../questions/generation/stratified-order.js";
import type { NamedCounts } from "../../../statistics/named-counts.js";
import type { UsableMailbox } from "./usable-mailboxes.js";

/** Batches whose drafts are checked before further ones are asked for. */
export const BATCHES_AT_ONCE = 8;

/** Drafts for values that patterns find, a group at a time, spread over mailboxes, kinds, months and senders. */
export function* draftsOfPatterns(
  mailboxes: readonly UsableMailbox[],
  seed: number,
  refusals: NamedCounts,
): Generator<QuestionDraft[]> {
  const all = mailboxes.flatMap(({ address, usable, all }) => {
    const { drafts, refused } = draftPatternQuestions(address, usable, all);
    refusals.addAll(refused);
    return drafts;
  });
  for (const draft of stratifiedOrder(all, seed)) yield [draft];
}

/** The batches of all mailboxes in turn, each spread over its time. */
export function batchesInTurn(
  mailboxes: readonly UsableMailbox[],
): { readonly address: string; readonly mails: readonly Email[] }[] {
  const lists = mailboxes.map(({ address, usable }) => mailBatches(usable).map((mails) => ({ address, mails })));
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, i) => lists.flatMap((list) => list[i] ?? [])).flat();
}

/** Share of what is written that passes the checks. A guess. */
export const PASSING_SHARE = 0.5;

/** Batches that are probably needed for so many questions. */
export function batchesFor(questions: number): number {
  return Math.ceil(questions / (QUESTIONS_PER_BATCH * PASSING_SHARE));
}

/**
 * Drafts that a model writes, some batches at a time. A batch whose call fails is counted and passed over. At the limit
 * of cost, gives what was paid for, then throws.
 */
export async function* draftsOfModel(
  mailboxes: readonly UsableMailbox[],
  model: Model,
  { number, unanswerable }: { readonly number: number; readonly unanswerable: number },
  refusals: NamedCounts,
  signal: AbortSignal,
): AsyncGenerator<QuestionDraft[]> {
  const batches = batchesInTurn(mailboxes);
  const limit = pLimit(BATCHES_AT_ONCE);
  // Half of the unanswerable ones ask for a detail that no mail holds; the others are asked before their mail came.
  const everyNth =
    unanswerable === 0 ? 0 : Math.max(1, Math.round(batchesFor(number) / Math.max(1, unanswerable * number)));
  for (let from = 0; from < batches.length; from += BATCHES_AT_ONCE) {
    let reached: CostLimitReached | null = null;
    const drafts = await limit.map(batches.slice(from, from + BATCHES_AT_ONCE), ({ address, mails }, i) => {
      const absent = everyNth > 0 && (from + i) % everyNth === 0 ? 1 : 0;
      return writeBatch(address, mails, absent, model, refusals, signal).catch((error) => {
        if (!(error instanceof CostLimitReached)) throw error;
        reached = error;
        return [];
      });
    });
    yield drafts.flat();
    if (reached !== null) throw reached;
  }
}

async function writeBatch(
  address: string,
  mails: readonly Email[],
  absent: number,
  model: Model,
  refusals: NamedCounts,
  signal: AbortSignal,
): Promise<QuestionDraft[]> {
  const reply = await callOrNull(() => model.complete(draftRequest(address, mails, absent), signal));
  const written = reply === null ? null : readWrittenQuestions(reply);
  if (written === null) {
    refusals.add(reply === null ? "the model's call failed" : "the model's reply records no questions");
    return [];
  }
  refusals.add("the model wrote no whole question", written.malformed);
  return written.questions.flatMap((one) => {
    const located = resolveCitations(one, address, mails);
    if ("draft" in located) return [located.draft];
    refusals.add(located.refused);
    return [];
  });
}

/** Null for a call that failed after its retries. What fails for every call ends the command. */
export async function callOrNull<T>(call: () => Promise<T>): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (!["auth", "not_found"].includes(error.kind) && !error.unreachable) return null;
    throw new UserError(
      "model_failed",
      `No questions were written: ${error.message}`,
      "Replies so far are in the cache: the same command goes on from there.",
      1,
      { cause: error },
    );
  }
}
