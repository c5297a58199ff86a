import { presentProperties } from "../../platform/optional-values.js";
import type { NoteCountJson, TraceDetailsJson } from "../../server/response-shapes.js";
import { h, replaceChildren } from "../dom.js";
import { get, post, remove } from "./api.js";
import { answerSection, CHATS, changeLock, keyButton, listenForKeys, stepsSection } from "./label.js";
import { statusLine } from "./lists.js";

/** Shows one trace after another, and saves the first thing that went wrong in each. */
export async function codeView(
  page: HTMLElement,
  id: string,
  signal: AbortSignal,
  query: URLSearchParams,
): Promise<void> {
  const coding = new Coding(id === CHATS ? null : id, query);
  await coding.load();
  coding.listen(signal);
  page.append(...coding.elements);
}

/** Number of earlier notes with a key. */
const CHOICES = 9;

class Coding {
  private readonly source = h("p", { class: "hint mono" });
  private readonly progress = h("p", { class: "hint", role: "status" });
  private readonly body = h("div");
  private readonly form = noteForm({
    save: () => this.saveWritten(),
    nothingWrong: () => void this.save(null),
    choose: (note) => void this.save(note),
    undo: () => void this.undo(),
  });
  private readonly change = changeLock(this.form);
  private queue: QueuedTraceJson[] = [];
  private readonly coded: { readonly queued: QueuedTraceJson; readonly note: string }[] = [];
  readonly elements: readonly HTMLElement[] = [h("h2", {}, "Error analysis"), this.source, this.progress, this.body];

  constructor(
    private readonly runId: string | null,
    private readonly query: URLSearchParams,
  ) {}

  listen(signal: AbortSignal): void {
    const digits = Array.from({ length: CHOICES }, (_, i) => [String(i + 1), () => this.form.chooseNumber(i)] as const);
    const actions = { n: () => void this.save(null), w: () => this.form.note.focus(), u: () => void this.undo() };
    listenForKeys({ ...Object.fromEntries(digits), ...actions }, signal);
  }

  async load(): Promise<void> {
    const query = new URLSearchParams({
      ...presentProperties({
        run_id: this.runId,
        limit: this.query.get("limit"),
        seed: this.query.get("seed"),
        order: this.query.get("order"),
      }),
    });
    const queue = await get<CodingQueueJson>(`/api/evals/coding-queue?${query}`);
    this.queue = [...queue.queue];
    this.source.textContent = `${queue.run_name ?? queue.run_id ?? "chats"}${this.query.get("order") === "enriched" ? ", likely failures more often, weighted in all figures" : ", in random order"}`;
    this.form.offer(queue.notes);
    await this.showNext();
  }

  private async showNext(): Promise<void> {
    const id = this.queue[0]?.trace_id;
    this.progress.textContent = `${this.queue.length} to code.`;
    this.form.undo.disabled = this.coded.length === 0;
    if (id === undefined) {
      const end = h("p", {}, "All traces of the pass are coded. Next: ", h("a", { href: "#modes" }, "group the notes"));
      replaceChildren(this.body, h("div", { class: "notice", role: "status" }, end));
      return;
    }
    const details = await get<TraceDetailsJson>(`/api/traces/${encodeURIComponent(id)}`);
    const answer = answerSection(details);
    const beside = h("div", { class: "label-beside" }, answer, this.form.element);
    replaceChildren(this.body, h("div", { class: "labelling" }, beside, stepsSection(details)));
    answer.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  private saveWritten(): void {
    const note = this.form.note.value.trim();
    if (note !== "") void this.save(note);
  }

  /** Saves null if nothing is wrong. */
  private save(note: string | null): Promise<void> {
    return this.change(async () => {
      const [queued] = this.queue;
      if (queued === undefined) return;
      const { notes } = await post<{ notes: readonly NoteCountJson[] }>("/api/evals/notes", {
        ...queued,
        note,
        ...presentProperties({ annotator: this.query.get("annotator") }),
      });
      this.coded.push({ queued, note: note ?? "" });
      this.queue.shift();
      this.form.offer(notes);
      this.form.note.value = "";
      this.form.say(note === null ? "Saved: nothing wrong." : `Saved: ${note}`);
      await this.showNext();
    });
  }

  /** Deletes the last note and shows its trace again. */
  private undo(): Promise<void> {
    return this.change(async () => {
      const last = this.coded.at(-1);
      if (last === undefined) return;
      await remove(`/api/evals/notes/${encodeURIComponent(last.queued.trace_id)}`);
      this.coded.pop();
      this.queue.unshift(last.queued);
      await this.showNext();
      this.form.note.value = last.note;
      this.form.say("Undone.");
    });
  }
}

interface NoteActions {
  save(): void;
  nothingWrong(): void;
  choose(note: string): void;
  undo(): void;
}

interface NoteForm {
  readonly element: HTMLElement;
  readonly note: HTMLInputElement;
  readonly undo: HTMLButtonElement;
  /** Offers earlier notes, as completions and the first ones as buttons. */
  offer(notes: readonly NoteCountJson[]): void;
  chooseNumber(i: number): void;
  setBusy(isBusy: boolean): void;
  say(message: string, isError?: boolean): void;
}

function noteForm({ save, nothingWrong, choose, undo }: NoteActions): NoteForm {
  const status = statusLine();
  const completions = h("datalist", { id: "earlier-notes" });
  const note = h("input", { id: "note", type: "text", maxlength: 500, list: "earlier-notes", autocomplete: "off" });
  note.addEventListener("keydown", ({ key, isComposing }) => {
    if (isComposing) return;
    if (key === "Enter") {
      note.blur();
      save();
    } else if (key === "Escape") note.blur();
  });
  const undoButton = keyButton("Undo", "u", null, undo);
  const earlier = h("div", { class: "label-buttons", role: "group", "aria-label": "Earlier notes" });
  let offered: readonly NoteCountJson[] = [];
  const element = h(
    "div",
    { class: "label-form", role: "group", "aria-label": "Note" },
    h("label", { for: "note" }, "First thing that went wrong (", h("kbd", {}, "w"), " to write, Enter to save)"),
    note,
    completions,
    earlier,
    h("div", { class: "label-buttons" }, keyButton("Nothing wrong", "n", "label-good", nothingWrong), undoButton),
    status.element,
  );
  return {
    element,
    note,
    undo: undoButton,
    offer(notes) {
      offered = notes.slice(0, CHOICES);
      replaceChildren(completions, ...notes.map((one) => h("option", { value: one.note })));
      replaceChildren(
        earlier,
        ...offered.map((one, i) =>
          keyButton(`${one.note} (${one.traces})`, String(i + 1), null, () => choose(one.note)),
        ),
      );
    },
    chooseNumber(i) {
      const one = offered[i];
      if (one !== undefined) choose(one.note);
    },
    setBusy: (isBusy) => element.setAttribute("aria-busy", String(isBusy)),
    say: status.say,
  };
}

interface QueuedTraceJson {
  readonly trace_id: string;
  readonly drawn_from: number | null;
  readonly probability: number | null;
}

/** The parts of the queue response that the coding page reads. */
interface CodingQueueJson {
  readonly run_id: string | null;
  readonly run_name: string | null;
  readonly queue: readonly QueuedTraceJson[];
  readonly notes: readonly NoteCountJson[];
}
