import pLimit from "p-limit";
import { CostLimitReached } from "../../../models/middleware/limit-cost.js";
import { NearDuplicates } from "../../../questions/generation/near-duplicates.js";
import type { QuestionDraft } from "../../../questions/generation/question-draft.js";
import { count } from "../../../reports/text/format-number.js";
import type { NamedCounts } from "../../../statistics/named-counts.js";
import { seededRandom } from "../../../statistics/seeded-random.js";
import { JUDGE_CONCURRENCY } from "../../score/create-judge.js";
import { type AppContext, Interrupted } from "../../use-case-context.js";
import { callOrNull, draftsOfModel, draftsOfPatterns } from "./draft-questions.js";
import type { MakeOptions } from "./make-options.js";
import type { OpenedModels } from "./open-models.js";
import type { QuestionMailbox } from "./question-mailbox.js";
import type { UsableMailbox } from "./usable-mailboxes.js";
import { asAskedTooEarly, type VerifiedQuestion, verifyDraft } from "./verify-draft.js";

export interface CollectRequest {
  readonly mailboxes: ReadonlyMap<string, QuestionMailbox>;
  readonly usable: readonly UsableMailbox[];
  readonly models: OpenedModels;
  readonly refusals: NamedCounts;
}

export interface Collected {
  readonly questions: readonly VerifiedQuestion[];
  /** Why no more were made. */
  readonly stopped: string;
}

/** Drafts and checks until there are as many questions as wanted, the mail is used up, or the money is. */
export async function collectQuestions(
  options: MakeOptions,
  request: CollectRequest,
  { signal, progress }: AppContext,
): Promise<Collected> {
  const quota = new Quota(options.number, Math.round(options.number * options.unanswerable));
  const bar = progress("Questions");
  try {
    for await (const drafts of draftGroups(options, request, signal)) {
      signal.throwIfAborted();
      const { verified, limit } = await verifyGroup(drafts, options, request, quota, signal);
      for (const question of verified) quota.add(question);
      bar.update(quota.kept.length, options.number, `${count(quota.kept.length)} of ${count(options.number)}`);
      if (quota.isFull) break;
      if (limit !== null) throw limit;
    }
    return { questions: quota.kept, stopped: "the mail gives no more" };
  } catch (error) {
    if (error instanceof CostLimitReached) return { questions: quota.kept, stopped: error.message };
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
  signal: AbortSignal,
): Iterable<QuestionDraft[]> | AsyncIterable<QuestionDraft[]> {
  return writer === null
    ? draftsOfPatterns(usable, options.seed, refusals)
    : draftsOfModel(usable, writer, options, refusals, signal);
}

/** The questions of a group of drafts that pass, in the drafts' order; and the limit, if a check could not be paid. */
async function verifyGroup(
  drafts: readonly QuestionDraft[],
  { model, seed }: MakeOptions,
  { mailboxes, models, refusals }: CollectRequest,
  quota: Quota,
  signal: AbortSignal,
): Promise<{ readonly verified: readonly VerifiedQuestion[]; readonly limit: CostLimitReached | null }> {
  let limit: CostLimitReached | null = null;
  const wanted = drafts.flatMap((draft) => quota.plan(draft, refusals) ?? []);
  const checked = await pLimit(JUDGE_CONCURRENCY).map(wanted, async ({ draft, number }) => {
    const mailbox = mailboxes.get(draft.inbox);
    if (mailbox === undefined) return null;
    const settings = {
      madeBy: model,
      synthetic: models.writer === null,
      checker: models.checker,
      random: seededRandom(seed + number),
    };
    const verified = await callOrNull(() => verifyDraft(draft, mailbox, settings, signal)).catch((error) => {
      if (!(error instanceof CostLimitReached)) throw error;
      limit = error;
      return "not paid" as const;
    });
    if (verified === "not paid") return null;
    if (verified !== null && "kept" in verified) return verified.kept;
    refusals.add(verified?.refused ?? "the checker's call failed");
    return null;
  });
  return { verified: checked.filter((one) => one !== null), limit };
}

/** Which drafts are taken: no near-duplicates, and so many of them unanswerable. */
class Quota {
  readonly kept: VerifiedQuestion[] = [];
  private readonly duplicates = new NearDuplicates();
  private planned = 0;
  private plannedUnanswerable = 0;

  constructor(
    private readonly number: number,
    private readonly unanswerable: number,
  ) {}

  get isFull(): boolean {
    return this.kept.length >= this.number;
  }

  /** The draft as it is to be checked, with its number; null where one like it was taken before. */
  plan(draft: QuestionDraft, refusals: NamedCounts): { draft: QuestionDraft; number: number } | null {
    if (!this.duplicates.add(draft)) {
      refusals.add("it asks the same as another");
      return null;
    }
    const number = ++this.planned;
    const share = this.unanswerable / this.number;
    const isBehind = this.plannedUnanswerable < Math.floor(number * share);
    const planned = isBehind && draft.unanswerable === null ? asAskedTooEarly(draft) : draft;
    if (planned.unanswerable !== null) this.plannedUnanswerable++;
    return { draft: planned, number };
  }

  /** Adds a question, unless there are enough of its sort. */
  add(question: VerifiedQuestion): void {
    const isUnanswerable = (one: VerifiedQuestion) => one.provenance.unanswerable !== null;
    const sort = isUnanswerable(question);
    const enough = sort ? this.unanswerable : this.number - this.unanswerable;
    if (this.kept.filter((one) => isUnanswerable(one) === sort).length < enough) this.kept.push(question);
  }
}
