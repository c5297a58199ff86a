// Drafts questions from mailboxes, with patterns or with a model, in an order that spreads them over the mail.
import type { Email } from "../../mail/email.js";
import { CostLimitReached } from "../../models/call-budget.js";
import { stopsRun } from "../../models/failure-classes.js";
import { type Model, ModelError } from "../../models/model.js";
import { UserError } from "../../platform/errors.js";
import type { NamedCounts } from "../../statistics/intervals.js";
import { inTurn, shuffled } from "../dataset.js";
import type { MakeOptions } from "../question-models.js";
import {
  draftRequest,
  mailBatches,
  QUESTIONS_PER_BATCH,
  type QuestionDraft,
  readWrittenQuestions,
  resolveCitations,
} from "./draft-by-model.js";
import { draftPatternQuestions } from "./draft-by-patterns.js";
import { stratifiedOrder, type UsableMailbox } from "./usable-mail.js";

/** The emails for one model call, and their mailbox. */
export interface AddressedBatch {
  readonly address: string;
  read(): readonly Email[];
}

interface WrittenBatch {
  readonly drafts: readonly QuestionDraft[];
  /** Why the reply is unreadable, or null for a readable reply, even without questions. */
  readonly problem: CostLimitReached | string | null;
}

/** Maximum number of batches drafted before their drafts are checked. */
const BATCHES_AT_ONCE = 8;

/** Emails sampled per question before the remaining ones are used. Most emails yield at most two drafts. */
const MAILS_PER_QUESTION = 10;

/**
 * Yields drafts for values found by patterns, one at a time, spread over mailboxes, kinds, months and senders. Uses a
 * sample of each mailbox first, and the mailbox's other emails if the sample is not enough.
 */
export function* draftsOfPatterns(
  mailboxes: readonly UsableMailbox[],
  { number, seed }: Pick<MakeOptions, "number" | "seed">,
  refusals: NamedCounts,
): Generator<QuestionDraft[]> {
  const sampled = Math.ceil((MAILS_PER_QUESTION * number) / Math.max(1, mailboxes.length));
  for (const part of [[0, sampled], [sampled]]) {
    const drafts = mailboxes.flatMap(({ address, usable, readAll }) => {
      const sources = shuffled(usable, seed).slice(...part);
      if (sources.length === 0) return [];
      const { drafts, refused } = draftPatternQuestions(address, sources, readAll());
      refusals.addAll(refused);
      return drafts;
    });
    for (const draft of stratifiedOrder(drafts, seed)) yield [draft];
  }
}

/**
 * Returns the batches of all mailboxes in turn. Each mailbox's batches are spread over time, and each mailbox starts at
 * a different point.
 */
export function batchesInTurn(mailboxes: readonly UsableMailbox[]): readonly AddressedBatch[] {
  const lists = mailboxes.map(({ address, usable, read }, i) => {
    const batches = mailBatches(usable).map((mails) => ({ address, read: () => read(mails) }));
    const first = batches.length === 0 ? 0 : i % batches.length;
    return [...batches.slice(first), ...batches.slice(0, first)];
  });
  return inTurn(lists);
}

/** Assumed fraction of drafts that pass the checks. This is a guess. */
export const PASSING_SHARE = 0.5;

/** Returns the expected number of batches for this many questions. */
export function batchesFor(questions: number): number {
  return Math.ceil(questions / (QUESTIONS_PER_BATCH * PASSING_SHARE));
}

/**
 * Yields drafts written by a model, spread over mailboxes, kinds, months and senders. Each round drafts only as many
 * batches as are expected to be needed for the missing questions. A failed batch is counted and skipped. If the cost
 * limit is reached, or if the model never returns anything usable, yields the drafts so far and then throws.
 */
