import type { QuestionWording, ReviewDecision } from "../../questions/provenance.js";
import type {
  QuestionDetailsJson,
  ReviewListJson,
  ReviewSummaryJson,
  SavedReviewJson,
} from "../../server/response-shapes.js";
import { estimate } from "../../text/format.js";
import { h, replaceChildren } from "../dom.js";
import { get, post } from "./api.js";
import { changeLock, listenForKeys } from "./label.js";
import { table } from "./lists.js";
import {
  citedMails,
  forgetUnsaved,
  keepUnsaved,
  questionSection,
  ReviewForm,
  readUnsaved,
  scrollToPassages,
} from "./review-form.js";

/**
 * Shows one question after another for decisions with the keyboard. `id` is the first question, or null for the first
 * undecided one.
 */
export async function reviewView(page: HTMLElement, id: string | null, signal: AbortSignal): Promise<void> {
  const review = new Reviewing(await get<ReviewListJson>("/api/review"));
  page.append(...review.elements);
  await review.open(id === null ? null : Number(id));
  review.listen(signal);
}

class Reviewing {
  private readonly progress = h("p", { class: "hint", role: "status" });
  private readonly agreement = h("div");
  private readonly body = h("div");
  private readonly form = new ReviewForm({
    accept: () => this.decide("accepted"),
    reject: () => this.decide("rejected"),
    save: (edited) => this.save(edited),
    undo: () => this.undo(),
    previous: () => this.step(-1),
    next: () => this.step(1),
    changed: (words) => this.current !== null && keepUnsaved(this.dataset, this.current.id, words),
  });
  private readonly change = changeLock(this.form, () => this.reload());
  private readonly dataset: string;
  private readonly reviewedDataset: string;
  private questions: ReviewListJson["questions"];
  private current: QuestionDetailsJson | null = null;
  /** Ids in the order of this tab's decisions. */
  private readonly decided: number[] = [];
  readonly elements: readonly HTMLElement[];

  constructor({ dataset, reviewed_dataset: reviewedDataset, questions, ...summary }: ReviewListJson) {
    this.dataset = dataset;
    this.reviewedDataset = reviewedDataset;
    this.questions = [...questions];
    this.elements = [
      h("h2", {}, "Review questions"),
      h("p", { class: "hint mono" }, dataset),
      this.progress,
      this.agreement,
      this.body,
    ];
    this.showSummary(summary);
  }

  listen(signal: AbortSignal): void {
    const actions = {
      a: () => this.decide("accepted"),
      e: () => this.current !== null && this.form.edit(),
      r: () => this.decide("rejected"),
      u: () => this.undo(),
      j: () => this.step(1),
      k: () => this.step(-1),
      w: () => this.form.reason.focus(),
    };
    listenForKeys(actions, signal);
  }

  /** Shows a question. With null, shows the next undecided question after the current one, or the end. */
  async open(id: number | null): Promise<void> {
    const next = id ?? this.nextUndecided();
    if (next === null) {
      this.current = null;
      history.replaceState(null, "", "#review");
      replaceChildren(this.body, this.end());
      return;
    }
    const details = await get<QuestionDetailsJson>(`/api/review/questions/${next}`);
    this.current = details;
    history.replaceState(null, "", `#review/${next}`);
    const section = questionSection(details);
    const mails = citedMails(details.mails);
    this.form.show(details.review?.edited ?? details, readUnsaved(this.dataset, next));
    const beside = h("div", { class: "label-beside" }, section, this.form.element);
    replaceChildren(this.body, h("div", { class: "labelling" }, beside, mails));
    section.focus({ preventScroll: true });
    scrollTo(0, 0);
    // The caller adds the section to the page only after this function returns.
    requestAnimationFrame(() => scrollToPassages(mails));
  }

  private nextUndecided(): number | null {
    const at = this.questions.findIndex(({ id }) => id === this.current?.id);
    const after = [...this.questions.slice(at + 1), ...this.questions.slice(0, at + 1)];
    return after.find(({ decision }) => decision === null)?.id ?? null;
  }

