import { presentProperties } from "../../platform/optional-values.js";
import { datasetText } from "../../reports/wording.js";
import type { RunPageJson, TraceDetailsJson } from "../../server/response-shapes.js";
import type { ChatTrace, Trace } from "../../traces/trace.js";
import { h, minuteText, replaceChildren, untrustedText } from "../dom.js";
import { get, patch, post, remove } from "./api.js";
import { clipped, type Fact, factList, labelled, statusLine, table, twoLines } from "./lists.js";
import { endingText, mailboxFacts, mailWords, messageSections, rightAnswer, shownCalls } from "./trace.js";

/** Shows one trace after another for labeling with the keyboard. */
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
  /** Id of the trace that a link selected, until the queue is loaded. */
  private chosen: string | null;
  private waiting = 0;
  private current: QueuedTraceJson | null = null;
  /** The trace after the current one, which is being loaded. */
  private prefetched: { readonly id: string; readonly details: Promise<TraceDetailsJson> } | null = null;
  private readonly given: { readonly id: number; readonly trace: QueuedTraceJson; readonly note: string }[] = [];
  readonly elements: readonly HTMLElement[];

  constructor(private readonly subject: LabelSubject) {
    this.chosen = subject.trace;
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

  /** Shows the next trace of the queue. Refills an empty queue, or reports that all traces are labeled. */
  async showNext(): Promise<void> {
    if (this.queue.length === 0) {
      const { runId, criterion, annotator, order } = this.subject;
      const query = new URLSearchParams({
        criterion,
        order,
        ...presentProperties({ run_id: runId }),
        ...(annotator === "" ? {} : { annotator }),
      });
      const {
        queue,
        waiting,
        run_id: found,
        run_name: name,
        sentence,
        ...summary
      } = await get<LabelQueueJson>(`/api/evals/label-queue?${query}`);
      this.queue = this.chosen === null ? [...queue] : startWith(this.chosen, queue);
      this.chosen = null;
      this.waiting = waiting;
      const how = ORDER_WORDS[order];
      const about = criterion === OVERALL ? "" : `, for ${criterion}`;
      const by = annotator === "" ? "" : `, by ${annotator}`;
      this.source.textContent = `${name ?? found ?? "chats"}${about}${by}${how}${sentence === null ? "" : `: ${sentence}`}`;
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
    // The error is shown when the trace is needed.
    this.prefetched?.details.catch(() => undefined);
  }

  private load({ trace_id: id }: QueuedTraceJson): Promise<TraceDetailsJson> {
    const { prefetched } = this;
    this.prefetched = null;
    return prefetched?.id === id ? prefetched.details : get(`/api/traces/${encodeURIComponent(id)}`);
  }

  private show(details: TraceDetailsJson): void {
    const answer = answerSection(details);
    const given = givenLabels(this.current?.labels ?? []);
    const beside = h("div", { class: "label-beside" }, answer, given, this.form.element);
    replaceChildren(this.body, h("div", { class: "labelling" }, beside, stepsSection(details)));
    answer.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  private end(): HTMLElement {
    if (this.given.length === 0) return h("p", { class: "notice" }, "All traces are labeled.");
    const { criterion } = this.subject;
    const criterionFlag = criterion === "overall" ? "" : ` --criterion ${criterion}`;
    return h(
      "div",
      { class: "notice", role: "status" },
      h("p", {}, "All traces are labeled. Next: ", h("code", {}, `art-e evals suggest${criterionFlag}`)),
      h("button", { type: "button", click: () => this.undo() }, "Undo the last ", h("kbd", {}, "u")),
    );
  }

  private give(label: GivenLabel): Promise<void> {
    return this.change(async () => {
      const { current, form } = this;
      // The label was saved but the next trace did not load, so only load it again.
      if (current === null) return this.showNext();
      const note = form.note.value.trim();
      const { labels: _, ...queued } = current;
      const { id, ...summary } = await post<SavedLabelJson>("/api/evals/labels", {
        ...queued,
        criterion: this.subject.criterion,
        ...(this.subject.annotator === "" ? {} : { annotator: this.subject.annotator }),
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

  /** Deletes the last label and shows its trace again. */
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
      this.form.say("Undone.");
    });
  }

  private showProgress(summary: LabelSummaryJson | null): void {
    this.progress.textContent = `${this.waiting} to label`;
    if (summary === null) return;
    const { labels, self_agreement: again } = summary;
    const agreement = again.value === null ? "" : `; ${again.value * again.n} of ${again.n} repeated labels agree`;
    this.progress.textContent += `. Total: ${labels.good} good, ${labels.bad} bad, ${labels.skip} skipped${agreement}.`;
  }
}

/** Puts a selected trace first. Its label does not count as randomly drawn. */
function startWith(trace: string, queue: readonly QueuedTraceJson[]): QueuedTraceJson[] {
  const item = {
    trace_id: trace,
    is_repeat: false,
    drawn: "unknown",
    drawn_from: null,
    probability: null,
    basis: "direct",
    labels: [],
  } as const;
  return [item, ...queue.filter(({ trace_id }) => trace_id !== trace)];
}

const ORDER_WORDS = {
  random: ", in random order",
  enriched: ", likely failures more often, weighted in all figures",
  disagreements: ", traces with different labels",
} as const;

/** Shows the labels between which the person decides. */
function givenLabels(labels: QueuedTraceJson["labels"]): HTMLElement | string {
  if (labels.length === 0) return "";
  return h(
    "section",
    { class: "judged", "aria-label": "Labels to decide between" },
    factList(labels.map(({ annotator, label, note }) => [annotator, note === null ? label : `${label}: ${note}`])),
  );
}

/** Lists the runs with traces to label, and the chats. */
export async function labelList(page: HTMLElement): Promise<void> {
  const { runs, has_more: hasOlder } = await get<RunPageJson>("/api/runs");
  const field = (id: string, value: string) => h("input", { id, type: "text", value, autocomplete: "off" });
  const [criterion, sentence, annotator] = [field("criterion", OVERALL), field("sentence", ""), field("annotator", "")];
  const enriched = h("input", { id: "enriched", type: "checkbox" });
  const refused = h("p", { class: "hint bad", role: "status" });
  const link = (runId: string | null, text: string) => {
    const name = () => criterion.value.trim() || OVERALL;
    const order = () => (enriched.checked ? "enriched" : "random");
    const subject = () => subjectHash({ runId, criterion: name(), annotator: annotator.value.trim(), order: order() });
    const open = async (event: Event) => {
      event.preventDefault();
      const written = sentence.value.trim();
      try {
        if (written !== "") await patch(`/api/evals/criteria/${encodeURIComponent(name())}`, { sentence: written });
        location.hash = subject();
      } catch (error) {
        refused.textContent = (error as Error).message;
      }
    };
    return h("a", { href: subject(), click: open }, text);
  };
  page.append(
    h("h2", {}, "Label traces"),
    h("p", {}, "Label one trace after another as good or bad, with a reason. These labels select and validate evals."),
    h(
      "p",
      {},
      "Unsure what goes wrong? Note the first failure in each trace: ",
      h("a", { href: "#code/latest" }, "error analysis"),
      ", then ",
      h("a", { href: "#modes" }, "failure modes"),
      ".",
    ),
    labelled("Failure mode (overall for none in particular)", criterion, "criterion"),
    labelled("Property of a good trace, in one sentence (empty: unchanged)", sentence, "criterion"),
    labelled("Your name, if several people label", annotator, "criterion"),
    labelled("Draw likely failures more often (all figures weight their labels)", enriched, "criterion"),
    refused,
    table(
      "Traces to label",
      ["Traces of", "Agent, model", "Dataset", "Tasks", "Started"],
      [
        ...runs.map((run) => [
          link(run.id, run.name ?? run.id),
          twoLines(run.agent_id, run.model),
          clipped(datasetText(run)),
          `${run.tasks} of ${run.total_tasks}`,
          minuteText(run.started_at),
        ]),
        [link(null, "chats"), "any", "–", "–", "–"],
      ],
    ),
    hasOlder ? h("p", { class: "hint" }, "Older runs are under Runs, each with a link to label its traces.") : "",
  );
}

/**
 * The labeled content: the question, the answer and the right answer. It includes neither scores nor evals, because
 * labels influenced by them could not validate them.
 */
export function answerSection({ trace, question, answer }: TraceDetailsJson): HTMLElement {
  return h(
    "section",
    { class: "judged", tabindex: -1, "aria-label": "Question and answer" },
    untrustedText(question, "question", "p"),
    untrustedText(answer || `No answer: ${endingText(trace.ending)}.`, "answer", "p"),
    factList(factsOf(trace)),
  );
}

function factsOf(trace: Trace | ChatTrace): Fact[] {
  return [
    ...rightAnswer(trace),
    ["Sources", trace.sources.map(mailWords(shownCalls(trace))).join("; ") || "none"],
    ...mailboxFacts(trace),
  ];
}

/**
 * The agent's steps, without its instructions and the question, which is shown next to them. Opened emails are
 * expanded.
 */
export function stepsSection({ trace, question }: TraceDetailsJson): HTMLElement {
  const sections = messageSections(trace, ({ role, content }) => role !== "system" && content !== question);
  for (const call of sections.flatMap((section) => [...section.querySelectorAll("details")])) {
    call.open = call.querySelector("article.mail") !== null;
  }
  return h(
    "section",
    { class: "label-steps", "aria-labelledby": "steps-title" },
    h("h3", { id: "steps-title" }, "Conversation"),
    h("div", { class: "steps" }, ...sections),
  );
}

interface LabelForm {
  readonly element: HTMLElement;
  /** Reason for the label as written so far, possibly empty. */
  readonly note: HTMLInputElement;
  readonly undo: HTMLButtonElement;
  setBusy(isBusy: boolean): void;
  /** Shows the result of the last change. */
  say(message: string, isError?: boolean): void;
}

interface LabelActions {
  give(label: GivenLabel): void;
  undo(): void;
}

/** Three buttons, a field for the reason, and keyboard shortcuts. */
function labelForm({ give, undo }: LabelActions): LabelForm {
  const reason = reasonField();
  const undoButton = keyButton("Undo", "u", null, undo);
  const buttons = [
    keyButton("Good", "g", "label-good", () => give("good")),
    keyButton("Bad", "b", "label-bad", () => give("bad")),
    keyButton("Skip", "s", null, () => give("skip")),
    undoButton,
  ];
  const element = h(
    "div",
    { class: "label-form", role: "group", "aria-label": "Label" },
    h("div", { class: "label-buttons" }, ...buttons),
    ...reason.elements,
  );
  return {
    element,
    note: reason.input,
    undo: undoButton,
    setBusy: (isBusy) => element.setAttribute("aria-busy", String(isBusy)),
    say: reason.say,
  };
}

/** The parts of the API's responses that the label page reads. */

interface LabelSummaryJson {
  readonly labels: Readonly<Record<"good" | "bad" | "neutral" | "skip", number>>;
  readonly self_agreement: { readonly value: number | null; readonly n: number };
}

interface QueuedTraceJson {
  readonly trace_id: string;
  readonly is_repeat: boolean;
  readonly drawn: string;
  readonly drawn_from: number | null;
  readonly probability: number | null;
  readonly basis: "direct" | "adjudicated";
  /** Annotators' labels to adjudicate, otherwise empty. */
  readonly labels: readonly {
    readonly annotator: string;
    readonly label: "good" | "bad";
    readonly note: string | null;
  }[];
}

interface LabelQueueJson extends LabelSummaryJson {
  readonly run_id: string | null;
  readonly run_name: string | null;
  /** Description of the criterion, or null. */
  readonly sentence: string | null;
  readonly waiting: number;
  readonly queue: readonly QueuedTraceJson[];
}

interface SavedLabelJson extends LabelSummaryJson {
  readonly id: number;
}

type GivenLabel = "good" | "bad" | "skip";

/** The traces to label for a failure mode: traces of a run, or of chats if `runId` is null. */
interface LabelSubject {
  readonly runId: string | null;
  readonly criterion: string;
  /** Name of the person who labels, possibly empty. */
  readonly annotator: string;
  /**
   * `enriched` draws likely failures with a higher probability, which the labels record. `disagreements` selects the traces that
   * annotators labeled differently.
   */
  readonly order: keyof typeof ORDER_WORDS;
  /** Id of the first trace to label, or null for the first one in this order. */
  readonly trace: string | null;
}

export const CHATS = "chats";

/** The criterion for answers in general. */
const OVERALL = "overall";

/** Parses a URL fragment such as `#label/latest?criterion=tone`. */
function readSubject(id: string, query: URLSearchParams): LabelSubject {
  return {
    runId: id === CHATS ? null : id,
    criterion: query.get("criterion") || OVERALL,
    annotator: query.get("annotator") ?? "",
    order: orderOf(query.get("order")),
    trace: query.get("trace"),
  };
}

function orderOf(name: string | null): LabelSubject["order"] {
  return name === "enriched" || name === "disagreements" ? name : "random";
}

function subjectHash({ runId, criterion, annotator, order }: Omit<LabelSubject, "trace">): string {
  const query = new URLSearchParams({
    ...(criterion === OVERALL ? {} : { criterion }),
    ...(annotator === "" ? {} : { annotator }),
    ...(order === "random" ? {} : { order }),
  });
  return `#label/${encodeURIComponent(runId ?? CHATS)}${query.size === 0 ? "" : `?${query}`}`;
}

/** A field for the reason of a decision, its label, and a line with the result of the last decision. */
interface ReasonField {
  readonly input: HTMLInputElement;
  readonly elements: readonly HTMLElement[];
  say(message: string, isError?: boolean): void;
}

export function reasonField(): ReasonField {
  const input = h("input", { id: "why", type: "text", maxlength: 10_000, autocomplete: "off" });
  const status = statusLine();
  input.addEventListener("keydown", ({ key, isComposing }) => {
    // Returns to the keyboard shortcuts and keeps the text.
    if ((key === "Enter" || key === "Escape") && !isComposing) input.blur();
  });
  return {
    input,
    elements: [
      h("label", { for: "why" }, "Reason (", h("kbd", {}, "w"), " to write, Enter to leave the field)"),
      input,
      status.element,
    ],
    say: status.say,
  };
}

/** A button that shows its keyboard shortcut. */
export function keyButton(label: string, key: string, className: string | null, click: () => void): HTMLButtonElement {
  return h(
    "button",
    { type: "button", class: className, "aria-keyshortcuts": key, click },
    `${label} `,
    h("kbd", { "aria-hidden": "true" }, key),
  );
}

/** Calls the action of a pressed key until the signal aborts, except while the user is typing. */
export function listenForKeys(actions: Readonly<Record<string, () => void>>, signal: AbortSignal): void {
  const onKey = (event: KeyboardEvent) => {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    const isWriting = target instanceof Element && target.matches("input, textarea, select, dialog *");
    const action = Object.hasOwn(actions, key) ? actions[key] : undefined;
    if (isWriting || ctrlKey || metaKey || altKey || event.repeat || action === undefined) return;
    event.preventDefault();
    action();
  };
  document.addEventListener("keydown", onKey, { signal });
}

/** The form whose shortcuts and buttons make the changes. */
interface BusyForm {
  setBusy(isBusy: boolean): void;
  say(message: string, isError?: boolean): void;
}

/**
 * Makes one change at a time. Otherwise, a key pressed in the meantime would decide about an item that nobody has seen
 * yet. Shows errors after calling `refused`.
 */
export function changeLock(
  form: BusyForm,
  refused: () => Promise<void> = async () => undefined,
): (make: () => Promise<void> | void) => Promise<void> {
  let isBusy = false;
  return async (make) => {
    if (isBusy) return;
    isBusy = true;
    form.setBusy(true);
    try {
      await make();
    } catch (error) {
      await refused();
      form.say((error as Error).message, true);
    }
    isBusy = false;
    form.setBusy(false);
  };
}
