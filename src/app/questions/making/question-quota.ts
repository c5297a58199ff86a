import { NearDuplicates } from "../../../questions/generation/near-duplicates.js";
import type { QuestionDraft } from "../../../questions/generation/question-draft.js";
import type { NamedCounts } from "../../../statistics/named-counts.js";
import type { VerifiedQuestion } from "./verify-draft.js";

interface Tally {
  answerable: number;
  unanswerable: number;
}

/** Which drafts are checked: as many as are missing, no near-duplicates, and the share that cannot be answered. */
export class QuestionQuota {
  readonly kept: VerifiedQuestion[] = [];
  private readonly duplicates = new NearDuplicates();
  private readonly wanted: Tally;

  /** @param refusals counts the drafts that are passed over */
  constructor(
    private readonly number: number,
    share: number,
    private readonly refusals: NamedCounts,
  ) {
    const unanswerable = Math.round(number * share);
    this.wanted = { answerable: number - unanswerable, unanswerable };
  }

  get missing(): number {
    return this.number - this.kept.length;
  }

  /** Takes the next drafts to check from the front of a queue, no more than are missing. */
  takeFrom(queue: QuestionDraft[]): QuestionDraft[] {
    const planned = this.tally();
    const taken: QuestionDraft[] = [];
    for (let draft = queue.shift(); draft !== undefined; draft = queue.shift()) {
      const chosen = this.choose(draft, planned);
      if (chosen === null) continue;
      planned[chosen.unanswerable === null ? "answerable" : "unanswerable"]++;
      taken.push(chosen);
      if (taken.length === this.missing) break;
    }
    return taken;
  }

  private tally(): Tally {
    const unanswerable = this.kept.filter(({ provenance }) => provenance.unanswerable !== null).length;
    return { unanswerable, answerable: this.kept.length - unanswerable };
  }

  /** The draft as it is to be checked; null: it is counted as refused. */
  private choose(draft: QuestionDraft, planned: Tally): QuestionDraft | null {
    const { wanted, number } = this;
    if (!this.duplicates.add(draft)) return this.refuse("it asks the same as another");
    if (draft.unanswerable !== null) {
      return planned.unanswerable < wanted.unanswerable
        ? draft
        : this.refuse("there are enough that cannot be answered");
    }
    const isFull = planned.answerable >= wanted.answerable;
    const next = planned.answerable + planned.unanswerable + 1;
    const isDue = isFull || planned.unanswerable < Math.floor((next * wanted.unanswerable) / number);
    const early = isDue ? asAskedTooEarly(draft) : null;
    if (early === null && isFull) return this.refuse("there are enough that can be answered");
    return early ?? draft;
  }

  private refuse(reason: string): null {
    this.refusals.add(reason);
    return null;
  }
}

/** The same asked before any mail that answers it; null: it would be answered then. */
function asAskedTooEarly(draft: QuestionDraft): QuestionDraft | null {
  if (draft.askedTooEarly === null) return null;
  return { ...draft, question: draft.askedTooEarly, answer: "I don't know", unanswerable: "mail_later" };
}