  private end(): HTMLElement {
    return h(
      "div",
      { class: "notice" },
      h("p", {}, "All questions are decided. The accepted and edited ones are a separate dataset:"),
      h("p", {}, h("code", {}, `art-e run --agent baseline --dataset ${this.reviewedDataset} --limit 0`)),
      h("p", {}, "Press Ctrl-C in the terminal to stop this page's server. ", h("kbd", {}, "k"), " goes back."),
    );
  }

  private step(by: number): Promise<void> {
    return this.change(async () => {
      const at = this.questions.findIndex(({ id }) => id === this.current?.id);
      const from = at === -1 ? (by > 0 ? -1 : this.questions.length) : at;
      const target = this.questions[from + by];
      if (target !== undefined) await this.open(target.id);
      this.form.say(target === undefined ? "No more questions." : "");
    });
  }

  /** An unchanged wording counts as accepted, not edited. */
  private save(edited: QuestionWording): Promise<void> {
    const isSame = edited.question === this.current?.question && edited.answer === this.current.answer;
    return isSame ? this.decide("accepted") : this.decide("edited", edited);
  }

  private decide(decision: ReviewDecision, edited: QuestionWording | null = null): Promise<void> {
    return this.change(async () => {
      const { current } = this;
      if (current === null) return;
      await this.send(current, decision, edited, this.form.reason.value.trim() || null);
      this.decided.push(current.id);
      forgetUnsaved(this.dataset, current.id);
      this.form.say(`Saved: ${current.id} ${decision}.`);
      await this.open(null);
    });
  }

  /** Undoes the decision about the current question, otherwise the last decision. */
  private undo(): Promise<void> {
    return this.change(async () => {
      if (this.current === null || this.current.review === null) {
        const last = this.decided.pop();
        if (last === undefined) return this.form.say("Nothing to undo.");
        await this.open(last);
      }
      const { current } = this;
      if (current === null || current.review === null) return;
      const { reason, edited } = current.review;
      await this.send(current, null, null, null);
      keepUnsaved(this.dataset, current.id, { reason: reason ?? "", edited });
      await this.open(current.id);
      this.form.say(`Undone: ${current.id}.`);
    });
  }

  private async send(
    { id, review }: QuestionDetailsJson,
    decision: ReviewDecision | null,
    edited: QuestionWording | null,
    reason: string | null,
  ): Promise<void> {
    const body = { decision, edited, reason, seen: review?.decided_at ?? null };
    const { review: _, ...summary } = await post<SavedReviewJson>(`/api/review/questions/${id}`, body);
    this.questions = this.questions.map((one) => (one.id === id ? { id, decision } : one));
    this.showSummary(summary);
  }

  /** Called after a refusal, because another tab may have decided. Unsaved text remains. */
  private async reload(): Promise<void> {
    try {
      const { questions, ...summary } = await get<ReviewListJson>("/api/review");
      this.questions = [...questions];
      this.showSummary(summary);
      if (this.current !== null) await this.open(this.current.id);
    } catch {
      // The refusal has already reported that the server does not respond.
    }
  }

  private showSummary(summary: ReviewSummaryJson): void {
    this.progress.textContent = countsText(summary);
    replaceChildren(this.agreement, agreementSection(summary));
  }
}

/** Formats `12 to decide. 30 accepted, 3 edited, 5 rejected.` */
function countsText({ counts }: ReviewSummaryJson): string {
  const { waiting, accepted, edited, rejected } = counts;
  return `${waiting} to decide. ${accepted} accepted, ${edited} edited, ${rejected} rejected.`;
}

/** The agreement between the reviewer and the checks, or null if there is nothing to compare. */
function agreementSection({ agreement }: ReviewSummaryJson): HTMLElement | null {
  const { all, by_check: byCheck } = agreement;
  if (all.n === 0) return null;
  return h(
    "details",
    { class: "agreement" },
    h("summary", {}, `Agreement between you and the checks: ${estimate(all)}`),
    table(
      "Agreement by check",
      ["Check", "Agreement, with 95% interval"],
      byCheck.map(({ check, agreement: same }) => [check, estimate(same)]),
    ),
    h(
      "p",
      { class: "hint" },
      "Agreement means that the checks passed and you accepted the original question, or that they failed and you did not.",
    ),
  );
}
