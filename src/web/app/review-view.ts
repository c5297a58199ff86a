// The section for reviewing questions, with the agreement of reviewers.
import type { QuestionWording, ReviewDecision } from "../../questions/provenance.js";
import type {
  QuestionDetailsJson,
  ReviewListJson,
  ReviewSummaryJson,
  SavedReviewJson,
} from "../../server/response-shapes.js";
import { estimate } from "../../text/format.js";
import { h, replaceChildren, setText } from "../dom.js";
import { get, post } from "./api.js";
import { DecisionPage } from "./decision-page.js";
import { table } from "./lists.js";
import {
  citedMails,
  forgetUnsaved,
  keepUnsaved,
  questionSection,
  readUnsaved,
  scrollToPassages,
  WordingEditor,
} from "./review-form.js";

/**
 * Shows one question after another for decisions with the keyboard. `id` is the first question, or null for the first
 * undecided one.
 */
export async function reviewView(page: HTMLElement, id: string | null, signal: AbortSignal): Promise<void> {
  const review = new Reviewing(await get<ReviewListJson>("/api/review"));
  page.append(review.page.element);
  await review.open(id === null ? null : Number(id));
  review.page.listen(signal);
}

class Reviewing {
  readonly page = new DecisionPage({
    title: "Review questions",
    name: "Decision",
    field: "Reason",
    actions: {
      a: { label: "Accept", className: "label-good", press: () => this.decide("accepted") },
      e: { label: "Edit", press: () => this.current !== null && this.editor.edit() },
      r: { label: "Reject", className: "label-bad", press: () => this.decide("rejected") },
      u: { label: "Undo", press: () => this.undo() },
      k: { label: "Previous", press: () => this.step(-1) },
      j: { label: "Next", press: () => this.step(1) },
    },
    refused: () => this.reload(),
  });
  private readonly editor = new WordingEditor(
    (edited) => this.save(edited),
    () => this.keep(),
  );
  private readonly agreement = h("div");
  private readonly dataset: string;
  private readonly reviewedDataset: string;
  private questions: ReviewListJson["questions"];
  private current: QuestionDetailsJson | null = null;
  /** Ids in the order of this tab's decisions. */
  private readonly decided: number[] = [];

  constructor({ dataset, reviewed_dataset: reviewedDataset, questions, ...summary }: ReviewListJson) {
    this.dataset = dataset;
    this.reviewedDataset = reviewedDataset;
    this.questions = questions;
    const { source, progress, buttons, field } = this.page;
    setText(source, dataset);
    progress.after(this.agreement);
    buttons.after(this.editor.element);
    field.addEventListener("input", () => this.keep());
    this.showSummary(summary);
  }

  /** Stores text about the current question that is not saved yet. */
  private keep(): void {
    if (this.current === null) return;
    keepUnsaved(this.dataset, this.current.id, { reason: this.page.field.value, edited: this.editor.edited });
  }

  /** Shows a question. With null, shows the next undecided question after the current one, or the end. */
  async open(id: number | null): Promise<void> {
    const next = id ?? this.nextUndecided();
    if (next === null) {
      this.current = null;
      history.replaceState(null, "", "#review");
      this.end();
      return;
    }
    const details = await get<QuestionDetailsJson>(`/api/review/questions/${next}`);
    this.current = details;
    history.replaceState(null, "", `#review/${next}`);
    const mails = citedMails(details.mails);
    const { reason = "", edited = null } = readUnsaved(this.dataset, next) ?? {};
    this.page.field.value = reason;
    this.editor.show(details.review?.edited ?? details, edited);
    this.page.show(questionSection(details), null, mails);
    // The caller adds the section to the page only after this function returns.
    requestAnimationFrame(() => scrollToPassages(mails));
  }

  private nextUndecided(): number | null {
    const at = this.questions.findIndex(({ id }) => id === this.current?.id);
    const after = [...this.questions.slice(at + 1), ...this.questions.slice(0, at + 1)];
    return after.find(({ decision }) => decision === null)?.id ?? null;
  }

  private end(): void {
    this.page.end(
      h("p", "All questions are decided. The accepted and edited ones are a separate dataset:"),
      h("p", h("code", `art-e run --agent baseline --dataset ${this.reviewedDataset} --limit 0`)),
      h("p", "Press Ctrl-C in the terminal to stop this page's server. ", h("kbd", "k"), " goes back."),
    );
  }

  private step(by: number): Promise<void> {
    return this.page.change(async () => {
      const at = this.questions.findIndex(({ id }) => id === this.current?.id);
      const from = at === -1 ? (by > 0 ? -1 : this.questions.length) : at;
      const target = this.questions[from + by];
      if (target !== undefined) await this.open(target.id);
      this.page.say(target === undefined ? "No more questions." : "");
    });
  }

  /** An unchanged wording counts as accepted, not edited. */
  private save(edited: QuestionWording): Promise<void> {
    const isSame = edited.question === this.current?.question && edited.answer === this.current.answer;
    return isSame ? this.decide("accepted") : this.decide("edited", edited);
  }

  private decide(decision: ReviewDecision, edited: QuestionWording | null = null): Promise<void> {
    return this.page.change(async () => {
      const { current } = this;
      if (current === null) return;
      await this.send(current, decision, edited, this.page.field.value.trim() || null);
      this.decided.push(current.id);
      forgetUnsaved(this.dataset, current.id);
      this.page.say(`Saved: ${current.id} ${decision}.`);
      await this.open(null);
    });
  }

  /** Undoes the decision about the current question, otherwise the last decision. */
  private undo(): Promise<void> {
    return this.page.change(async () => {
      if (this.current === null || this.current.review === null) {
        const last = this.decided.pop();
        if (last === undefined) return this.page.say("Nothing to undo.");
        await this.open(last);
      }
      const { current } = this;
      if (current === null || current.review === null) return;
      const { reason, edited } = current.review;
      await this.send(current, null, null, null);
      keepUnsaved(this.dataset, current.id, { reason: reason ?? "", edited });
      await this.open(current.id);
      this.page.say(`Undone: ${current.id}.`);
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
    setText(this.page.progress, countsText(summary));
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
    "details.agreement",
    h("summary", `Agreement between you and the checks: ${estimate(all)}`),
    table(
      "Agreement by check",
      ["Check", "Agreement, with 95% interval"],
      byCheck.map(({ check, agreement: same }) => [check, estimate(same)]),
    ),
    h(
      "p.hint",
      "Agreement means that the checks passed and you accepted the original question, or that they failed and you did not.",
    ),
  );
}
