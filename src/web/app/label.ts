// The section for labeling traces. It shows neither scores nor evals.
import { presentProperties } from "../../platform/optional-values.js";
import { agentText, datasetText } from "../../reports/figure-text.js";
import type {
  LabelQueueJson,
  LabelSummaryJson,
  RunPageJson,
  SavedLabelJson,
  SessionPageJson,
  TraceDetailsJson,
} from "../../server/response-shapes.js";
import { RUN_FIELDS } from "../../traces/list-fields.js";
import type { ChatTrace, Trace } from "../../traces/trace.js";
import { append, type Child, h, minuteText, setText, untrustedInline, untrustedText } from "../dom.js";
import { mailWords } from "../report/conversation.js";
import { get, patch, post, RefusedRequest, remove } from "./api.js";
import { DecisionPage } from "./decision-page.js";
import { OVERALL } from "./judgments.js";
import { clipped, type Fact, factList, labeled, offsetPage, searchedList, twoLines } from "./lists.js";
import { folded } from "./registry.js";
import { endingText, mailboxFacts, resultsOf, rightAnswer, traceSteps } from "./trace.js";

/** A run with traces to label, or null for the chats. */
interface LabelLine {
  readonly run: RunPageJson["runs"][number] | null;
}

type QueuedTraceJson = LabelQueueJson["queue"][number];

type GivenLabel = "good" | "bad" | "skip";

/** Shows one trace after another for labeling with the keyboard. */
export async function labelView(
  page: HTMLElement,
  id: string,
  signal: AbortSignal,
  query: URLSearchParams,
): Promise<void> {
  const labeling = new Labeling(readSubject(id, query));
  await labeling.showNext();
  labeling.page.listen(signal);
  page.append(labeling.page.element);
}

class Labeling {
  readonly page = new DecisionPage({
    title: "Label traces",
    name: "Label",
    field: "Reason",
    actions: {
      g: { label: "Good", className: "label-good", press: () => this.give("good") },
      b: { label: "Bad", className: "label-bad", press: () => this.give("bad") },
      s: { label: "Skip", press: () => this.give("skip") },
      u: { label: "Undo", press: () => this.undo() },
    },
  });
  private queue: LabelQueueJson["queue"] = [];
  /** Id of the trace that a link selected, until the queue is loaded. */
  private chosen: string | null;
  private waiting = 0;
  /** Labels for this criterion, of all traces. */
  private total = 0;
  private current: QueuedTraceJson | null = null;
  /** The trace after the current one, which is being loaded. */
  private prefetched: { readonly id: string; readonly details: Promise<TraceDetailsJson> } | null = null;
  private readonly savedLabels: { readonly id: number; readonly trace: QueuedTraceJson; readonly note: string }[] = [];

  /** Id of somebody else's label of the current trace that the page has shown. */
  private seen: number | null = null;

  constructor(private readonly subject: LabelSubject) {
    this.chosen = subject.trace;
  }