export async function* draftsOfModel(
  mailboxes: readonly UsableMailbox[],
  model: Model,
  { number, unanswerable, seed }: Pick<MakeOptions, "number" | "unanswerable" | "seed">,
  missing: () => number,
  refusals: NamedCounts,
  signal: AbortSignal,
): AsyncGenerator<QuestionDraft[]> {
  const batches = batchesInTurn(mailboxes);
  const streak = new FailureStreak(model.id);
  // Half of the unanswerable questions ask for a detail that no email contains. The others are dated before their
  // email.
  const everyNth =
    unanswerable === 0 ? 0 : Math.max(1, Math.round(batchesFor(number) / Math.max(1, unanswerable * number)));
  let from = 0;
  while (from < batches.length) {
    const group = batches.slice(from, from + Math.min(BATCHES_AT_ONCE, batchesFor(missing())));
    const modelDrafts = await Promise.all(
      group.map((batch, i) => {
        const absent = everyNth > 0 && (from + i) % everyNth === 0 ? 1 : 0;
        return writeBatch(batch, absent, model, refusals, signal);
      }),
    );
    from += group.length;
    yield [
      ...stratifiedOrder(
        modelDrafts.flatMap(({ drafts }) => drafts),
        seed,
      ),
    ];
    for (const { problem } of modelDrafts) {
      if (problem instanceof CostLimitReached) throw problem;
      streak.add(problem);
    }
  }
}

async function writeBatch(
  { address, read }: AddressedBatch,
  absent: number,
  model: Model,
  refusals: NamedCounts,
  signal: AbortSignal,
): Promise<WrittenBatch> {
  const mails = read();
  const reply = await callOrFailure(() => model.complete(draftRequest(address, mails, absent), signal));
  if (reply instanceof CostLimitReached) return { drafts: [], problem: reply };
  const failed = (reason: string, problem = reason) => {
    refusals.add(reason);
    return { drafts: [], problem };
  };
  if (reply instanceof ModelError) return failed("the model call failed", reply.message);
  const batch = readWrittenQuestions(reply);
  if (batch === null) return failed("the model's reply contains no questions");
  refusals.add("the model wrote an incomplete question", batch.malformed);
  const drafts = batch.questions.flatMap((one) => {
    const located = resolveCitations(one, address, mails);
    if ("draft" in located) return [located.draft];
    refusals.add(located.refused);
    return [];
  });
  const isNoneWhole = batch.malformed > 0 && batch.questions.length === 0;
  return { drafts, problem: isNoneWhole ? "the model wrote only incomplete questions" : null };
}

/**
 * Returns the call's result, its error after all retries, or the cost limit. Throws for errors that would fail every
 * call.
 */
export async function callOrFailure<T>(call: () => Promise<T>): Promise<T | ModelError | CostLimitReached> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof CostLimitReached) return error;
    if (!(error instanceof ModelError)) throw error;
    if (!stopsRun(error.kind) && !error.unreachable) return error;
    throw new UserError(
      "model_failed",
      `Cannot call the model: ${error.message}`,
      "Nothing was written. Replies so far are cached: run the same command again to continue.",
      1,
      { cause: error },
    );
  }
}

/** If this many consecutive replies are unusable, the cause is assumed to be systematic. */
const MAX_FAILURES = 8;

/** Thrown if a model never returns a usable reply. */
export class UnusableModel extends UserError {}

/** Stops a command whose model never returns anything usable, before a call is billed for every email. */
export class FailureStreak {
  private failures = 0;

  constructor(private readonly modelId: string) {}

  /** Adds a reply: `problem` describes its defect, or is null. Throws after MAX_FAILURES consecutive problems. */
  add(problem: string | null): void {
    this.failures = problem === null ? 0 : this.failures + 1;
    if (this.failures < MAX_FAILURES) return;
    throw new UnusableModel(
      "model_failed",
      `${this.modelId} returned nothing usable ${MAX_FAILURES} times in a row. Last reason: ${problem}`,
      "Choose another model. Replies so far are cached.",
      1,
    );
  }
}
