import type { Email } from "../mail/email.js";
import { CostLimitReached } from "../models/call-budget.js";
import { stopsRun } from "../models/failure-classes.js";
import { type Model, ModelError } from "../models/model.js";
import { UserError } from "../platform/errors.js";
import type { NamedCounts } from "../statistics/intervals.js";
import { shuffled } from "./dataset.js";
import {
  draftRequest,
  mailBatches,
  QUESTIONS_PER_BATCH,
  type QuestionDraft,
  readWrittenQuestions,
  resolveCitations,
} from "./draft-by-model.js";
import { draftPatternQuestions } from "./draft-by-patterns.js";
import type { MakeOptions } from "./question-models.js";
import { stratifiedOrder, type UsableMailbox } from "./usable-mail.js";

/** Mails that a model is shown in one call, and their mailbox. */
export interface AddressedBatch {
  readonly address: string;
  read(): readonly Email[];
}

/** Batches whose drafts are checked before further ones are asked for, at most. */
const BATCHES_AT_ONCE = 8;

/** Mails that are looked at for each question before the others are: most give a draft or two, or none. */
const MAILS_PER_QUESTION = 10;

/**
 * Drafts for values that patterns find, one at a time, spread over mailboxes, kinds, months and senders: of a sample of
 * each mailbox, and where that does not suffice, of its other mails.
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

/** The batches of all mailboxes in turn, each spread over its time; the first ones of different parts of it. */
export function batchesInTurn(mailboxes: readonly UsableMailbox[]): readonly AddressedBatch[] {
  const lists = mailboxes.map(({ address, usable, read }, i) => {
    const batches = mailBatches(usable).map((mails) => ({ address, read: () => read(mails) }));
    const first = batches.length === 0 ? 0 : i % batches.length;
    return [...batches.slice(first), ...batches.slice(0, first)];
  });
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
 * Drafts that a model writes, of no more batches at a time than the missing questions probably need, spread over
 * mailboxes, kinds, months and senders. A batch whose call fails is counted and passed over. At the limit of cost, and
 * of a model that gives nothing usable, gives what was paid for, then throws.
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
  // Half of the unanswerable ones ask for a detail that no mail holds; the others are asked before their mail came.
  const everyNth =
    unanswerable === 0 ? 0 : Math.max(1, Math.round(batchesFor(number) / Math.max(1, unanswerable * number)));
  let from = 0;
  while (from < batches.length) {
    const group = batches.slice(from, from + Math.min(BATCHES_AT_ONCE, batchesFor(missing())));
    const written = await Promise.all(
      group.map((batch, i) => {
        const absent = everyNth > 0 && (from + i) % everyNth === 0 ? 1 : 0;
        return writeBatch(batch, absent, model, refusals, signal);
      }),
    );
    from += group.length;
    yield [
      ...stratifiedOrder(
        written.flatMap(({ drafts }) => drafts),
        seed,
      ),
    ];
    for (const { problem } of written) {
      if (problem instanceof CostLimitReached) throw problem;
      streak.add(problem);
    }
  }
}

interface WrittenBatch {
  readonly drafts: readonly QuestionDraft[];
  /** Why there are none that could be read; null: there are, or the mails gave none. */
  readonly problem: CostLimitReached | string | null;
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
  if (reply instanceof ModelError) return failed("the model's call failed", reply.message);
  const written = readWrittenQuestions(reply);
  if (written === null) return failed("the model's reply records no questions");
  refusals.add("the model wrote no whole question", written.malformed);
  const drafts = written.questions.flatMap((one) => {
    const located = resolveCitations(one, address, mails);
    if ("draft" in located) return [located.draft];
    refusals.add(located.refused);
    return [];
  });
  const isNoneWhole = written.malformed > 0 && written.questions.length === 0;
  return { drafts, problem: isNoneWhole ? "the model wrote no whole question" : null };
}

/** What a call failed with after its retries, or the limit that forbids it. What fails for every call is thrown. */
export async function callOrFailure<T>(call: () => Promise<T>): Promise<T | ModelError | CostLimitReached> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof CostLimitReached) return error;
    if (!(error instanceof ModelError)) throw error;
    if (!stopsRun(error.kind) && !error.unreachable) return error;
    throw new UserError(
      "model_failed",
      `Nothing was written, as no call can succeed: ${error.message}`,
      "Replies so far are in the cache: the same command goes on from there.",
      1,
      { cause: error },
    );
  }
}

/** So many unusable replies in a row are the model's way, and no accident. */
const MAX_FAILURES = 8;

/** A model that gives nothing usable. */
export class UnusableModel extends UserError {}

/** Stops a command whose model never gives what it is asked for, before it has paid for a call about every mail. */
export class FailureStreak {
  private failures = 0;

  constructor(private readonly modelId: string) {}

  /** `problem`: what was wrong with a reply; null: nothing. Throws after too many in a row. */
  add(problem: string | null): void {
    this.failures = problem === null ? 0 : this.failures + 1;
    if (this.failures < MAX_FAILURES) return;
    throw new UnusableModel(
      "model_failed",
      `${this.modelId} gave nothing usable ${MAX_FAILURES} times in a row, the last time because ${problem}`,
      "Take another model; replies so far are in the cache.",
      1,
    );
  }
}