  /** Shows the next trace of the queue. Refills an empty queue, or reports that all traces are labeled. */
  async showNext(): Promise<void> {
    if (this.queue.length === 0) {
      const { runId, criterion, annotator, order } = this.subject;
      const query = new URLSearchParams({
        criterion,
        order,
        ...presentProperties({ run_id: runId, annotator: annotator || null }),
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
      setText(
        this.page.source,
        `${name ?? found ?? "chats"}${about}${by}${how}${sentence === null ? "" : `: ${sentence}`}`,
      );
      this.showProgress(summary);
    }
    this.seen = null;
    const [next] = this.queue;
    const details = next === undefined ? null : await this.load(next);
    this.current = this.queue.shift() ?? null;
    this.page.enable("u", this.savedLabels.length > 0);
    if (details === null) this.page.end(this.end());
    else this.page.show(answerSection(details), givenLabels(this.current?.labels ?? []), stepsSection(details));
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

  private end(): Child {
    if (this.total === 0) return "No traces to label yet. Start a run with art-e run, or ask an agent.";
    if (this.savedLabels.length === 0) return "All traces are labeled.";
    const { criterion } = this.subject;
    const criterionFlag = criterion === OVERALL ? "" : ` --mode ${criterion}`;
    return [
      h("p", "All traces are labeled. Next: ", h("code", `art-e evals suggest${criterionFlag}`)),
      h("button", { click: () => this.undo() }, "Undo the last ", h("kbd", "u")),
    ];
  }

  private give(label: GivenLabel): Promise<void> {
    return this.page.change(async () => {
      const { current, page } = this;
      // The label was saved but the next trace did not load, so only load it again.
      if (current === null) return this.showNext();
      const note = page.field.value.trim();
      const { labels: _, ...queued } = current;
      const { id, ...summary } = await post<SavedLabelJson>("/api/evals/labels", {
        ...queued,
        criterion: this.subject.criterion,
        ...presentProperties({ annotator: this.subject.annotator || null }),
        label,
        note: note || null,
        seen: this.seen,
      }).catch((error: unknown) => {
        // The next press replaces the label that the message shows.
        this.seen = conflictOf(error);
        throw error;
      });
      this.seen = null;
      this.savedLabels.push({ id, trace: current, note });
      this.current = null;
      if (!current.is_repeat) this.waiting--;
      this.showProgress(summary);
      page.field.value = "";
      page.say(`Saved: ${label}.`);
      await this.showNext();
    });
  }

  /** Deletes the last label and shows its trace again. */
  private undo(): Promise<void> {
    return this.page.change(async () => {
      const last = this.savedLabels.at(-1);
      if (last === undefined) return;
      await remove(`/api/evals/labels/${last.id}`);
      this.savedLabels.pop();
      if (this.current !== null) this.queue.unshift(this.current);
      this.current = null;
      this.queue.unshift(last.trace);
      if (!last.trace.is_repeat) this.waiting++;
      this.showProgress(null);
      await this.showNext();
      this.page.field.value = last.note;
      this.page.say("Undone.");
    });
  }

  private showProgress(summary: LabelSummaryJson | null): void {
    setText(this.page.progress, `${this.waiting} to label`);
    if (summary === null) return;
    const { labels, sources, self_agreement: again } = summary;
    const others = ["import", "judge", "score"].reduce((sum, source) => sum + (sources[source] ?? 0), 0);
    this.total = Object.values(labels).reduce((sum, number) => sum + number, 0);
    const agreement = again.value === null ? "" : `; ${again.value * again.n} of ${again.n} repeated labels agree`;
    append(this.page.progress, [
      `. Total: ${labels.good} good, ${labels.bad} bad, ${labels.skip} skipped${others > 0 ? ` (${others} of them not by people, so they validate nothing)` : ""}${agreement}.`,
    ]);
  }
}

/** Returns the id of the label that a refused one would have replaced, or null. */
function conflictOf(error: unknown): number | null {
  const id = error instanceof RefusedRequest ? error.details?.current?.id : null;
  return typeof id === "number" ? id : null;
}

/** Puts a selected trace first. Its label does not count as randomly drawn. */
function startWith(trace: string, queue: readonly QueuedTraceJson[]): QueuedTraceJson[] {
  const item: QueuedTraceJson = {
    trace_id: trace,
    is_repeat: false,
    drawn: "unknown",
    drawn_from: null,
    probability: null,
    basis: "direct",
    labels: [],
  };
  return [item, ...queue.filter(({ trace_id }) => trace_id !== trace)];
}

export const ORDER_WORDS = {
  random: ", in random order",
  enriched: ", likely failures more often, weighted in all figures",
  disagreements: ", traces with different labels",
  confirm: ", traces with the mode according to notes (bad: it has the mode)",
} as const;

/** Shows the labels between which the person decides. */
function givenLabels(labels: QueuedTraceJson["labels"]): HTMLElement | string {
  if (labels.length === 0) return "";
  return h(
    "section.judged",
    { "aria-label": "Labels to decide between" },
    factList(labels.map(({ annotator, label, note }) => [annotator, note === null ? label : `${label}: ${note}`])),
  );
}

/** Lists the runs with traces to label, and the chats. */
export async function labelList(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void> {
  const field = (id: string, value: string) => h("input", { id, type: "text", value, autocomplete: "off" });
  const [criterion, sentence, annotator] = [field("criterion", OVERALL), field("sentence", ""), field("annotator", "")];
  const enriched = h("input", { id: "enriched", type: "checkbox" });
  const refused = h("p.hint.bad", { role: "status" });
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
        setText(refused, (error as Error).message);
      }
    };
    return h("a", { href: subject(), click: open }, text);
  };
  const options = folded(
    "Failure mode, name and order",
    labeled("Failure mode (overall for none in particular)", criterion, "criterion"),
    labeled("Property of a good trace, in one sentence (empty: unchanged)", sentence, "criterion"),
    labeled("Your name, if several people label", annotator, "criterion"),
    h(
      "p.check",
      enriched,
      h("label", { for: enriched.id }, "Draw likely failures more often (all figures weight their labels)"),
    ),
    refused,
  );
  await searchedList<LabelLine>(page, query, signal, {
    title: "Label traces",
    section: "label",
    intro: [
      h(
        "p",
        "Choose a run, and label its traces as good or bad, with a reason. These labels select and validate evals.",
      ),
      h(
        "p.hint",
        "Unsure what goes wrong? Note the first failure in each trace: ",
        h("a", { href: "#code/latest" }, "error analysis"),
        ", then ",
        h("a", { href: "#modes" }, "failure modes"),
        ".",
      ),
      options,
    ],
    fields: RUN_FIELDS,
    none: [
      "No traces yet. Start a run with ",
      h("code", "art-e run"),
      ", or ",
      h("a", { href: "#chat" }, "ask an agent"),
      ".",
    ],
    search: "Search runs",
    async load(query, next) {
      const parameters = new URLSearchParams(query);
      parameters.set("q", `${query.get("q") ?? ""} tasks>0`);
      const page = await offsetPage("/api/runs", parameters, next, ({ runs }: RunPageJson) => runs);
      const chats = page.next === null && !query.has("q") ? await get<SessionPageJson>("/api/sessions?limit=1") : null;
      const lines = [...page.lines.map((run) => ({ run })), ...(chats?.total_count ? [{ run: null }] : [])];
      return { ...page, lines, total: page.total + (chats?.total_count ? 1 : 0) };
    },
    columns: [
      {
        title: "Traces of",
        sort: "run",
        cell: ({ run }) => link(run?.id ?? null, run?.name ?? run?.id ?? "chats"),
      },
      {
        title: "Agent, model",
        sort: "agent",
        cell: ({ run }) =>
          run === null
            ? "any"
            : twoLines(untrustedInline(agentText(run.agent_id, run.perturbation)), untrustedInline(run.model)),
        narrow: "new line",
      },
      { title: "Dataset", cell: ({ run }) => (run === null ? "–" : clipped(datasetText(run))), narrow: "left out" },
      {
        title: "Tasks",
        sort: "tasks",
        cell: ({ run }) => (run === null ? h("span.wide", "–") : `${run.tasks} of ${run.total_tasks}`),
        isNumeric: true,
      },
      {
        title: "Started",
        sort: "started",
        cell: ({ run }) => (run === null ? h("span.wide", "–") : minuteText(run.started_at)),
      },
    ],
  });
}

/**
 * The labeled content: the question, the answer and the gold answer. It includes neither scores nor evals, because
 * labels influenced by them could not validate them.
 */
export function answerSection({ trace, question, answer }: TraceDetailsJson): HTMLElement {
  return h(
    "section.judged",
    { tabindex: -1, "aria-label": "Question and answer" },
    untrustedText(question, "question", "p"),
    untrustedText(answer || `No answer: ${endingText(trace.ending)}.`, "answer", "p"),
    factList(factsOf(trace)),
  );
}

function factsOf(trace: Trace | ChatTrace): Fact[] {
  return [
    ...rightAnswer(trace),
    ["Sources", trace.sources.map(mailWords(resultsOf(trace))).join("; ") || (trace.kind === "suite" ? null : "none")],
    ...mailboxFacts(trace),
  ];
}

/**
 * The agent's steps, without its instructions and the question, which is shown next to them. Opened emails are
 * expanded.
 */
export function stepsSection({ trace, question }: TraceDetailsJson): HTMLElement {
  const steps = traceSteps(trace, ({ role, text }) => role !== "system" && text !== question);
  for (const mail of steps.querySelectorAll<HTMLDetailsElement>("details.mail")) mail.open = true;
  return h(
    "section.label-steps",
    { "aria-labelledby": "steps-title" },
    h("h3", { id: "steps-title" }, "Conversation"),
    steps,
  );
}

/** The traces to label for a failure mode: traces of a run, or of chats if `runId` is null. */
interface LabelSubject {
  readonly runId: string | null;
  readonly criterion: string;
  /** Name of the person who labels, possibly empty. */
  readonly annotator: string;
  /**
   * `enriched` draws likely failures with a higher probability, which the labels record. `disagreements` selects the
   * traces that annotators labeled differently. `confirm` selects the traces whose coding notes say that they have the
   * mode.
   */
  readonly order: keyof typeof ORDER_WORDS;
  /** Id of the first trace to label, or null for the first one in this order. */
  readonly trace: string | null;
}

export const CHATS = "chats";

/** Parses a URL fragment such as `#label/latest?criterion=tone`. */
function readSubject(id: string, query: URLSearchParams): LabelSubject {
  const order = orderOf(query.get("order"));
  return {
    runId: id === CHATS ? null : id,
    criterion: query.get("criterion") || OVERALL,
    // A second look at some traces is not a second annotator's label.
    annotator: order === "confirm" ? "" : (query.get("annotator") ?? ""),
    order,
    trace: query.get("trace"),
  };
}

function orderOf(name: string | null): LabelSubject["order"] {
  return name === "enriched" || name === "disagreements" || name === "confirm" ? name : "random";
}

function subjectHash({ runId, criterion, annotator, order }: Omit<LabelSubject, "trace">): string {
  const query = new URLSearchParams(
    presentProperties({
      criterion: criterion === OVERALL ? null : criterion,
      annotator: annotator || null,
      order: order === "random" ? null : order,
    }),
  );
  return `#label/${encodeURIComponent(runId ?? CHATS)}${query.size === 0 ? "" : `?${query}`}`;
}
