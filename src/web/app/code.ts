// The section for coding notes: what went wrong first in each trace.
import { presentProperties } from "../../platform/optional-values.js";
import type { CodingQueueJson, NoteCountJson, RunPageJson, TraceDetailsJson } from "../../server/response-shapes.js";
import { h, replaceChildren, setText } from "../dom.js";
import { get, post, RefusedRequest, remove } from "./api.js";
import { DecisionPage, keyButton } from "./decision-page.js";
import { answerSection, CHATS, ORDER_WORDS, stepsSection } from "./label.js";
import { noRuns } from "./run-list.js";

/** Shows the traces of the newest run, or says how to get a run. */
export async function codeNewest(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void> {
  const { runs } = await get<RunPageJson>("/api/runs?limit=1");
  if (runs.length > 0) return codeView(page, "latest", signal, query);
  page.append(h("h2", "Error analysis"), h("p", noRuns()));
}

/** Shows one trace after another, and saves the first thing that went wrong in each. */
export async function codeView(
  page: HTMLElement,
  id: string,
  signal: AbortSignal,
  query: URLSearchParams,
): Promise<void> {
  const coding = new Coding(id === CHATS ? null : id, query);
  await coding.load();
  coding.page.listen(signal);
  page.append(coding.page.element);
}

/** Number of earlier notes with a key. */
const CHOICES = 9;

class Coding {
  readonly page = new DecisionPage({
    title: "Error analysis",
    name: "Note",
    field: "First thing that went wrong",
    enter: () => this.saveWritten(),
    actions: {
      n: { label: "Nothing wrong", className: "label-good", press: () => this.save(null) },
      u: { label: "Undo", press: () => this.undo() },
      ...Object.fromEntries(Array.from({ length: CHOICES }, (_, i) => [i + 1, { press: () => this.choose(i) }])),
    },
  });
  private readonly completions = h("datalist", { id: "earlier-notes" });
  private readonly earlier = h("div.label-buttons", { role: "group", "aria-label": "Earlier notes" });
  private queue: CodingQueueJson["queue"] = [];
  private notes: readonly NoteCountJson[] = [];
  /** Creation time of somebody else's note that a message has shown. The next note replaces it. */
  private seen: string | null = null;
  private readonly coded: { readonly queued: CodingQueueJson["queue"][number]; readonly note: string }[] = [];

  constructor(
    private readonly runId: string | null,
    private readonly query: URLSearchParams,
  ) {
    const { field, buttons } = this.page;
    field.setAttribute("list", this.completions.id);
    field.after(this.completions, this.earlier, buttons);
  }

  async load(): Promise<void> {
    const [limit, seed, order] = ["limit", "seed", "order"].map((name) => this.query.get(name));
    const query = new URLSearchParams(presentProperties({ run_id: this.runId, limit, seed, order }));
    const queue = await get<CodingQueueJson>(`/api/evals/coding-queue?${query}`);
    const how = ORDER_WORDS[order === "random" ? order : "enriched"];
    this.queue = queue.queue;
    setText(this.page.source, `${queue.run_name ?? queue.run_id ?? "chats"}${how}`);
    this.offer(queue.notes);
    await this.showNext();
  }

  /** Offers earlier notes, as completions and the first ones as buttons. */
  private offer(notes: readonly NoteCountJson[]): void {
    this.notes = notes;
    const button = ({ note, traces }: NoteCountJson, i: number) =>
      keyButton(`${note} (${traces})`, String(i + 1), null, () => this.choose(i));
    replaceChildren(this.completions, ...notes.map(({ note }) => h("option", { value: note })));
    replaceChildren(this.earlier, notes.slice(0, CHOICES).map(button));
  }

  private choose(i: number): void {
    const one = this.notes[i];
    if (one !== undefined) void this.save(one.note);
  }

  private async showNext(): Promise<void> {
    const id = this.queue[0]?.trace_id;
    const toModes = h("a", { href: "#modes" }, "Group the notes");
    replaceChildren(this.page.progress, `${this.queue.length} to code. `, this.notes.length > 0 && toModes);
    this.page.enable("u", this.coded.length > 0);
    if (id === undefined)
      return this.page.end(this.coded.length === 0 ? "No traces to code." : "All traces of the pass are coded.");
    const details = await get<TraceDetailsJson>(`/api/traces/${encodeURIComponent(id)}`);
    this.page.show(answerSection(details), null, stepsSection(details));
  }

  private saveWritten(): void {
    const note = this.page.field.value.trim();
    if (note !== "") void this.save(note);
  }

  /** Saves null if nothing is wrong. */
  private save(note: string | null): Promise<void> {
    return this.page.change(async () => {
      const [queued] = this.queue;
      if (queued === undefined) return;
      const { notes } = await post<Pick<CodingQueueJson, "notes">>("/api/evals/notes", {
        ...queued,
        note,
        ...presentProperties({ annotator: this.query.get("annotator") }),
        seen: this.seen,
      }).catch((error: unknown) => {
        const time = error instanceof RefusedRequest ? error.details?.current?.created_at : null;
        this.seen = typeof time === "string" ? time : null;
        throw error;
      });
      this.seen = null;
      this.coded.push({ queued, note: note ?? "" });
      this.queue.shift();
      this.offer(notes);
      this.page.field.value = "";
      this.page.say(note === null ? "Saved: nothing wrong." : `Saved: ${note}`);
      await this.showNext();
    });
  }

  /** Deletes the last note and shows its trace again. */
  private undo(): Promise<void> {
    return this.page.change(async () => {
      const last = this.coded.at(-1);
      if (last === undefined) return;
      await remove(`/api/evals/notes/${encodeURIComponent(last.queued.trace_id)}`);
      this.coded.pop();
      this.queue.unshift(last.queued);
      await this.showNext();
      this.page.field.value = last.note;
      this.page.say("Undone.");
    });
  }
}
