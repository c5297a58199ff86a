import { h, replaceChildren } from "../../../../reports/page/shared/dom.js";
import type { TraceDetailsJson } from "../api-types.js";
import { changeLock } from "../decisions/change-lock.js";
import { listenForKeys } from "../decisions/keyboard-shortcuts.js";
import { get, post, remove } from "../request.js";
import { labelForm } from "./label-form.js";
import {
  type GivenLabel,
  type LabelQueueJson,
  type LabelSubject,
  type LabelSummaryJson,
  OVERALL,
  type QueuedTraceJson,
  readSubject,
  type SavedLabelJson,
} from "./label-types.js";
import { answerSection, stepsSection } from "./trace-to-label.js";

/** One trace after another, to be labelled by keys. */
export async function labelView(
  page: HTMLElement,
  id: string,
  signal: AbortSignal,
  query: URLSearchParams,
): Promise<void> {
  const labelling = new Labelling(readSubject(id, query));
  await labelling.showNext();
  labelling.listen(signal);
  page.append(...labelling.elements);
}

class Labelling {
  private readonly source = h("p", { class: "hint mono" });
  private readonly progress = h("p", { class: "hint", role: "status" });
  private readonly body = h("div");
  private readonly form = labelForm({ give: (label) => this.give(label), undo: () => this.undo() });
  private readonly change = changeLock(this.form);
  private queue: QueuedTraceJson[] = [];
  private waiting = 0;
  private current: QueuedTraceJson | null = null;
  /** The trace after the current one, on its way. */
  private prefetched: { readonly id: string; readonly details: Promise<TraceDetailsJson> } | null = null;
  private readonly given: { readonly id: number; readonly trace: QueuedTraceJson; readonly note: string }[] = [];
  readonly elements: readonly HTMLElement[];

  constructor(private readonly subject: LabelSubject) {
    this.elements = [h("h2", {}, "Label traces"), this.source, this.progress, this.body];
  }

  listen(signal: AbortSignal): void {
    const actions = {
      g: () => this.give("good"),
      b: () => this.give("bad"),
      s: () => this.give("skip"),
      u: () => this.undo(),
      w: () => this.form.note.focus(),
    };
    listenForKeys(actions, signal);
  }

  /** Shows the next trace of the queue, which is filled again where it is empty, or says that all are labelled. */
  async showNext(): Promise<void> {
    if (this.queue.length === 0) {
      const { runId, criterion } = this.subject;
      const query = new URLSearchParams({ criterion, ...(runId === null ? {} : { run_id: runId }) });
      const {
        queue,
        waiting,
        run_id: found,
        ...summary
      } = await get<LabelQueueJson>(`/api/evals/label-queue?${query}`);
      this.queue = [...queue];
      this.waiting = waiting;
      this.source.textContent = `${found ?? "chats"}${criterion === OVERALL ? "" : `, for ${criterion}`}`;
      this.showProgress(summary);
    }
    const [next] = this.queue;
    const details = next === undefined ? null : await this.load(next);
    this.current = this.queue.shift() ?? null;
    this.form.undo.disabled = this.given.length === 0;
    if (details === null) this.body.replaceChildren(this.end());
    else this.show(details);
    const [after] = this.queue;
    if (after !== undefined) this.prefetched = { id: after.trace_id, details: this.load(after) };
    // Whoever needs it sees the error; until then nobody does.
    this.prefetched?.details.catch(() => undefined);
  }

  private load({ trace_id: id }: QueuedTraceJson): Promise<TraceDetailsJson> {
    const { prefetched } = this;
    this.prefetched = null;
    return prefetched?.id === id ? prefetched.details : get(`/api/traces/${encodeURIComponent(id)}`);
  }

  private show(details: TraceDetailsJson): void {
    const answer = answerSection(details);
    const beside = h("div", { class: "label-beside" }, answer, this.form.element);
    replaceChildren(this.body, h("div", { class: "labelling" }, beside, stepsSection(details)));
    answer.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  private end(): HTMLElement {
    if (this.given.length === 0) return h("p", { class: "notice" }, "There is no trace without a person's label.");
    return h(
      "div",
      { class: "notice", role: "status" },
      h("p", {}, "Every trace has a person's label. Next: ", h("code", {}, "art-e evals suggest")),
      h("button", { type: "button", click: () => this.undo() }, "Undo the last ", h("kbd", {}, "u")),
    );
  }

  private give(label: GivenLabel): Promise<void> {
    return this.change(async () => {
      const { current, form } = this;
      // Saved, but the next did not come: try again.
      if (current === null) return this.showNext();
      const note = form.note.value.trim();
      const { id, ...summary } = await post<SavedLabelJson>("/api/evals/labels", {
        ...current,
        criterion: this.subject.criterion,
        label,
        note: note || null,
      });
      this.given.push({ id, trace: current, note });
      this.current = null;
      if (!current.is_repeat) this.waiting--;
      this.showProgress(summary);
      form.note.value = "";
      form.say(`Saved: ${label}.`);
      await this.showNext();
    });
  }

  /** Takes the last label back and shows its trace again. */
  private undo(): Promise<void> {
    return this.change(async () => {
      const last = this.given.at(-1);
      if (last === undefined) return;
      await remove(`/api/evals/labels/${last.id}`);
      this.given.pop();
      if (this.current !== null) this.queue.unshift(this.current);
      this.current = null;
      this.queue.unshift(last.trace);
      if (!last.trace.is_repeat) this.waiting++;
      this.showProgress(null);
      await this.showNext();
      this.form.note.value = last.note;
      this.form.say("Taken back.");
    });
  }

  private showProgress(summary: LabelSummaryJson | null): void {
    this.progress.textContent = `${this.waiting} to label`;
    if (summary === null) return;
    const { labels, self_agreement: again } = summary;
    const agreement = again.value === null ? "" : `; the same said again of ${again.value * again.n} of ${again.n}`;
    this.progress.textContent += `. In all ${labels.good} good, ${labels.bad} bad, ${labels.skip} skipped${agreement}.`;
  }
}
